"""The lifecycle view: the lines of each step of a task."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.model.task import LifecycleState as V
from gitworker.model.task import TaskEvent, TaskStatus
from gitworker.states.task_machine import VALID_TASK_TRANSITIONS
from gitworker.states.task_moves import task_events
from gitworker.states.task_view import (
    TRIGGERS,
    VIEW_OF,
    LifecyclePosition,
    LifecycleRow,
    ViewLine,
    entity_id,
    lifecycle_lines,
    lifecycle_rows,
)
from tests.unit.states import tables

WAIVERS = {"dependencies": "!d", "verification": "!v", None: ""}


def shown(row: LifecycleRow) -> str:
    """Return a row in the notation of the transcribed table."""
    lines = [
        f"{'+' * (line.incarnation - 1)}{line.from_state}>{line.to_state}"
        f"{WAIVERS[line.metadata.get('waived')]}"  # type: ignore[index]
        for line in row.lines
    ]
    mark = "" if row.retries_left else "~"
    return f"{row.from_status} {row.event}{mark} {row.before}: {' '.join(lines)}".strip()


def test_table_is_the_contract() -> None:
    """Every step, from every view that its status can have, writes the lines of the table."""
    assert sorted(map(shown, lifecycle_rows())) == sorted(
        tables.LIFECYCLE_LINES.strip().splitlines()
    )


def test_pairs_and_triggers_are_documented() -> None:
    """The pairs are the documented ones, with the cancellations; so are the triggers."""
    pairs = {(start.value, by, end.value) for (start, end), by in TRIGGERS.items()}
    assert pairs == tables.rows(tables.LIFECYCLE)


def test_each_status_has_its_view() -> None:
    """The view of each status is the documented one."""
    assert {status.value: view.value for status, view in VIEW_OF.items()} == {
        "DEFINED": "pending",
        "READY": "queued",
        "ASSIGNED": "queued",
        "IN_PROGRESS": "running",
        "WAITING_INPUT": "running",
        "PAUSED": "running",
        "VERIFYING": "validating",
        "AWAITING_APPROVAL": "validating",
        "COMPLETED": "completed",
        "FAILED": "retrying",
        "BLOCKED": "failed",
        "CANCELLED": "cancelled",
    }


def test_a_line_knows_its_trigger() -> None:
    """The trigger follows from the pair."""
    assert ViewLine(1, V.RUNNING, V.RETRYING).trigger == "execution_failed"


def test_incarnations_have_names() -> None:
    """The first incarnation has the task's own name, the next ones a number."""
    assert [entity_id("t", number) for number in (1, 2, 10)] == ["t", "t#2", "t#10"]


def fired(
    view: LifecyclePosition, status: TaskStatus, events: tuple[TaskEvent, ...]
) -> tuple[list[str], LifecyclePosition]:
    """Fire the events with retries left, and return the lines and the final view."""
    written = []
    for event in events:
        target = VALID_TASK_TRANSITIONS[status, event]
        lines, view = lifecycle_lines(
            view, from_status=status, event=event, to_status=target, retries_left=True
        )
        written += [f"{entity_id('t', x.incarnation)} {x.from_state}>{x.to_state}" for x in lines]
        status = target
    return written, view


def test_a_change_request_is_a_new_incarnation() -> None:
    """A change request ends the incarnation as failed and runs the next one."""
    written, view = fired(
        LifecyclePosition(1, V.VALIDATING),
        TaskStatus.VERIFYING,
        task_events("request_changes", status=TaskStatus.VERIFYING),
    )
    assert written == [
        "t validating>failed",
        "t#2 pending>queued",
        "t#2 queued>running",
    ]
    assert view == LifecyclePosition(2, V.RUNNING)


def test_a_closing_line_names_its_successor() -> None:
    """The line that closes an incarnation for another one names that incarnation."""
    lines, _ = lifecycle_lines(
        LifecyclePosition(4, V.RUNNING),
        from_status=TaskStatus.IN_PROGRESS,
        event=TaskEvent.RECOVERY,
        to_status=TaskStatus.READY,
        retries_left=True,
    )
    assert [line.metadata for line in lines] == [{"next_incarnation": 5}, {}]


@given(st.lists(st.tuples(st.integers(0, 99), st.booleans()), max_size=40))
def test_a_terminal_view_stays_and_a_status_has_its_view(
    choices: list[tuple[int, bool]],
) -> None:
    """Lines are continuous within an incarnation, and a completed task's view is completed."""
    status, view = TaskStatus.DEFINED, LifecyclePosition()
    for number, retries_left in choices:
        steps = [(e, t) for (s, e), t in VALID_TASK_TRANSITIONS.items() if s == status]
        event, target = steps[number % len(steps)]
        lines, after = lifecycle_lines(
            view, from_status=status, event=event, to_status=target, retries_left=retries_left
        )
        position = view
        for line in lines:
            if line.incarnation != position.incarnation:
                assert line.incarnation == position.incarnation + 1
                assert position.state in ("completed", "failed", "cancelled")
                position = LifecyclePosition(line.incarnation)
            assert line.from_state == position.state
            position = LifecyclePosition(line.incarnation, line.to_state)
        assert position == after
        status, view = target, after
        assert (status == "COMPLETED") == (view.state == "completed")


@pytest.mark.parametrize("event", ["RETRY", "MAX_RETRIES"])
def test_a_failed_run_is_logged_once(event: str) -> None:
    """AGENT_FAILED without a retry left waits for the event that decides its end."""
    lines, view = lifecycle_lines(
        LifecyclePosition(1, V.RUNNING),
        from_status=TaskStatus.IN_PROGRESS,
        event=TaskEvent.AGENT_FAILED,
        to_status=TaskStatus.FAILED,
        retries_left=False,
    )
    assert lines == ()
    assert view.state == "running"
    assert fired(view, TaskStatus.FAILED, (TaskEvent(event),))[0][0].startswith("t running>")
