"""The validator's rules about tasks."""

import pytest

from tests.unit.states.logs import findings, line, task_to


def test_only_a_running_task_has_a_worker() -> None:
    """A worker's name belongs only on lines to `running`."""
    lines = task_to("t", "running", worker_id="auth")
    stray = line("task t running>validating execution_completed", worker_id="auth")
    assert findings(*lines, stray) == ["3 worker-assignment"]


def test_retries_have_a_limit() -> None:
    """`retry_count` may reach `max_retries` but not exceed it; alone it is not checked."""
    lines = [
        line(f"task t{n} pending>queued scheduler_assigned", **metadata)
        for n, metadata in enumerate(
            [{"retry_count": 3, "max_retries": 3}, {"retry_count": 9}, {"max_retries": 0}]
        )
    ]
    assert findings(*lines) == []
    over = line("task t pending>queued scheduler_assigned", retry_count=4, max_retries=3)
    assert findings(over) == ["1 retry-limit"]


@pytest.mark.parametrize(
    ("running", "retrying", "is_valid"),
    [
        ({"retry_count": 2, "max_retries": 3}, {"retry_count": 2, "max_retries": 3}, True),
        ({"retry_count": 2, "max_retries": 3}, {"retry_count": 3, "max_retries": 3}, True),
        ({"retry_count": 3, "max_retries": 3}, {"retry_count": 3, "max_retries": 3}, False),
        ({"retry_count": 3, "max_retries": 3}, {"retry_count": 4, "max_retries": 3}, False),
        ({"retry_count": 3, "max_retries": 3}, {}, False),
        ({"max_retries": 0}, {"retry_count": 0}, False),
        ({}, {"retry_count": 3, "max_retries": 3}, False),
        ({}, {"retry_count": 2, "max_retries": 3}, True),
        ({}, {"max_retries": 3}, True),
        ({"retry_count": 3}, {}, True),
    ],
)
def test_a_retry_needs_a_retry_left(
    running: dict[str, int], retrying: dict[str, int], *, is_valid: bool
) -> None:
    """A task goes from running to retrying only with fewer retries than its limit."""
    start = task_to("t", "queued")
    run = line("task t queued>running worker_started", **running)
    retry = line("task t running>retrying execution_failed", **retrying)
    assert findings(*start, run, retry) == ([] if is_valid else ["3 retry-limit"])


@pytest.mark.parametrize(
    ("created", "started", "completed", "broken"),
    [
        ("01", "02", "03", 0),
        ("01", "01", "01", 0),
        ("02", "01", "03", 1),
        ("01", "03", "02", 1),
        ("02", None, "01", 1),
        (None, None, "01", 0),
    ],
)
def test_times_of_a_task_are_in_order(
    created: str | None, started: str | None, completed: str | None, broken: int
) -> None:
    """A task is created, then started, then completed."""
    times = {"created_at": created, "started_at": started, "completed_at": completed}
    metadata = {key: day and f"2026-01-{day}T00:00:00Z" for key, day in times.items()}
    text = line("task t pending>queued scheduler_assigned", **metadata)
    assert findings(text) == ["1 timestamp-ordering"] * broken


def test_a_queued_task_has_its_dependencies() -> None:
    """A task is queued only after its dependencies have completed."""
    needs = line("task t pending>queued scheduler_assigned", dependencies=["a", "b"])
    assert findings(*task_to("a", "completed"), needs) == ["5 dependency-satisfaction"]
    assert findings(*task_to("a", "completed"), *task_to("b", "completed"), needs) == []


def test_a_restarted_dependency_has_completed_once() -> None:
    """A completed incarnation stays completed, although the task runs once more."""
    again = [line("task a#2 pending>queued scheduler_assigned")]
    needs = line("task t pending>queued scheduler_assigned", dependencies=["a"])
    assert findings(*task_to("a", "completed"), *again, needs) == []


def test_waived_dependencies_stay_waived() -> None:
    """Waived dependencies are waived for the task's later attempts too."""
    lines = [
        line("task t pending>queued scheduler_assigned", dependencies=["a"], waived="dependencies"),
        line("task t queued>cancelled user_cancelled"),
        line("task t#2 pending>queued scheduler_assigned", dependencies=["a"]),
    ]
    assert findings(*lines) == []


def test_waived_verification_does_not_waive_dependencies() -> None:
    """Each waiver applies to its own rule."""
    text = line(
        "task t pending>queued scheduler_assigned", dependencies=["a"], waived="verification"
    )
    assert findings(text) == ["1 dependency-satisfaction"]
