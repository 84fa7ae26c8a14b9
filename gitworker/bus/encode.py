"""Encode Python values as JSON payloads that every other program can read."""

import json
import math
from typing import Any

from gitworker.bus.rules_message import (
    DEPTH_MAX,
    KEYS,
    check_payload,
    is_too_deep,
    kind_of,
    may_be_deep,
)
from gitworker.errors import Invalid

_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def encode_payload(type: str, payload: Any, *, max_bytes: int) -> tuple[str, bytes]:
    """Return a payload as JSON text and its bytes.

    Raises Invalid for NaN, infinities, lone surrogates and other values that JSON cannot hold, for
    a payload that does not fit the type, is nested too deep, or has more than `max_bytes`.
    """
    if type in KEYS:
        keys = payload if isinstance(payload, dict) else {}
        kinds = {key: kind_of(keys[key]) for key in KEYS[type] if key in keys}
        check_payload(type, kind_of(payload), kinds, keys)
    try:
        text = _ENCODE(payload)
        raw = text.encode()
    except UnicodeEncodeError:
        raise Invalid("the payload is not valid UTF-8: it has a lone surrogate") from None
    except (ValueError, TypeError, RecursionError) as error:
        raise Invalid(f"the payload cannot be written as JSON: {error}") from None
    if may_be_deep(text) and is_too_deep(payload):
        raise too_deep()
    if len(raw) > max_bytes:
        raise Invalid(
            f"the payload has {len(raw)} bytes; {max_bytes} are allowed (message.max_bytes)",
            "put it into a file in the worktree and send its path",
        )
    return text, raw


def require_readable(text: str) -> None:
    """Raise Invalid for a JSON text that is nested too deep, or has an infinite number."""
    try:
        is_deep = is_too_deep(json.loads(text, parse_float=_finite))
    except RecursionError:
        is_deep = True
    except ValueError:  # such as a number of 5,000 digits, which its readers may refuse
        is_deep = False
    if is_deep:
        raise too_deep()


def _finite(text: str) -> float:
    """Return the number; raise Invalid for one that programs read as infinity."""
    number = float(text)
    if not math.isfinite(number):
        raise Invalid(f"the payload has a number beyond the range of a double: {text[:60]}")
    return number


def too_deep() -> Invalid:
    """Return the error for a payload that is nested too deep."""
    return Invalid(
        f"the payload is nested more than {DEPTH_MAX} deep",
        "put it into a file in the worktree and send its path",
    )
