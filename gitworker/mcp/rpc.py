"""JSON-RPC 2.0 over lines: bytes in, requests out, and the errors of the protocol.

Nothing that a client sends may end the server: each bad line becomes one error, and a line that is
too long is skipped while it arrives.
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False  # `typing` costs 2 ms and 1 MB for as long as the server runs
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

LINE_MAX_BYTES = 4 << 20
CHUNK_BYTES = 1 << 16
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603


class RpcError(Exception):
    """An error of the protocol; `id` is that of the request, None if it is not known."""

    def __init__(self, code: int, message: str, *, id: str | int | None = None, data: Any = None):
        super().__init__(message)
        self.code = code
        self.message = message
        self.id = id
        self.data = data

    def to_json(self) -> dict[str, Any]:
        """Return the error as a response."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return {"jsonrpc": "2.0", "id": self.id, "error": error}


class Request:
    """A request, or a notification if `id` is None; `params` may be empty."""

    __slots__ = ("id", "method", "params")

    def __init__(self, method: str, params: dict[str, Any], id: str | int | None) -> None:
        self.method = method
        self.params = params
        self.id = id


def read_lines(fd: int, limit: int = LINE_MAX_BYTES) -> Iterator[bytes | None]:
    """Yield each line from a descriptor until its end; None for a line longer than `limit`.

    A last line without a line feed is dropped: its sender died in the middle of it.
    """
    buffer = bytearray()
    searched, is_skipping = 0, False
    while chunk := os.read(fd, CHUNK_BYTES):
        buffer += chunk
        while (end := buffer.find(b"\n", searched)) >= 0:
            if not is_skipping:
                yield None if end > limit else bytes(buffer[:end])
            is_skipping = False
            del buffer[: end + 1]
            searched = 0
        searched = len(buffer)
        if searched > limit or is_skipping:
            if not is_skipping:
                yield None
            is_skipping, searched = True, 0
            buffer.clear()


def parse_request(line: bytes) -> Request | None:
    """Return the request or notification of a line; None for a response and for an empty line.

    Raises RpcError for anything else: bytes that are not UTF-8, bad JSON, a batch, wrong types.
    """
    if not line.strip():
        return None
    try:
        message = json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise RpcError(PARSE_ERROR, f"the message is not JSON: {str(error)[:200]}") from None
    if isinstance(message, list):
        raise RpcError(INVALID_REQUEST, "batches are not supported: send one message a line")
    if not isinstance(message, dict):
        raise RpcError(INVALID_REQUEST, "the message is not an object")
    id = message.get("id")
    known = id if is_id(id) else None
    if "method" not in message and ("result" in message or "error" in message):
        return None
    if message.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, 'the message has no "jsonrpc": "2.0"', id=known)
    if "id" in message and known is None:
        raise RpcError(INVALID_REQUEST, "the id is neither a text nor an integer")
    method, params = message.get("method"), message.get("params", {})
    if not isinstance(method, str):
        raise RpcError(INVALID_REQUEST, "the method is not a text", id=known)
    if not isinstance(params, dict):
        raise RpcError(INVALID_PARAMS, "the parameters are not an object", id=known)
    return Request(method, params, known)


def encode(message: dict[str, Any]) -> bytes:
    """Return a message as one line; text that UTF-8 cannot express loses those characters."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace") + b"\n"


def is_id(id: Any) -> bool:
    """Return whether a value can be the id of a request."""
    return isinstance(id, str | int) and not isinstance(id, bool)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
