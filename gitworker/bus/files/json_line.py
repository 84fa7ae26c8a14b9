"""Messages as lines of JSON. On the hot path: the standard module costs 8 ms to import."""

from __future__ import annotations

from gitworker import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitworker.store.messages.mailbox import StoredMessage

_ESCAPES = {number: f"\\u{number:04x}" for number in range(32)} | {
    ord(sign): f"\\{letter}" for sign, letter in zip("\b\f\n\r\t", "bfnrt", strict=True)
}


def json_value(value: str | int | None) -> str:
    """Return a text, a number or None as JSON."""
    if value is None:
        return "null"
    if not isinstance(value, str):
        return str(value)
    if '"' in value or "\\" in value:
        value = value.replace("\\", "\\\\").replace('"', '\\"')
    if not value.isprintable():
        value = value.translate(_ESCAPES)
    return f'"{value}"'


def log_line(message: StoredMessage) -> str:
    """Return a message as a line of bus.jsonl, without its end."""
    return (
        f'{{"seq":{message.seq},"id":{json_value(message.id)},"ts_ms":{message.ts_ms},'
        f'"from_agent":{json_value(message.from_agent)},"to_agent":{json_value(message.to_agent)},'
        f'"type":{json_value(message.type)},"correlation_id":{json_value(message.correlation_id)},'
        f'"in_reply_to":{json_value(message.in_reply_to)},"payload":{json_value(message.text)},'
        f'"payload_ref":{json_value(message.payload_ref)}}}'
    )


def polled_line(message: StoredMessage, payload: str | None, error: str | None) -> str:
    """Return a message as `msg poll` prints it, with its payload as JSON text."""
    return (
        f'{{"seq":{message.seq},"id":{json_value(message.id)},"ts":"{clock.iso_utc(message.ts_ms)}",'
        f'"from":{json_value(message.from_agent)},"to":{json_value(message.to_agent)},'
        f'"type":{json_value(message.type)},"correlation_id":{json_value(message.correlation_id)},'
        f'"in_reply_to":{json_value(message.in_reply_to)},"payload":{payload or "null"},'
        f'"payload_ref":{json_value(message.payload_ref)},"payload_error":{json_value(error)}}}'
    )
