"""Names from outside: valid ones, and refusals before any change."""

import pytest

from gitworker.errors import Invalid
from gitworker.model.ids import (
    is_oid,
    parse_agent_id,
    parse_task_id,
    parse_worker_id,
)


@pytest.mark.parametrize("text", ["auth", "refactor-2", "0", "a" * 63, "a--b", "a-"])
def test_worker_ids(text: str) -> None:
    """A worker id is kebab-case, up to 63 characters."""
    assert parse_worker_id(text) == text


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "is not a worker id"),
        ("Auth", "is not a worker id"),
        ("-auth", "is not a worker id"),
        ("a_b", "is not a worker id"),
        ("a/b", "is not a worker id"),
        ("a\n", "is not a worker id"),
        ("é", "is not a worker id"),
        ("a" * 64, "has 64 characters"),
        ("hq", "is a reserved name"),
        ("orchestrator", "is a reserved name"),
        ("verifier", "is a reserved name"),
    ],
)
def test_invalid_worker_ids(text: str, complaint: str) -> None:
    """Any other text is a usage error with its reason."""
    with pytest.raises(Invalid, match=complaint):
        parse_worker_id(text)


def test_reserved_names_may_send() -> None:
    """On the bus the reserved names are identities too."""
    assert parse_agent_id("hq") == "hq"
    assert parse_agent_id("verifier") == "verifier"
    assert parse_agent_id("auth") == "auth"
    with pytest.raises(Invalid) as caught:
        parse_agent_id("HQ")
    assert caught.value.hint == "git worker list"


@pytest.mark.parametrize("text", ["skills-abc", "A.b_c-9", "0", "t" * 100, "a.lock.b"])
def test_task_ids(text: str) -> None:
    """A task id is a component of a branch name, up to 100 characters."""
    assert parse_task_id(text) == text


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "is not a task id"),
        (".a", "is not a task id"),
        ("a#2", "is not a task id"),
        ("a b", "is not a task id"),
        ("a..b", "is not a task id"),
        ("a.", "is not a task id"),
        ("a.lock", "is not a task id"),
        ("t" * 101, "has 101 characters"),
    ],
)
def test_invalid_task_ids(text: str, complaint: str) -> None:
    """A text that git would refuse in a branch name, or take for an option, is refused."""
    with pytest.raises(Invalid, match=complaint):
        parse_task_id(text)


def test_a_bad_name_is_shown_safely() -> None:
    """A refusal quotes a name escaped and shortened."""
    with pytest.raises(Invalid) as caught:
        parse_worker_id("\x1b[2J" + "x" * 200)
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 200


@pytest.mark.parametrize(
    ("text", "full"),
    [("a" * 40, True), ("0" * 64, True), ("a" * 39, False), ("A" * 40, False), ("g" * 40, False)],
)
def test_object_ids(text: str, full: bool) -> None:
    """A full object id has 40 or 64 lower-case hex digits."""
    assert is_oid(text) is full
