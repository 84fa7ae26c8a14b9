"""The rules of a message: type, payload keys, nesting, retries, and slow readers."""

import json
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.bus.rules_message import (
    BACKOFF_FIRST_MS,
    BACKOFF_LAST_MS,
    DEPTH_MAX,
    KEYS,
    SLOW_AGE_MS,
    SLOW_UNREAD,
    backoff_ms,
    check_addressee,
    check_payload,
    check_type,
    is_slow,
    is_too_deep,
    kind_of,
    may_be_deep,
    may_be_infinite,
)
from gitworker.errors import Invalid
from gitworker.model.message import PUBLIC_TYPES

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False,
    allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


@pytest.mark.parametrize("text", [*sorted(PUBLIC_TYPES - {"heartbeat"}), "x-a", "x-" + "b" * 62])
def test_documented_and_private_types(text: str) -> None:
    """The documented types are valid, and private ones that begin with x-."""
    check_type(text)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "not a message type"),
        ("Status", "not a message type"),
        ("9a", "not a message type"),
        ("a b", "not a message type"),
        ("ü", "not a message type"),
        ("x-" + "a" * 63, "65 characters"),
        ("heartbeat", "reserved"),
        ("state_chang", "there is no message type state_chang: private types begin with 'x-'"),
        ("x-", "there is no message type"),
        ("x_a", "there is no message type"),
    ],
)
def test_other_types_are_refused(text: str, complaint: str) -> None:
    """Every other type is refused, with a reason."""
    with pytest.raises(Invalid, match=complaint):
        check_type(text)


def judge(type: str, payload: Any) -> None:
    """Check a payload as the library does."""
    keys = payload if isinstance(payload, dict) else {}
    kinds = {key: kind_of(value) for key, value in keys.items()}
    check_payload(type, kind_of(payload), kinds, keys)


@pytest.mark.parametrize(
    ("type", "payload"),
    [
        ("status", {"progress": 0.5, "step": "tests"}),
        ("status", {"phase": "tests", "progress": 1}),
        ("status", {"phase": None}),
        ("status", {}),
        ("status", None),
        ("log", {"level": "debug", "message": "m", "tool": {"name": "x"}}),
        ("signal", {"signal": "done"}),
        ("cmd", {"action": "stop"}),
        ("cmd", {"command": "pause", "reason": "r"}),
        ("task_done", ["whatever"]),
        ("x-own", "whatever"),
    ],
)
def test_payloads_are_checked_leniently(type: str, payload: Any) -> None:
    """Every documented key may be absent, further keys pass, other types are free."""
    judge(type, payload)


@pytest.mark.parametrize(
    ("type", "payload", "complaint"),
    [
        ("status", "text", "must be a JSON object, not text"),
        ("status", [1], "must be a JSON object, not array"),
        ("status", {"progress": "half"}, "progress in the payload of status must be a number"),
        ("status", {"progress": True}, "must be a number, not true"),
        ("status", {"phase": 1}, "phase in the payload of status must be a string, not integer"),
        ("log", {"message": {}}, "must be a string, not object"),
        ("signal", {"signal": False}, "must be a string, not false"),
        ("cmd", {"action": 1.5}, "must be a string, not real"),
        ("cmd", {"command": "stop", "reason": []}, "reason in the payload of cmd"),
        ("cmd", {"command": "dance"}, "must be one of stop, pause, resume, not 'dance'"),
        ("cmd", {"action": ""}, "action in the payload of cmd must be one of .*, not ''"),
        ("log", {"level": "loud"}, "level in the payload of log must be one of .*, not 'loud'"),
        ("signal", {"signal": "smoke"}, "must be one of start, .*, not 'smoke'"),
    ],
)
def test_wrong_types_are_refused(type: str, payload: Any, complaint: str) -> None:
    """A documented key cannot hold another kind of value."""
    with pytest.raises(Invalid, match=complaint):
        judge(type, payload)


def test_the_hint_for_an_unknown_command() -> None:
    """An unknown command is answered by the verbs: a `cmd` without an addressee is refused."""
    with pytest.raises(Invalid) as caught:
        judge("cmd", {"command": "dance"})
    assert caught.value.hint == "git worker stop <worker>   # or: pause, continue"


def test_a_cmd_has_an_addressee() -> None:
    """A `cmd` to all agents is refused; every other type may be a broadcast."""
    check_addressee("cmd", "auth")
    check_addressee("log", None)
    with pytest.raises(Invalid, match="a cmd needs an addressee"):
        check_addressee("cmd", None)


@given(JSON)
def test_kinds_are_named_as_sqlite_does(value: Any) -> None:
    """Our code and SQLite name the kinds of JSON values alike."""
    text = json.dumps(value)
    found = apsw.Connection(":memory:").execute("SELECT json_type(?)", (text,)).fetchone()
    assert found == (kind_of(value),)


def test_a_value_outside_json_has_no_kind() -> None:
    """A value that JSON does not have has no kind."""
    assert kind_of(object()) is None
    check_payload("status", "object", dict.fromkeys(KEYS["status"]), {})


def test_pauses_double_up_to_a_minute() -> None:
    """After each failure a message waits twice as long, a minute at most."""
    pauses = [backoff_ms(attempts) for attempts in range(1, 40)]
    assert pauses[:3] == [BACKOFF_FIRST_MS, 2 * BACKOFF_FIRST_MS, 4 * BACKOFF_FIRST_MS]
    assert pauses == sorted(pauses)
    assert pauses[-1] == BACKOFF_LAST_MS


@pytest.mark.parametrize(
    ("unread", "age_ms", "slow"),
    [
        (0, None, False),
        (SLOW_UNREAD - 1, SLOW_AGE_MS - 1, False),
        (SLOW_UNREAD, 0, True),
        (1, SLOW_AGE_MS, True),
    ],
)
def test_slow_readers(unread: int, age_ms: int | None, slow: bool) -> None:
    """A reader is slow by the number of its unread messages, or by their age."""
    assert is_slow(unread, age_ms) is slow


def nested(depth: int, *, wide: int = 1) -> str:
    """Return a JSON text of nested arrays and objects."""
    pairs = depth // 2
    return (
        "[" * (depth % 2)
        + '[{"a":' * pairs
        + f"[{'[],' * wide}0]"
        + "}]" * pairs
        + ("]" * (depth % 2))
    )


@pytest.mark.parametrize("depth", [0, 1, DEPTH_MAX - 3, DEPTH_MAX - 2, DEPTH_MAX - 1, DEPTH_MAX])
def test_how_deep_a_payload_is(depth: int) -> None:
    """Only nesting counts, and a text with few brackets need not be parsed."""
    text = nested(depth, wide=600)
    assert may_be_deep(text)
    assert is_too_deep(json.loads(text)) is (depth + 2 > DEPTH_MAX)
    assert not may_be_deep(nested(DEPTH_MAX - 2))
    assert not is_too_deep(1)
    assert is_too_deep((json.loads(nested(DEPTH_MAX - 1)),))


@pytest.mark.parametrize(
    ("text", "is_possible"),
    [
        ('{"a": 0.5, "b": "one"}', False),
        ("1e999", True),
        ("[7E+3]", True),
        ("9" * 308, False),
        ("9" * 309, True),
    ],
)
def test_numbers_that_may_be_infinite(text: str, is_possible: bool) -> None:
    """Only an exponent or very many digits make a number infinite."""
    assert may_be_infinite(text) is is_possible
