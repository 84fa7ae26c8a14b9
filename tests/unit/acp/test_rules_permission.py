"""The answers to permission requests."""

import pytest

from gitworker.acp.rules_permission import (
    Option,
    choose,
    decide,
    is_yes,
    known_paths,
    parse_policy,
    title_of,
)

OPTIONS = (Option("1", "allow_always"), Option("2", "allow_once"), Option("3", "reject_always"))


@pytest.mark.parametrize(
    ("kind", "inside", "policy", "decision"),
    [
        ("edit", [True], {}, "allow"),
        ("edit", [True, False], {}, "deny"),
        ("edit", [], {}, "allow"),
        ("delete", [False], {}, "deny"),
        ("edit", [False], {"edit": "allow"}, "allow"),
        ("read", [False], {}, "allow"),
        ("execute", [], {}, "allow"),
        ("execute", [], {"execute": "ask"}, "ask"),
        (None, [], {"other": "deny"}, "deny"),
        ("new kind", [], {"other": "deny"}, "deny"),
    ],
)
def test_decisions(
    kind: str | None, inside: list[bool], policy: dict[str, str], decision: str
) -> None:
    """Edits inside the worktree and commands are allowed, unless the policy says otherwise."""
    assert decide(kind, inside, policy) == decision


def test_options() -> None:
    """A decision is for one call if the agent offers that, and none is invented."""
    assert choose(OPTIONS, allowed=True) == "2"
    assert choose(OPTIONS, allowed=False) == "3"
    assert choose((), allowed=True) is None


def test_paths_of_a_call() -> None:
    """Locations, differences and arguments name paths; other values do no harm."""
    call = {
        "locations": [{"path": "/a"}, 5], "content": [{"type": "diff", "path": "/b"}],
        "rawInput": {"file_path": "/c", "path": 3},
    }  # fmt: skip
    assert known_paths(call) == ["/a", "/b", "/c"]
    assert known_paths({"locations": "x", "rawInput": "y"}) == []


def test_title() -> None:
    """A call has a title, else its command, and never more than a line."""
    assert title_of({"title": "Run\n it"}) == "Run it"
    assert title_of({"rawInput": {"command": "make"}}) == "make"
    assert title_of({}) == "a tool"
    assert len(title_of({"title": "x" * 999})) == 300
    assert title_of({"title": f"curl -u me --token s3cret{'x' * 999}"}).endswith("[redacted]")


def test_answers() -> None:
    """Only a clear yes allows."""
    assert is_yes({"text": "Yes, do it"})
    assert is_yes("ok.")
    assert not is_yes({"text": "no"})
    assert not is_yes({"text": "yesterday"})
    assert not is_yes({})


def test_policy() -> None:
    """The entries become decisions by kind."""
    assert parse_policy(("execute=ask", "fetch=deny")) == {"execute": "ask", "fetch": "deny"}
