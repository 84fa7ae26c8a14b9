"""The names of claims, the tasks that can be claimed, and the texts of refusals."""

import pytest

from gitworker.claims import rules_claim as rules
from gitworker.errors import Conflict, Invalid, NotFound, Refused
from gitworker.model.task import TaskStatus


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("skills-abc", "skills-abc"),
        ("path:src/auth/**", "path:src/auth/**"),
        ("path:src/auth/", "path:src/auth"),
        ("x:deploy", "x:deploy"),
        ("db-lock:a b/c:d é", "db-lock:a b/c:d é"),
        ("path:" + "a" * (rules.NAME_MAX - 5), "path:" + "a" * (rules.NAME_MAX - 5)),
    ],
)
def test_names(text: str, name: str) -> None:
    """Task ids, patterns of paths and named resources are names."""
    assert rules.parse_name(text) == name


@pytest.mark.parametrize(
    "text",
    [
        "", ":", ":x", "x:", "x: a", "x:a ", "X:a", "-x:a", "x_y:a", "k" * 33 + ":a", "x:a\nb",
        "x:\x1b[31m", "x:\u202eabc", "x:\udc80", "x:" + "a" * rules.NAME_MAX, "task:abc",
        "path:/etc", "path:", "src/**", "a b", "..", "a.lock",
    ],
)  # fmt: skip
def test_bad_names(text: str) -> None:
    """Empty, long, unprintable and ambiguous names are refused."""
    with pytest.raises(Invalid):
        rules.parse_name(text)


def test_a_pattern_without_its_kind() -> None:
    """A pattern in place of a task id is refused with a hint how to claim paths."""
    with pytest.raises(Invalid) as caught:
        rules.parse_name("src/**")
    assert caught.value.hint == "git worker claim take 'path:src/**'"


@pytest.mark.parametrize(
    ("one", "other", "is_conflict"),
    [
        ("t", "t", True),
        ("t", "u", False),
        ("x:a*", "x:ab", False),
        ("path:a*", "path:ab", True),
        ("path:a", "path:b", False),
        ("path:a", "x:a", False),
        ("path:a", "path:[", False),
        ("path:[", "path:[", True),
        ("path:*", "path:" + "a" * 201, False),
    ],
)
def test_conflicts(one: str, other: str, is_conflict: bool) -> None:
    """Claims exclude each other if their names are equal or have a path in common."""
    assert rules.conflict(one, other) is is_conflict
    assert rules.conflict(other, one) is is_conflict


@pytest.mark.parametrize("lease_s", [0, -1, 86_401, float("inf"), float("nan")])
def test_bad_leases(lease_s: float) -> None:
    """A lease is longer than zero and at most a day."""
    with pytest.raises(Invalid):
        rules.parse_lease_ms(lease_s)


def test_leases() -> None:
    """A lease counts milliseconds, one at least."""
    assert [rules.parse_lease_ms(s) for s in (0.0001, 0.25, 60, 86_400)] == [
        1,
        250,
        60_000,
        86_400_000,
    ]


@pytest.mark.parametrize(
    ("status", "assigned", "waits_for", "error"),
    [
        (None, None, [], NotFound),
        (TaskStatus.READY, None, [], None),
        (TaskStatus.DEFINED, None, [], None),
        (TaskStatus.DEFINED, None, ["base"], Refused),
        (TaskStatus.IN_PROGRESS, "auth", [], None),
        (TaskStatus.AWAITING_APPROVAL, "auth", [], None),
        (TaskStatus.IN_PROGRESS, "other", [], Conflict),
        (TaskStatus.ASSIGNED, None, [], Conflict),
        (TaskStatus.COMPLETED, "auth", [], Refused),
        (TaskStatus.FAILED, None, [], Refused),
        (TaskStatus.CANCELLED, None, [], Refused),
    ],
)
def test_tasks(
    status: TaskStatus | None, assigned: str | None, waits_for: list[str], error: type | None
) -> None:
    """A task can be claimed if it is READY, or already the caller's own."""
    found = rules.task_refusal("t", status, asker="auth", assigned=assigned, waits_for=waits_for)
    assert (None if found is None else type(found)) is error
    assert found is None or "t" in found.message.split()
    assert not waits_for or (found is not None and "base" in found.message)


def test_single_agents() -> None:
    """A worker is one agent; hq is every shell outside the worktrees."""
    assert rules.is_one("auth")
    assert not rules.is_one("hq")


def test_refusals_of_a_second_claim() -> None:
    """Errors name the holder, the remaining time, and a helpful command."""
    error = rules.taken("path:a", "path:*", holder="bob", left_ms=1001, until="T")
    assert (
        error.message == "path:a overlaps path:*, which is claimed by bob for another 2 s, until T"
    )
    assert (error.hint, error.left_ms, error.status) == (
        "git worker claim take path:a --wait 2", 1001, 3,
    )  # fmt: skip
    same = rules.taken("x:a", "x:a", holder="bob", left_ms=60_000, until="T")
    assert same.message == "x:a is claimed by bob for another 60 s, until T"


@pytest.mark.parametrize(
    ("epoch", "now", "message"),
    [
        (3, "bob", "auth lost its claim on t (epoch 3); bob holds it now"),
        (None, None, "auth lost its claim on t; the claim is free now"),
        (1, "auth", "auth lost its claim on t (epoch 1); auth holds it under another epoch now"),
    ],
)
def test_refusals_of_a_late_holder(epoch: int | None, now: str | None, message: str) -> None:
    """A holder that lost a claim gets its name and its present holder."""
    error = rules.lost("t", holder="auth", epoch=epoch, now_held_by=now)
    assert (error.message, error.code) == (message, "claim_lost")


def test_refusals_of_a_stranger() -> None:
    """An agent that never had a claim gets its present holder, or that it is free."""
    assert isinstance(rules.not_held("t", holder="auth", held_by="bob"), Conflict)
    assert isinstance(rules.not_held("t", holder="auth", held_by=None), NotFound)


def test_names_for_a_shell() -> None:
    """A name in a hint is quoted if a shell would read it otherwise."""
    names = ["t-1", "path:a/b", "path:*", "x:it's"]
    assert [rules.quoted(n) for n in names] == ["t-1", "path:a/b", "'path:*'", "'x:it'\\''s'"]
