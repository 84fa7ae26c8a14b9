"""A worker's events and its task: every sequence is legal and has the right end."""

import pytest

from gitworker.model.task import TaskStatus as S
from gitworker.states.engine import InvalidTransition
from gitworker.states.task_machine import task_transition
from gitworker.states.task_moves import NAMED, RULES, WorkerTaskEvent, task_events

REWORK = "ADMIN_RESTART ASSIGNED AGENT_STARTED"

# event, status, flags (a: approval required, x: no retry left), events, final status
CASES = f"""
assign | DEFINED | | DEPS_MET ASSIGNED | ASSIGNED
assign | READY | | ASSIGNED | ASSIGNED
assign | FAILED | | RETRY ASSIGNED | ASSIGNED
assign | BLOCKED | | ADMIN_RESTART ASSIGNED | ASSIGNED
start | ASSIGNED | | AGENT_STARTED | IN_PROGRESS
setup_failed | ASSIGNED | | EXECUTION_ERROR | READY
submit | IN_PROGRESS | | AGENT_COMPLETED | VERIFYING
submit | IN_PROGRESS | a | AGENT_COMPLETED PR_CREATED | AWAITING_APPROVAL
submit | PAUSED | | {REWORK} AGENT_COMPLETED | VERIFYING
submit | WAITING_INPUT | a | {REWORK} AGENT_COMPLETED PR_CREATED | AWAITING_APPROVAL
merge | VERIFYING | | VERIFY_PASSED | COMPLETED
merge | VERIFYING | a | PR_CREATED PR_MERGED | COMPLETED
merge | AWAITING_APPROVAL | | PR_MERGED | COMPLETED
merge | AWAITING_APPROVAL | a | PR_MERGED | COMPLETED
request_changes | VERIFYING | | {REWORK} | IN_PROGRESS
request_changes | AWAITING_APPROVAL | a | {REWORK} | IN_PROGRESS
merge_conflict | VERIFYING | | {REWORK} | IN_PROGRESS
merge_conflict | AWAITING_APPROVAL | a | {REWORK} | IN_PROGRESS
verify_failed | VERIFYING | | VERIFY_FAILED RETRY ASSIGNED AGENT_STARTED | IN_PROGRESS
verify_failed | VERIFYING | x | VERIFY_FAILED MAX_RETRIES | BLOCKED
verify_failed | AWAITING_APPROVAL | a | {REWORK} | IN_PROGRESS
verify_failed | AWAITING_APPROVAL | ax | {REWORK} | IN_PROGRESS
fail | IN_PROGRESS | | AGENT_FAILED | FAILED
fail | IN_PROGRESS | x | AGENT_FAILED MAX_RETRIES | BLOCKED
fail | PAUSED | | {REWORK} AGENT_FAILED | FAILED
fail | WAITING_INPUT | x | {REWORK} AGENT_FAILED MAX_RETRIES | BLOCKED
retry | FAILED | | RETRY | READY
retry | FAILED | x | MAX_RETRIES | BLOCKED
recovery | IN_PROGRESS | | RECOVERY | READY
recovery | IN_PROGRESS | x | MAX_RETRIES | BLOCKED
recovery | ASSIGNED | | RECOVERY | READY
recovery | ASSIGNED | x | TIMEOUT | BLOCKED
recovery | PAUSED | | | PAUSED
recovery | WAITING_INPUT | | | WAITING_INPUT
expire | IN_PROGRESS | | RECOVERY | READY
expire | IN_PROGRESS | x | MAX_RETRIES | BLOCKED
expire | PAUSED | x | {REWORK} MAX_RETRIES | BLOCKED
timeout | IN_PROGRESS | | TIMEOUT | BLOCKED
timeout | ASSIGNED | | TIMEOUT | BLOCKED
timeout | PAUSED | | {REWORK} TIMEOUT | BLOCKED
timeout | WAITING_INPUT | | {REWORK} TIMEOUT | BLOCKED
pr_closed | AWAITING_APPROVAL | a | PR_CLOSED | BLOCKED
pr_closed | VERIFYING | | PR_CREATED PR_CLOSED | BLOCKED
stop | IN_PROGRESS | | ADMIN_STOP | BLOCKED
stop | PAUSED | | {REWORK} ADMIN_STOP | BLOCKED
stop | WAITING_INPUT | | {REWORK} ADMIN_STOP | BLOCKED
stop | VERIFYING | | PR_CREATED PR_CLOSED | BLOCKED
stop | AWAITING_APPROVAL | | PR_CLOSED | BLOCKED
tokens_exhausted | IN_PROGRESS | | TOKENS_EXHAUSTED | PAUSED
question | IN_PROGRESS | | AGENT_QUESTION | WAITING_INPUT
reply | WAITING_INPUT | | HUMAN_REPLIED | IN_PROGRESS
input_timeout | WAITING_INPUT | | INPUT_TIMEOUT | PAUSED
resume | PAUSED | | RESUME_TIMER ASSIGNED AGENT_STARTED | IN_PROGRESS
resume | FAILED | | {REWORK} | IN_PROGRESS
resume | FAILED | x | {REWORK} | IN_PROGRESS
resume | BLOCKED | x | {REWORK} | IN_PROGRESS
resume | DEFINED | | {REWORK} | IN_PROGRESS
resume | READY | | ASSIGNED AGENT_STARTED | IN_PROGRESS
cancel | IN_PROGRESS | | USER_CANCELLED | CANCELLED
cancel | BLOCKED | | USER_CANCELLED | CANCELLED
cancel | COMPLETED | | | COMPLETED
cancel | CANCELLED | | | CANCELLED
undo | COMPLETED | | ADMIN_RESTART | READY
undo | CANCELLED | | ADMIN_RESTART | READY
undo | FAILED | x | ADMIN_RESTART | READY
undo | BLOCKED | x | ADMIN_RESTART | READY
undo | READY | | | READY
undo | ASSIGNED | | ADMIN_RESTART | READY
"""
SILENT = (
    "approve",
    "approval_withdrawn",
    "heartbeat_timeout",
    "recover",
    "review_timeout",
    "resume_review",
    "reset",
    "recycle",
)


@pytest.mark.parametrize("case", CASES.strip().splitlines())
def test_events_are_those_of_the_contract(case: str) -> None:
    """The event of the worker fires these events, and the task has this final status."""
    task_event, status, flags, events, final = (part.strip() for part in case.split("|"))
    fired = task_events(
        task_event,
        status=S(status),
        requires_approval="a" in flags,
        retries_left="x" not in flags,
    )
    assert list(fired) == events.split()
    reached = S(status)
    for event in fired:
        reached = task_transition(reached, event)
    assert reached == final


@pytest.mark.parametrize("task_event", SILENT)
def test_some_events_leave_the_task_alone(task_event: str) -> None:
    """Liveness, approvals and the worker's own bookkeeping fire no event on the task."""
    assert all(task_events(task_event, status=status) == () for status in S)


@pytest.mark.parametrize("task_event", list(WorkerTaskEvent))
@pytest.mark.parametrize("requires_approval", [False, True])
@pytest.mark.parametrize("retries_left", [False, True])
def test_every_sequence_is_legal(
    task_event: WorkerTaskEvent, requires_approval: bool, retries_left: bool
) -> None:
    """From every status and with all facts, either each event is legal or all are refused."""
    refusals = []
    for status in S:
        try:
            events = task_events(
                task_event,
                status=status,
                requires_approval=requires_approval,
                retries_left=retries_left,
            )
        except InvalidTransition as error:
            refusals.append((error.state, error.event, error.hint is not None))
            continue
        reached = status
        for event in events:
            reached = task_transition(reached, event)
        assert "RETRY" not in events or retries_left
        assert not (requires_approval and "VERIFY_PASSED" in events)
    for state, named, has_hint in refusals:
        assert state in set(S)
        assert named == NAMED[task_event]
        assert has_hint


def test_every_event_has_a_rule() -> None:
    """Each event of a worker has its rule, and a name for its refusal if it can refuse."""
    assert set(RULES) == set(WorkerTaskEvent)
    assert {name for name, by in RULES.items() if set(by) != set(S)} == set(NAMED)


def test_assign_refuses_an_ended_or_held_task() -> None:
    """A task that is held, has ended, or has no retry left is not assigned."""
    for status in set(S) - {S.DEFINED, S.READY, S.FAILED, S.BLOCKED}:
        with pytest.raises(InvalidTransition):
            task_events("assign", status=status)
    for status in (S.FAILED, S.BLOCKED):
        with pytest.raises(InvalidTransition, match=rf"\({status}, ASSIGNED\)"):
            task_events("assign", status=status, retries_left=False)


def test_unknown_event_is_an_error() -> None:
    """An unknown event raises and fires nothing."""
    with pytest.raises(ValueError, match="explode"):
        task_events("explode", status=S.READY)
