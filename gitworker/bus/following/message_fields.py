"""One message with its large payload, as the bus protocol writes it. On the hot path."""

from __future__ import annotations

import math

from gitworker import clock
from gitworker.bus.blobs import find_blob
from gitworker.bus.rules_message import is_too_deep, may_be_deep

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from typing import Any

    from gitworker.store.messages.mailbox import StoredMessage

BLANKS = " \t\n\r"  # JSON's white space


def message_fields(message: StoredMessage, *, blobs: str) -> dict[str, Any]:
    """Return a message as a dict with the bus protocol's keys, with its large payload."""
    text, error = message.payload, None
    if message.payload_ref is not None:
        text = find_blob(blobs, message.payload_ref)
        error = "blob_missing" if text is None else None
    payload = None
    if text is not None:
        try:
            payload = read_json(text)
        except (ValueError, RecursionError):
            error = "decode_failed"
    return {
        "seq": message.seq,
        "id": message.id,
        "ts": clock.iso_utc(message.ts_ms),
        "from": message.from_agent,
        "to": message.to_agent,
        "type": message.type,
        "correlation_id": message.correlation_id,
        "in_reply_to": message.in_reply_to,
        "payload": payload,
        "payload_ref": message.payload_ref,
        "payload_error": error,
    }


def read_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; raise ValueError for NaN, infinities and invalid JSON.

    Python's parser accepts NaN and 1e999, which other programs cannot read back from us. Deep
    nesting is refused too: Python can read deeper values than it can write.
    """
    text = text.decode() if isinstance(text, bytes) else text
    value = _decode(text)
    if may_be_deep(text) and is_too_deep(value):
        raise ValueError("the JSON text is nested too deep")
    return value


def _decode(text: str) -> Any:
    """Return the value of a JSON text with the parser of `json.loads`; raise ValueError.

    The module `json` compiles regular expressions, which an agent's hook would pay with 8 ms.
    """
    text = text.strip(BLANKS)
    try:
        value, end = _SCAN(text, 0)
    except StopIteration:
        raise ValueError("the text holds no JSON value") from None
    if end != len(text):
        raise ValueError("there is more text behind the JSON value")
    return value


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse(text)


class _Parsing:
    """The settings that the parser reads."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = _finite
    parse_int = int
    parse_constant = _refuse


def _scanner() -> Any:
    settings: Any = _Parsing
    try:
        from _json import make_scanner

        return make_scanner(settings)
    except (ImportError, AttributeError):  # an interpreter with another parser below `json`
        import json

        decoder: Any = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
        return decoder.scan_once


_SCAN = _scanner()
