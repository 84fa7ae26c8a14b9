"""The reason why a task is not running."""

import pytest

from gitworker.model.task import TaskStatus
from gitworker.model.task_spec import OpenNeed
from gitworker.tasks.rules_task_list import Why
from gitworker.tasks.views.rules_why import (
    TaskFacts,
    is_tried_again,
    run_command_of,
    walk_needs,
    why,
)

S = TaskStatus
NEXT = "git worker show w"
RUN = "git worker run --agent claude"


@pytest.mark.parametrize(
    ("facts", "reason", "command"),
    [
        (TaskFacts("a", S.READY), "it may start: it is next", "git worker spawn '<worker>' a"),
        (
            TaskFacts("a", S.READY, before=3), "it may start: 3 tasks come before it",
            "git worker spawn '<worker>' a",
        ),
        (
            TaskFacts("a", S.READY, before=1), "it may start: 1 task comes before it",
            "git worker spawn '<worker>' a",
        ),
        (TaskFacts("a", S.READY, closed=Why("no money", NEXT)), "no money", NEXT),
        (TaskFacts("a", S.READY, refusal=Why("no agent is free", NEXT)), "no agent is free", NEXT),
        (TaskFacts("a", S.READY, held=True), "it is held back", "git worker task release a"),
        (
            TaskFacts("a", S.IN_PROGRESS, worker="w", next_command=NEXT),
            "it is running (worker w)", NEXT,
        ),
        (
            TaskFacts("a", S.IN_PROGRESS, worker="w", next_command=NEXT, halt="its agent ended"),
            "its agent ended (worker w)", NEXT,
        ),
        (TaskFacts("a", S.COMPLETED, worker="w"), "it has landed", None),
        (
            TaskFacts("a", S.COMPLETED, lands_in=("ws/group", "group")),
            "it has landed on ws/group, which lands as a whole", "git worker workstream show group",
        ),
        (
            TaskFacts("a", S.COMPLETED, lands_in=("ws/group", "group"), is_skipped=True),
            "it was skipped: it is completed without its work", None,
        ),
        (TaskFacts("a", S.PAUSED, limit=Why("no tokens", NEXT)), "it is paused: no tokens", NEXT),
        (TaskFacts("a", S.CANCELLED), "it was cancelled", "git worker task restart a"),
        (
            TaskFacts("a", S.BLOCKED, error="no idea", next_command=NEXT),
            "it is blocked: no idea", NEXT,
        ),
        (TaskFacts("a", S.BLOCKED), "it is blocked", "git worker task restart a"),
        (
            TaskFacts("a", S.FAILED, retry_in="in 5s", next_command=NEXT),
            "it has failed; it is ready again in 5s", NEXT,
        ),
        (
            TaskFacts(
                "a", S.FAILED, retry_in="in 5s", next_command=f"{NEXT}   # x", run_command=RUN
            ),
            "it has failed; it is ready again in 5s, for the next run", f"{RUN}   # or: {NEXT}",
        ),
        (
            TaskFacts(
                "a", S.FAILED, worker="w", retry_in="in 5s", next_command=NEXT, is_retried=True
            ),
            "it has failed; the run tries it again in 5s", "git worker show w",
        ),
        (
            TaskFacts("a", S.READY, next_command=NEXT, run_command=RUN),
            "it may start: it is next", f"{RUN}   # or: {NEXT}",
        ),
        (TaskFacts("a", S.FAILED), "it has failed", "git worker task restart a"),
    ],
)  # fmt: skip
def test_reasons_of_the_task_itself(facts: TaskFacts, reason: str, command: str | None) -> None:
    """Each status has its words and its command."""
    assert why(facts, [], None) == Why(reason, command)


@pytest.mark.parametrize(
    ("needs", "cause", "reason", "command"),
    [
        (
            [OpenNeed("b", "landed", S.READY)], TaskFacts("b", S.READY),
            "it waits for b to land, which is ready to start", "git worker spawn '<worker>' b",
        ),
        (
            [OpenNeed("b", "done", S.IN_PROGRESS)],
            TaskFacts("b", S.IN_PROGRESS, worker="w", next_command=NEXT),
            "it waits for b to be handed in, which is in progress", NEXT,
        ),
        (
            [OpenNeed("b", "landed", S.DEFINED), OpenNeed("c", "landed", S.BLOCKED)],
            TaskFacts("c", S.BLOCKED, error="broken"),
            "it waits for b, which waits for c, which is blocked: broken",
            "git worker task restart c",
        ),
        (
            [OpenNeed(name, "landed", S.DEFINED) for name in "bcd"],
            TaskFacts("d", S.DEFINED, held=True),
            "it waits for b and 1 more, which waits for d, which is held back",
            "git worker task release d",
        ),
        (
            [OpenNeed("b", "landed", S.CANCELLED)], TaskFacts("b", S.CANCELLED),
            "it waits for b to land, which was cancelled", "git worker task restart b",
        ),
        (
            [OpenNeed("b", "landed", None)], None,
            "it waits for b to land, which does not exist",
            "git worker task depend a --on b --drop",
        ),
        (
            [OpenNeed("b", "landed", S.DEFINED), OpenNeed("c", "landed", None)], None,
            "it waits for b, which waits for c, which does not exist",
            "git worker task depend b --on c --drop",
        ),
    ],
)  # fmt: skip
def test_reasons_of_other_tasks(
    needs: list[OpenNeed], cause: TaskFacts | None, reason: str, command: str
) -> None:
    """The words lead from the first needed task to the one that decides, with its command."""
    assert why(TaskFacts("a", S.DEFINED), needs, cause) == Why(reason, command)


GRAPH = {
    "a": [("b", S.DEFINED), ("r", S.READY)],
    "b": [("c", S.DEFINED), ("x", S.BLOCKED)],
    "c": [("a", S.DEFINED)],
    "r": [],
    "d": [("b", S.DEFINED)],
    "e": [("w", S.IN_PROGRESS), ("r", S.READY)],
    "f": [("g", None)],
    "h": [("r", S.READY)],
    "n": [("w", S.IN_PROGRESS), ("v", S.IN_PROGRESS)],
    "k": [("l", S.DEFINED), ("m", S.DEFINED)],
    "l": [("r", S.READY)],
    "m": [("r", S.READY), ("s", S.READY)],
}


@pytest.mark.parametrize(
    ("task", "held", "chain"),
    [
        ("a", "", ["b", "x"]),
        ("d", "", ["b", "x"]),
        ("a", "r", ["r"]),
        ("e", "", ["w"]),
        ("f", "", ["g"]),
        ("h", "", ["r"]),
        ("r", "", []),
        ("k", "", ["l", "r"]),
        ("n", "", ["w"]),
    ],
)
def test_the_chain_to_the_cause(task: str, held: str, chain: list[str]) -> None:
    """A stopped, held or missing task decides before one that is at work or can start."""
    found = walk_needs(
        lambda name: [OpenNeed(one, "landed", status) for one, status in GRAPH.get(name, [])],
        task,
        lambda name: name == held,
    )
    assert [need.task for need in found] == chain


def test_the_run_that_tries_a_task_again() -> None:
    """A run takes up a task that is ready, or has a time for its retry; it names its agent."""
    assert is_tried_again(S.READY, None)
    assert is_tried_again(S.FAILED, 1)
    assert not is_tried_again(S.FAILED, None)
    assert not is_tried_again(S.BLOCKED, 1)
    assert run_command_of("claude") == RUN
    assert run_command_of(None) == "git worker run -- <command>"
