"""Rules for messages: valid types and payloads, retries of a handler, slow readers. Pure.

On the hot path. JSON types have SQLite's names (`json_type`): SQLite reports them if no JSON module
is loaded, else `kind_of` does.
"""

from __future__ import annotations

from gitworker.errors import Invalid, Refused
from gitworker.model.message import ORDERS, PRIVATE, PUBLIC_TYPES, MessageType

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

TYPE_MAX = 64
DEPTH_MAX = 500  # of nested arrays and objects; JSON readers give up near a thousand
FINITE_DIGITS = 308  # a number with no more digits and no exponent is never infinite
SAME_DIGITS = str.maketrans("123456789E", "000000000e")
FIRST = frozenset("abcdefghijklmnopqrstuvwxyz")
TYPE_CHARS = FIRST | frozenset("0123456789_-")
NESTING = (dict, list, tuple)
ORDER = "git worker stop <worker>   # or: pause, continue"
EXAMPLE = "git worker msg send status '{\"progress\": 0.5}'"
TEXT = ("text", "null")
NUMBER = ("integer", "real", "null")
# Checked leniently: every key may be absent or null, further keys are free, `action` is an alias of
# `command`.
KEYS: dict[str, dict[str, tuple[str, ...]]] = {
    MessageType.STATUS: {"phase": TEXT, "progress": NUMBER},
    MessageType.LOG: {"level": TEXT, "message": TEXT},
    MessageType.SIGNAL: {"signal": TEXT},
    MessageType.CMD: {"command": TEXT, "action": TEXT, "reason": TEXT},
}
# The words that some keys may contain.
WORDS: dict[str, dict[str, tuple[str, ...]]] = {
    MessageType.LOG: {"level": ("debug", "info", "warn", "error")},
    MessageType.SIGNAL: {"signal": ("start", "done", "ready", "blocked", "failed", "stop")},
    MessageType.CMD: {"command": ORDERS, "action": ORDERS},
}
ATTEMPTS = 5  # of a handler with one message, before it becomes a dead letter
BACKOFF_FIRST_MS = 500
BACKOFF_LAST_MS = 60_000
SLOW_UNREAD = 1000
SLOW_AGE_MS = 5 * 60_000  # the age at which an agent's heartbeat counts as dead


def check_type(text: str) -> None:
    """Raise Invalid for a type that is neither a public one nor private (`x-…`).

    A type is `[a-z][a-z0-9_-]*`, 64 characters at most; `heartbeat` is reserved.
    """
    if text in PUBLIC_TYPES and text != MessageType.HEARTBEAT:
        return
    if not text or text[0] not in FIRST or not TYPE_CHARS.issuperset(text):
        raise Invalid(
            f"{ascii(text)[:80]} is not a message type: lower-case letters, digits, '_' and '-'"
            " are allowed, and it must begin with a letter",
            EXAMPLE,
        )
    if len(text) > TYPE_MAX:
        raise Invalid(f"the message type has {len(text)} characters; {TYPE_MAX} are allowed")
    if text == MessageType.HEARTBEAT:
        raise Invalid(
            "the type heartbeat is reserved: heartbeats are stored in their own table",
            "git worker heartbeat",
        )
    if not text.startswith(PRIVATE) or text == PRIVATE:
        raise Invalid(
            f"there is no message type {text}: private types begin with {PRIVATE!r}",
            f"git worker msg send {PRIVATE}{text.removeprefix(PRIVATE) or 'note'}"
            f"   # or one of: {', '.join(sorted(PUBLIC_TYPES - {MessageType.HEARTBEAT}))}",
        )


def check_addressee(type: str, to: str | None) -> None:
    """Raise Invalid for a `cmd` to all agents: no supervisor carries it out."""
    if type == MessageType.CMD and to is None:
        raise Invalid("a cmd needs an addressee", ORDER)


def check_verdict(type: str, *, is_own_work: bool) -> None:
    """Raise Refused for a verdict that a worker sends on its own work; only commands record one."""
    if type == MessageType.REVIEW_RESULT and is_own_work:
        raise Refused(
            "a worker cannot send a verdict on its own work",
            "git worker wait --for verdict",
            code="not_allowed",
        )


def check_payload(
    type: str,
    kind: str | None,
    kinds: Mapping[str, str | None],
    values: Mapping[str, object],
) -> None:
    """Raise Invalid if the payload does not fit the message type.

    `kind` is the JSON type of the payload (None if there is no payload), `kinds` the types of its
    keys, `values` the values of the keys in WORDS.
    """
    keys = KEYS.get(type)
    if keys is None or kind in (None, "null"):
        return
    if kind != "object":
        raise Invalid(f"the payload of {type} must be a JSON object, not {kind}", EXAMPLE)
    for key, allowed in keys.items():
        found = kinds.get(key)
        if found is not None and found not in allowed:
            raise Invalid(
                f"{key} in the payload of {type} must be {_shown(allowed)}, not {found}", EXAMPLE
            )
    for key, words in WORDS.get(type, {}).items():
        word = values.get(key)
        if word is not None and word not in words:
            raise Invalid(
                f"{key} in the payload of {type} must be one of {', '.join(words)}, not"
                f" {ascii(word)[:80]}",
                ORDER
                if type == MessageType.CMD
                else f'git worker msg send {type} \'{{"{key}": "{words[0]}"}}\'',
            )


def may_be_deep(text: str) -> bool:
    """Return whether a JSON text has enough brackets to be too deep."""
    return text.count("[") + text.count("{") > DEPTH_MAX


def may_be_infinite(text: str) -> bool:
    """Return whether a JSON text may have a number beyond the range of a double."""
    text = text.translate(SAME_DIGITS)
    return "0e" in text or "0" * (FINITE_DIGITS + 1) in text


def is_too_deep(value: Any) -> bool:
    """Return whether arrays and objects are nested more than DEPTH_MAX deep."""
    level = [value] if isinstance(value, NESTING) else []
    for _ in range(DEPTH_MAX):
        level = [inner for one in level for inner in _inside(one) if isinstance(inner, NESTING)]
        if not level:
            return False
    return True


def kind_of(value: object) -> str | None:
    """Return SQLite's json_type name for a Python value, or None for an unknown type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    for kinds, name in KINDS:
        if isinstance(value, kinds):
            return name
    return None


def backoff_ms(attempts: int) -> int:
    """Return the pause after a number of failed attempts; it doubles up to a minute."""
    return min(BACKOFF_FIRST_MS << min(attempts - 1, 16), BACKOFF_LAST_MS)


KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (str, "text"),
    (int, "integer"),
    (float, "real"),
    (dict, "object"),
    ((list, tuple), "array"),
)


def _inside(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _shown(allowed: tuple[str, ...]) -> str:
    return "a number" if allowed is NUMBER else "a string"


def is_slow(unread: int, oldest_age_ms: int | None) -> bool:
    """Return whether a reader is behind, judged by the number and age of its unread messages.

    `oldest_age_ms` is the age of the oldest one.
    """
    return unread >= SLOW_UNREAD or (oldest_age_ms is not None and oldest_age_ms >= SLOW_AGE_MS)
