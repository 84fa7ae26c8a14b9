"""The dependencies of a task as a person writes them."""

import pytest

from gitworker.errors import GitWorkerError, Invalid, NotFound, Refused
from gitworker.model.task import TaskStatus
from gitworker.model.task_spec import Need
from gitworker.tasks.queue.rules_needs import (
    cycle_refusal,
    find_cycle,
    hold_refusal,
    is_defined,
    need_refusal,
    need_text,
    needs_refusal,
    parse_needs,
)

S = TaskStatus


def test_needs_are_read() -> None:
    """A word is a task, or a task with its condition; a repeated one counts once."""
    found = parse_needs(["a, b:done", "c:landed,", "a"])
    assert found == (Need("a"), Need("b", "done"), Need("c"))
    assert [need_text(need) for need in found] == ["a", "b:done", "c"]
    assert parse_needs([]) == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a:soon", "'a:soon' is not a dependency"),
        ("a:", "'a:' is not a dependency"),
        ("../a", "is not a task id"),
        ("a,a:done", "a is needed twice"),
        ("a:done,b:done", "stacked on one other task at most, here on a and b"),
    ],
)
def test_bad_needs(text: str, message: str) -> None:
    """Words that are no dependencies, and needs that exclude each other, are refused."""
    with pytest.raises(Invalid, match=message):
        parse_needs([text])


@pytest.mark.parametrize(
    ("status", "kind"),
    [(None, NotFound), (S.CANCELLED, Refused), (S.FAILED, None), (S.COMPLETED, None)],
)
def test_needs_that_can_never_be_satisfied(
    status: TaskStatus | None, kind: type[GitWorkerError] | None
) -> None:
    """An unknown and a cancelled task are refused; a failed one can be restarted."""
    refusal = need_refusal("b", Need("a"), status)
    assert refusal is None if kind is None else isinstance(refusal, kind)


def test_cycles_are_named() -> None:
    """The refusal names every task of the cycle from the given one on, and cuts a long one."""
    graph = {"x": ["a"], "a": ["b"], "b": ["c", "d"], "c": ["a"]}
    assert find_cycle(graph) == ["a", "b", "c", "a"]
    assert find_cycle(graph, "c") == ["c", "a", "b", "c"]
    assert find_cycle(graph, "x") == ["a", "b", "c", "a"]
    assert find_cycle({"a": ["a"]}) == ["a", "a"]
    refusal = cycle_refusal(["a", "b", "a"])
    assert refusal.message == "tasks would wait for each other: a needs b needs a"
    assert refusal.code == "cyclic_dependency"
    ring = find_cycle({f"t{i}": [f"t{(i + 1) % 50}"] for i in range(50)})
    assert ring is not None
    assert "needs t10 needs (39 more) needs t0" in cycle_refusal(ring).message


def test_a_graph_without_a_cycle() -> None:
    """A chain of 100,000 tasks is no cycle."""
    assert find_cycle({f"t{i}": [f"t{i + 1}"] for i in range(100_000)}) is None


def test_changes_that_come_too_late() -> None:
    """Dependencies can change until the task starts, and only an unfinished task is held."""
    assert {status for status in S if needs_refusal("a", status) is None} == {S.DEFINED, S.READY}
    assert {status for status in S if is_defined(status)} == {S.DEFINED}
    ended = {status for status in S if hold_refusal("a", status) is not None}
    assert ended == {S.COMPLETED, S.CANCELLED}
