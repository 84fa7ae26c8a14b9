"""The columns and filters of the board."""

from gitworker.liveness.rules_stale import Liveness
from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState
from gitworker.observe.queue.board_columns import (
    Card,
    choices,
    column_of,
    columns,
    is_chosen,
    next_review,
)
from gitworker.observe.queue.worker_facts import CardFacts
from gitworker.observe.workers.returned import ReturnedWork
from gitworker.observe.workers.status import WorkerLine
from gitworker.repo.worktrees.trouble import Trouble

DAY_MS = 86_400_000
TROUBLE = Trouble("t", "words", "git worker show a")


def line(state: WorkerState, **changed: object) -> WorkerLine:
    """Return a worker in a state."""
    base = WorkerLine(
        "a", state, 0, "t", None, None, Liveness.UNKNOWN, None, None, None, None, "", ""
    )
    return base._replace(**changed)


def test_states() -> None:
    """Each state has its column."""
    found = {state: column_of(line(state)) for state in WorkerState}
    assert found == {
        WorkerState.IDLE: "done", WorkerState.ASSIGNED: "working", WorkerState.WORKING: "working",
        WorkerState.IN_REVIEW: "review", WorkerState.APPROVED: "landing",
        WorkerState.COMPLETED: "done", WorkerState.FAILED: "needs", WorkerState.STALE: "needs",
    }  # fmt: skip


def test_workers_that_do_not_continue_by_themselves() -> None:
    """An ended agent, an open question, returned work and trouble need a person."""
    working = WorkerState.WORKING
    returned = ReturnedWork("merge_conflict", "", None, (), None, is_waiting=True)
    for changed in (
        {"agent_ended": True}, {"task_status": TaskStatus.WAITING_INPUT}, {"returned": returned},
        {"trouble": TROUBLE},
    ):  # fmt: skip
        assert column_of(line(working, **changed)) == "needs", changed
    assert column_of(line(WorkerState.COMPLETED, trouble=TROUBLE)) == "needs"


def test_the_next_review() -> None:
    """The longest wait is first; after a worker its successor, and after the last one the first."""
    lines = [
        line(WorkerState.IN_REVIEW, worker="b", since_ms=5),
        line(WorkerState.IN_REVIEW, worker="a", since_ms=9),
        line(WorkerState.APPROVED, worker="c", since_ms=1),
    ]
    assert [next_review(lines, one) for one in ("c", "b", "a")] == ["b", "a", "b"]
    assert next_review(lines[1:], "a") is None
    late = line(WorkerState.STALE, worker="d", since_ms=2, task_status=TaskStatus.AWAITING_APPROVAL)
    assert next_review([*lines, late], "a") == "d"


def test_order_and_old_landings() -> None:
    """The longest wait is first, the newest landing too; old landings are shown on request."""
    cards = [
        Card(line(state, worker=name, since_ms=since), CardFacts(), ())
        for name, state, since in (
            ("b", WorkerState.IN_REVIEW, 5), ("a", WorkerState.IN_REVIEW, 9),
            ("old", WorkerState.COMPLETED, 1), ("new", WorkerState.COMPLETED, 2 * DAY_MS),
        )
    ]  # fmt: skip
    shown = {
        one.key: [card.line.worker for card in one.cards]
        for one in columns(cards, now_ms=2 * DAY_MS, every=False)
    }
    assert (shown["review"], shown["done"]) == (["b", "a"], ["new"])
    every = columns(cards, now_ms=2 * DAY_MS, every=True)[-1]
    assert [card.line.worker for card in every.cards] == ["new", "old"]


def test_filters() -> None:
    """A filter accepts its value, and every value if it is empty."""
    facts = CardFacts("web", None, "claude")
    assert is_chosen(facts, {"project": "web", "agent": ""})
    assert not is_chosen(facts, {"workstream": "x"})
    wanted = {"project": ["web"], "workstream": [], "agent": ["claude"]}
    assert choices([facts, facts]) == wanted
