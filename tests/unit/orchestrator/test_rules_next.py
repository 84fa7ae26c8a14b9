"""Which agent starts next, and when a run looks again or ends."""

import pytest

from gitworker.model.run_outcome import RunOutcome
from gitworker.model.task import TaskStatus, VerificationType
from gitworker.model.worker import WorkerState
from gitworker.orchestrator.rules_next import (
    Action,
    Facts,
    Limits,
    SlotFacts,
    Step,
    decide,
    goes_on,
    is_at_work,
    is_free,
    is_handed_in,
    is_out_of_rounds,
    is_ready,
    is_slot,
    landing_passes,
    passes,
    prefix_of,
    slot_step,
    was_stopped,
)
from gitworker.orchestrator.turns.rules_crew import CrewAgent

W = WorkerState
LIMITS = Limits(2, lands=True, rounds=3)


def slot(state: WorkerState, number: int = 1, **facts: object) -> SlotFacts:
    """Return the facts of a slot whose agent has run."""
    base = SlotFacts(
        f"command-{number}", state, f"t{number}", task_status=TaskStatus.IN_PROGRESS, has_run=True
    )
    return base._replace(**facts)


@pytest.mark.parametrize(
    ("facts", "step"),
    [
        (slot(W.WORKING, lives=True), Step.RUN),
        (slot(W.FAILED, lives=True), Step.RUN),
        (slot(W.ASSIGNED), Step.START),
        (slot(W.IN_REVIEW), Step.LAND),
        (slot(W.IN_REVIEW, requires_approval=True), Step.REVIEW),
        (slot(W.APPROVED, requires_approval=True), Step.LAND),
        (slot(W.IN_REVIEW, is_refused=True), Step.REVIEW),
        (slot(W.IN_REVIEW, has_tests=True), Step.CHECK),
        (slot(W.APPROVED, has_tests=True), Step.LAND),
        (slot(W.IN_REVIEW, verification=VerificationType.HUMAN), Step.REVIEW),
        (slot(W.IN_REVIEW, verification=VerificationType.QA_AGENT), Step.CHECK),
        (slot(W.IN_REVIEW, verification=VerificationType.QA_AGENT, is_verified=True), Step.LAND),
        (slot(W.IN_REVIEW, verification=VerificationType.QA_AGENT, is_verified=False), Step.REVIEW),
        (slot(W.STALE, stale_from=W.IN_REVIEW), Step.LAND),
        (slot(W.IN_REVIEW, is_elsewhere=True), Step.LAND),
        (slot(W.IN_REVIEW, is_elsewhere=True, has_tests=True), Step.REVIEW),
        (slot(W.APPROVED, is_elsewhere=True, has_tests=True), Step.LAND),
        (slot(W.COMPLETED), Step.REST),
        (slot(W.FAILED), Step.REST),
        (slot(W.WORKING), Step.RECOVER),
        (slot(W.STALE, stale_from=W.WORKING), Step.RECOVER),
        (slot(W.WORKING, outcome=RunOutcome.NOTHING), Step.FAIL),
        (slot(W.WORKING, outcome=RunOutcome.SENT_BACK), Step.FAIL),
        (slot(W.WORKING, outcome=RunOutcome.WAITING), Step.CONTINUE),
        (slot(W.WORKING, has_run=False), Step.LEAVE),
        (slot(W.WORKING, waits_for_author=True, returned_by="merge_conflict"), Step.ROUND),
        (slot(W.WORKING, waits_for_author=True, returned_by="withdrawn"), Step.LEAVE),
        (
            slot(W.WORKING, waits_for_author=True, returned_by="verify_failed", rounds=4),
            Step.LEAVE,
        ),
        (slot(W.WORKING, task_status=TaskStatus.WAITING_INPUT), Step.WAIT),
        (slot(W.WORKING, task_status=TaskStatus.PAUSED), Step.WAIT),
        (slot(W.WORKING, task_status=TaskStatus.PAUSED, wait_until_ms=11), Step.WAIT),
        (slot(W.WORKING, task_status=TaskStatus.PAUSED, wait_until_ms=10), Step.CONTINUE),
    ],
)
def test_the_step_of_a_slot(facts: SlotFacts, step: Step) -> None:
    """State, task, last run and verdict decide the next step of a slot."""
    assert slot_step(facts, LIMITS, now=10) is step


def test_nothing_lands_without_consent_or_after_an_interrupt() -> None:
    """Work stays in review if the run does not land, and after an interrupt."""
    for limits in (LIMITS._replace(lands=False), LIMITS._replace(starts=False)):
        assert slot_step(slot(W.IN_REVIEW), limits, now=0) is Step.REVIEW


def test_tasks_start_in_their_order_as_far_as_slots_are_free() -> None:
    """A living agent takes one place, the READY tasks get the free ones with the lowest ids."""
    facts = Facts(
        (slot(W.WORKING, 1, lives=True),), ready=("a", "b", "c"),
        taken=frozenset({"command-1", "command-3"}), skipped=frozenset({"a"}),
    )  # fmt: skip
    plan = decide(facts, LIMITS._replace(agents=3), agent="command", now=0)
    assert plan.actions == (
        Action(Step.START, "command-2", "b", is_new=True),
        Action(Step.START, "command-4", "c", is_new=True),
    )
    assert (plan.running, plan.is_over) == (1, False)


@pytest.mark.parametrize(
    ("facts", "is_out"),
    [({}, True), ({"rounds": 3}, False), ({"lives": True}, False), ({"is_elsewhere": True}, False),
     ({"returned_by": "withdrawn"}, False), ({"waits_for_author": False}, False)],
)  # fmt: skip
def test_work_without_rounds_is_left_to_a_person(facts: dict[str, object], *, is_out: bool) -> None:
    """Work that came back after its last round waits, unless an agent still works on it."""
    back = slot(W.WORKING, waits_for_author=True, returned_by="verify_failed", rounds=4)
    assert is_out_of_rounds(back._replace(**facts), LIMITS) is is_out


def test_work_that_has_begun_comes_first() -> None:
    """Ended agents are settled at once; limits, rounds and retries come before new tasks."""
    back = slot(W.WORKING, 2, waits_for_author=True, returned_by="changes_requested")
    paused = slot(W.WORKING, 3, task_status=TaskStatus.PAUSED, wait_until_ms=0)
    facts = Facts(
        (slot(W.WORKING, 1, outcome=RunOutcome.NOTHING), back, paused, slot(W.FAILED, 4)),
        ready=("t4", "new"),
    )
    plan = decide(facts, LIMITS._replace(agents=4), agent="command", now=0)
    assert [(one.step, one.task, one.is_new) for one in plan.actions] == [
        (Step.FAIL, "t1", False), (Step.CONTINUE, "t3", False), (Step.ROUND, "t2", False),
        (Step.START, "t4", False), (Step.START, "new", True),
    ]  # fmt: skip


def test_registered_agents_share_the_tasks() -> None:
    """Work that came back and retries count for their agents; a task without a free one waits."""
    back = slot(W.WORKING, 1, waits_for_author=True, returned_by="changes_requested")
    facts = Facts(
        (back._replace(worker="ada-1"), slot(W.FAILED, 4)._replace(worker="bob-1")),
        ready=("t4", "x", "y", "z"), taken=frozenset({"ada-1", "bob-1"}),
        crew=(CrewAgent("ada"), CrewAgent("bob", "codex", tasks=2)),
        takers={"x": ("ada", "bob"), "y": ("ada",)},
    )  # fmt: skip
    plan = decide(facts, LIMITS._replace(agents=9, others=True), agent="", now=0)
    assert plan.actions == (
        Action(Step.ROUND, "ada-1", "t1"), Action(Step.START, "bob-1", "t4"),
        Action(Step.START, "bob-2", "x", is_new=True),
    )  # fmt: skip
    assert plan.is_crowded
    assert not decide(facts, LIMITS._replace(agents=9), agent="", now=0).is_crowded


def test_a_run_begins_a_limited_number_of_tasks() -> None:
    """With a limit of new tasks, tasks that have begun still start again."""
    facts = Facts((slot(W.FAILED, 4),), ready=("a", "b", "t4"))
    for begins, tasks in ((0, ["t4"]), (1, ["a", "t4"])):
        plan = decide(facts, LIMITS._replace(begins=begins), agent="command", now=0)
        assert [one.task for one in plan.actions] == tasks


def test_a_step_that_failed_is_not_repeated() -> None:
    """A worker whose step failed in this run is left to a person."""
    facts = Facts((slot(W.WORKING), slot(W.ASSIGNED, 2)), skipped=frozenset({"t1", "t2"}))
    plan = decide(facts, LIMITS, agent="command", now=0)
    assert (plan.actions, plan.is_over) == ((), True)


def test_a_failed_worker_without_worktree_is_not_used() -> None:
    """Without its worktree a failed worker has nothing to continue: another one gets the task."""
    facts = Facts(
        (slot(W.FAILED, 1, has_worktree=False),), ready=("t1",), taken=frozenset({"command-1"})
    )
    plan = decide(facts, LIMITS, agent="command", now=0)
    assert [one.worker for one in plan.actions] == ["command-2"]


def test_one_landing_at_a_time() -> None:
    """While a landing runs no other one begins, and the run is not over."""
    facts = Facts((slot(W.IN_REVIEW),))
    assert decide(facts, LIMITS, agent="command", now=0).land == ("command-1",)
    plan = decide(facts._replace(is_landing=True), LIMITS, agent="command", now=0)
    assert (plan.land, plan.is_over) == ((), False)


def test_tests_run_once() -> None:
    """Work with test commands is tested before it lands, and a run does not end meanwhile."""
    facts = Facts((slot(W.IN_REVIEW, has_tests=True),))
    plan = decide(facts, LIMITS, agent="command", now=0)
    assert (plan.check, plan.land, plan.is_over) == (("command-1",), (), False)
    running = facts._replace(checking=frozenset({"command-1"}))
    plan = decide(running, LIMITS, agent="command", now=0)
    assert (plan.check, plan.is_over) == ((), False)


def test_a_run_waits_for_the_earliest_deadline() -> None:
    """The end of a limit or a retry keeps a run alive, unless it was interrupted."""
    paused = slot(W.WORKING, task_status=TaskStatus.PAUSED, wait_until_ms=50)
    facts = Facts((paused, slot(W.WORKING, 2, task_status=TaskStatus.WAITING_INPUT)))
    assert decide(facts, LIMITS, agent="command", now=0).wake_at_ms == 50
    plan = decide(facts._replace(next_retry_ms=40), LIMITS, agent="command", now=0)
    assert (plan.wake_at_ms, plan.is_over) == (40, False)
    stopped = decide(facts, LIMITS._replace(starts=False), agent="command", now=0)
    assert (stopped.wake_at_ms, stopped.is_over) == (None, True)


def test_a_run_is_over_if_nothing_is_left() -> None:
    """Without agents, actions, landings and deadlines a run ends."""
    facts = Facts((slot(W.COMPLETED), slot(W.IN_REVIEW, requires_approval=True)), ready=("a",))
    assert not decide(facts, LIMITS, agent="command", now=0).is_over
    assert decide(facts._replace(ready=()), LIMITS, agent="command", now=0).is_over
    assert not decide(facts, LIMITS._replace(starts=False), agent="command", now=0).actions


def test_a_start_waits_for_the_agents_of_others() -> None:
    """A run without a place goes on while agents that it has not started take part of a limit."""
    ready = Facts((), ready=("t1",))
    full = Limits(0, lands=True, rounds=3, others=True)
    found = decide(ready, full, agent="command", now=0)
    assert (found.actions, found.is_crowded, found.is_over) == ((), True, False)
    assert decide(ready, full._replace(others=False), agent="command", now=0).is_over
    assert decide(Facts(()), full, agent="command", now=0).is_over
    assert decide(Facts((), is_kept=True), full, agent="command", now=0).is_crowded


@pytest.mark.parametrize(
    ("first", "machines", "workers"),
    [(1, 1, [2, 5]), (1, 2, [5, 7]), (2, 2, [2, 6]), (3, 3, [6, 9])],
)
def test_the_machines_of_a_fleet_take_turns(first: int, machines: int, workers: list[int]) -> None:
    """A run uses every so many-th number, so that two runs choose different new workers."""
    taken = frozenset({"command-1", "command-3", "command-4"})
    facts = Facts((), ready=("a", "b"), taken=taken, first=first, machines=machines)
    plan = decide(facts, LIMITS, agent="command", now=0)
    assert [one.worker for one in plan.actions] == [f"command-{number}" for number in workers]


def test_a_run_waits_for_the_tasks_of_other_machines() -> None:
    """Their tasks may return; a run that would not begin them does not wait."""
    facts = Facts((), others_work=True)
    for limits in (LIMITS, LIMITS._replace(begins=1)):
        assert not decide(facts, limits, agent="command", now=0).is_over
    for limits in (LIMITS._replace(starts=False), LIMITS._replace(begins=0)):
        assert decide(facts, limits, agent="command", now=0).is_over


def test_nothing_starts_without_tokens() -> None:
    """Finished work still lands, and no time is known at which this changes."""
    qa = {"requires_approval": False, "verification": VerificationType.QA_AGENT}
    slots = (
        slot(WorkerState.WORKING, 1, task_status=TaskStatus.PAUSED, wait_until_ms=0),
        slot(WorkerState.IN_REVIEW, 2),
        slot(WorkerState.IN_REVIEW, 3, **qa),
    )
    limits = LIMITS._replace(has_tokens=False, others=True)
    facts = Facts(slots, ready=("t9",), next_retry_ms=50)
    plan = decide(facts, limits, agent="command", now=1)
    assert (plan.actions, plan.land, plan.check) == ((), ("command-2",), ())
    assert (plan.wake_at_ms, plan.is_crowded) == (None, False)
    assert decide(facts, limits._replace(has_tokens=True), agent="command", now=1).check
    spent = Facts((slots[0]._replace(has_tokens=False),))
    assert decide(spent, LIMITS, agent="command", now=1).is_over
    assert was_stopped(RunOutcome.OUT_OF_BUDGET)


def test_a_task_that_is_held_back_is_not_started_again() -> None:
    """Its agent may run to its end, and handed-in work lands."""
    held = Facts((slot(W.ASSIGNED, is_held=True), slot(W.IN_REVIEW, 2, is_held=True)))
    found = decide(held, LIMITS, agent="command", now=0)
    assert (found.actions, found.land) == ((), ("command-2",))


@pytest.mark.parametrize(
    ("agent", "prefix"),
    [("claude", "claude-"), ("My Agent", "my-agent-"), ("***", "command-"), ("-x", "x-")],
)
def test_the_ids_of_an_agents_workers(agent: str, prefix: str) -> None:
    """The ids are made of the agent's name, as far as a worker id allows it."""
    assert prefix_of(agent) == prefix
    assert is_slot(f"{prefix}12", agent)


@pytest.mark.parametrize("worker", ["claude", "claude-", "claude-x", "claude-1234567", "codex-1"])
def test_other_workers_are_no_slots(worker: str) -> None:
    """Only the agent's name with a short number is a slot."""
    assert not is_slot(worker, "claude")


def test_states_of_workers() -> None:
    """Idle and completed workers are free; the task of one at work may be given back."""
    assert [state for state in W if is_free(state)] == [W.IDLE, W.COMPLETED]
    assert {state for state in W if is_at_work(state)} == {W.ASSIGNED, W.WORKING, W.STALE}
    assert [status for status in TaskStatus if is_ready(status)] == [TaskStatus.READY]


@pytest.mark.parametrize(
    ("state", "stale_from", "waits", "on"),
    [
        (W.WORKING, None, False, True), (W.WORKING, None, True, False),
        (W.STALE, W.WORKING, False, True), (W.STALE, W.IN_REVIEW, False, False),
        (W.IN_REVIEW, None, False, False),
    ],
)  # fmt: skip
def test_work_elsewhere_that_goes_on(
    state: WorkerState, stale_from: WorkerState | None, *, waits: bool, on: bool
) -> None:
    """A run waits for work of other machines, but not for people."""
    assert goes_on(state, stale_from, waits_for_person=waits) is on


@pytest.mark.parametrize(
    ("code", "failures", "passing"),
    [
        ("agent_limit", 9, True), ("conflict", 1, True), ("conflict", 2, True),
        ("conflict", 3, False), ("not_found", 1, False), ("fleet_lost", 9, True), ("busy", 9, True),
        ("fleet_unreachable", 9, True), ("fleet_unknown", 1, False),
    ],
)  # fmt: skip
def test_obstacles_that_pass(code: str, failures: int, passing: bool) -> None:
    """A limit and a lost connection pass, another command for a while, other obstacles do not."""
    assert passes(code, failures) is passing


@pytest.mark.parametrize(
    ("code", "passing"),
    [("fleet_unreachable", True), ("fleet_unknown", True), ("fleet_lost", True), ("busy", True),
     ("conflict", False), ("approval_withdrawn", False)],
)  # fmt: skip
def test_obstacles_to_a_landing_that_pass(code: str, passing: bool) -> None:
    """A landing that could not reach the fleet or the database is tried again."""
    assert landing_passes(code) is passing


def test_the_work_of_a_silent_machine_lands_after_that_of_this_one() -> None:
    """One worker of another machine lands at a time, once none of this machine is left."""
    own, theirs = slot(W.IN_REVIEW), [
        slot(W.IN_REVIEW, number, is_elsewhere=True) for number in (2, 3)
    ]  # fmt: skip
    assert decide(Facts((*theirs, own)), LIMITS, agent="command", now=0).land == ("command-1",)
    assert decide(Facts((*theirs,)), LIMITS, agent="command", now=0).land == ("command-2",)


@pytest.mark.parametrize(
    ("facts", "waits"),
    [
        (slot(W.IN_REVIEW), True),
        (slot(W.APPROVED, requires_approval=True), True),
        (slot(W.IN_REVIEW, requires_approval=True), False),
        (slot(W.IN_REVIEW, verification=VerificationType.HUMAN), False),
        (slot(W.IN_REVIEW, verification=VerificationType.QA_AGENT), True),
    ],
)
def test_a_run_waits_for_what_lands_on_another_machine(facts: SlotFacts, waits: bool) -> None:
    """Only a run that lands work waits, and only for work that needs no person."""
    found = decide(Facts((), theirs=(facts,)), LIMITS, agent="command", now=0)
    assert (found.is_over, found.is_awaiting) == (not waits, waits)
    for limits in (LIMITS._replace(lands=False), LIMITS._replace(starts=False)):
        assert decide(Facts((), theirs=(facts,)), limits, agent="command", now=0).is_over
    busy = decide(Facts((slot(W.WORKING, lives=True),), theirs=(facts,)), LIMITS,
                  agent="command", now=0)  # fmt: skip
    assert not busy.is_awaiting


def test_states_in_which_work_is_handed_in() -> None:
    """Work in review and approved work, also after a long review."""
    assert {one for one in W if is_handed_in(one, None)} == {W.IN_REVIEW, W.APPROVED}
    assert is_handed_in(W.STALE, W.IN_REVIEW)
    assert not is_handed_in(W.STALE, W.WORKING)
