"""The validator's rules about workstreams and agents."""

import pytest

from gitworker.states.log.validate import validate_log
from tests.unit.states.logs import findings, line, task_to

READY = line("ws w planned>ready all_tasks_created")
EXECUTING = line("ws w ready>executing first_task_started")
VALIDATING = "ws w executing>validating all_tasks_completed"
FAILED = line("ws w executing>failed critical_task_failed")
IDLE = "agent auth initializing>idle registration_complete"


def test_a_workstream_executes_once_a_task_has_started() -> None:
    """The first task starts before its workstream does."""
    queued = task_to("t", "queued", workstream_id="w")
    assert findings(*queued, READY, EXECUTING) == ["3 task-state-consistency"]
    assert findings(*task_to("t", "running", workstream_id="w"), READY, EXECUTING) == []
    never_ran = line("task t queued>cancelled user_cancelled", status="BLOCKED")
    assert findings(*queued, never_ran, READY, EXECUTING) == []


def test_a_workstream_completes_with_all_its_tasks() -> None:
    """An open task keeps its workstream from validating, unless it is cancelled."""
    tasks = [
        *task_to("a", "completed", workstream_id="w"),
        *task_to("b", "running", workstream_id="w"),
    ]
    begun = [*tasks, READY, EXECUTING]
    assert findings(*begun, line(VALIDATING)) == ["9 completion-requirement"]
    assert findings(*begun, line(VALIDATING, dropped=["b"])) == []
    cancelled = line("task b running>cancelled user_cancelled", status="CANCELLED")
    assert findings(*begun, cancelled, line(VALIDATING)) == []


def test_a_task_blocked_before_it_ran_is_a_failure() -> None:
    """`cancelled` with the status BLOCKED is a failure, although the view cannot show one."""
    lines = [
        *task_to("a", "completed", workstream_id="w"),
        *task_to("b", "queued", workstream_id="w"),
        line("task b queued>cancelled user_cancelled", status="BLOCKED"),
        READY,
        EXECUTING,
    ]
    assert findings(*lines, line(VALIDATING)) == ["9 completion-requirement"]
    assert findings(*lines, FAILED) == []


def test_a_validating_workstream_is_cancelled() -> None:
    """A person ends a workstream whose validation does not pass, with or without open tasks."""
    cancelled = line("ws w validating>cancelled user_cancelled")
    begun = [*task_to("a", "completed", workstream_id="w"), READY, EXECUTING, line(VALIDATING)]
    assert findings(*begun, cancelled) == []
    joined = task_to("b", "queued", workstream_id="w")
    assert findings(*begun, *joined, cancelled) == []


def test_completion_is_checked_again_at_the_end() -> None:
    """A task that is restarted while its workstream validates keeps it from completing."""
    lines = [
        *task_to("a", "completed", workstream_id="w"),
        READY,
        EXECUTING,
        line(VALIDATING),
        line("task a#2 pending>queued scheduler_assigned"),
        line("ws w validating>completed validation_passed"),
    ]
    assert findings(*lines) == ["9 completion-requirement"]


def test_a_critical_failure_has_a_failed_critical_task() -> None:
    """A workstream fails by a critical task only if it has a failed critical task."""
    running = task_to("t", "running", workstream_id="w")
    failed = "task t running>failed execution_failed"
    begun = [*running, READY, EXECUTING]
    assert findings(*begun, FAILED) == ["5 failure-propagation"]
    assert findings(*begun, line(failed), FAILED) == []
    assert findings(*begun, line(failed, critical=False), FAILED) == ["6 failure-propagation"]


def test_a_task_can_leave_its_workstream() -> None:
    """A task belongs to the workstream of its last line; a line without one changes nothing."""
    away = line("task t running>validating execution_completed", workstream_id=None)
    stays = line("task t running>validating execution_completed")
    begun = [
        *task_to("a", "completed", workstream_id="w"),
        *task_to("t", "running", workstream_id="w"),
        READY,
        EXECUTING,
    ]
    assert findings(*begun, away, line(VALIDATING)) == []
    assert findings(*begun, stays, line(VALIDATING)) == ["10 completion-requirement"]


def test_other_steps_of_a_workstream_need_no_task() -> None:
    """A workstream without known tasks, or a cancelled one, is checked by its table alone."""
    assert findings(READY, EXECUTING, FAILED) == []
    cancelled = line("ws w ready>cancelled user_cancelled")
    assert findings(*task_to("t", "queued", workstream_id="w"), READY, cancelled) == []


@pytest.mark.parametrize(("count", "expected"), [(2, []), (3, ["3 capacity-limit"])])
def test_an_agent_counts_its_tasks(count: int, expected: list[str]) -> None:
    """A busy agent reports no more tasks than its limit."""
    lines = [
        line(IDLE, max_concurrent_tasks=2),
        line("agent auth idle>starting task_assigned"),
        line("agent auth starting>busy agent_started", task_count=count, max_concurrent_tasks=2),
    ]
    assert findings(*lines) == expected


def test_running_tasks_count_against_the_limit() -> None:
    """A worker with a known limit does not run more tasks than that at once."""
    agent = line(IDLE, max_concurrent_tasks=1)
    first, second = (task_to(name, "running", worker_id="auth") for name in "ab")
    done = line("task a running>validating execution_completed")
    assert findings(agent, *first, done, *second) == []
    assert findings(agent, *first, *second) == ["5 capacity-limit"]
    assert findings(*first, *second) == []


def test_a_busy_agent_finishes_its_task_first() -> None:
    """An agent that is asked to shut down while busy leaves no task running."""
    busy = [
        line(IDLE),
        line("agent auth idle>busy task_assigned"),
        *task_to("t", "running", worker_id="auth"),
    ]
    down = line("agent auth busy>shutdown shutdown_requested")
    assert findings(*busy, down) == ["5 graceful-shutdown"]
    done = line("task t running>validating execution_completed")
    assert findings(*busy, done, down) == []
    found = validate_log([*busy, down])
    assert found[0].message == "auth shuts down with t"
