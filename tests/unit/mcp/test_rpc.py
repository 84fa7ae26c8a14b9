"""Lines and messages: each bad line is one error, and the next line is read as if it were first."""

import json
import os
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.mcp.rpc import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    Request,
    RpcError,
    encode,
    parse_request,
    read_lines,
)


def lines_of(data: bytes, limit: int = 100) -> list[bytes | None]:
    """Return the lines that a server reads from a pipe with this content."""
    reader, writer = os.pipe()

    def feed() -> None:
        with open(writer, "wb") as file:
            file.write(data)

    thread = threading.Thread(target=feed)
    thread.start()
    try:
        return list(read_lines(reader, limit))
    finally:
        thread.join()
        os.close(reader)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"a\n\nb\n", [b"a", b"", b"b"]),
        (b"a\nin the middle of a mess", [b"a"]),
        (b"x" * 100 + b"\n", [b"x" * 100]),
        (b"x" * 101 + b"\nnext\n", [None, b"next"]),
        (b"x" * 1_000_000 + b"\nnext\n", [None, b"next"]),
        (b"x" * 1_000_000, [None]),
        (b"a\r\n", [b"a\r"]),
    ],
    ids=("nothing", "lines", "cut", "fits", "long", "huge", "huge-cut", "crlf"),
)
def test_lines(data: bytes, expected: list[bytes | None]) -> None:
    """A line above the limit is reported once and skipped, a line without an end is dropped."""
    assert lines_of(data) == expected


BAD: dict[bytes, tuple[int, Any]] = {
    b"{": (PARSE_ERROR, None),
    b"nonsense": (PARSE_ERROR, None),
    b'{"id": 1, "x": NaN}': (PARSE_ERROR, None),
    b"\xff\xfe": (PARSE_ERROR, None),
    b'{"jsonrpc": "2.0", "id": 1, "method": "p\xc3"}': (PARSE_ERROR, None),
    b"[" * 100_000: (PARSE_ERROR, None),
    b'{"id": ' + b"9" * 5000 + b"}": (PARSE_ERROR, None),
    b"[]": (INVALID_REQUEST, None),
    b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]': (INVALID_REQUEST, None),
    b"7": (INVALID_REQUEST, None),
    b"null": (INVALID_REQUEST, None),
    b"{}": (INVALID_REQUEST, None),
    b'{"id": 4, "method": "ping"}': (INVALID_REQUEST, 4),
    b'{"jsonrpc": "1.0", "id": "a", "method": "ping"}': (INVALID_REQUEST, "a"),
    b'{"jsonrpc": "2.0", "id": null, "method": "ping"}': (INVALID_REQUEST, None),
    b'{"jsonrpc": "2.0", "id": true, "method": "ping"}': (INVALID_REQUEST, None),
    b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}': (INVALID_REQUEST, None),
    b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}': (INVALID_REQUEST, None),
    b'{"jsonrpc": "2.0", "id": 5, "method": 7}': (INVALID_REQUEST, 5),
    b'{"jsonrpc": "2.0", "id": 6, "method": "ping", "params": []}': (INVALID_PARAMS, 6),
    b'{"jsonrpc": "2.0", "id": 6, "method": "ping", "params": null}': (INVALID_PARAMS, 6),
}


@pytest.mark.parametrize("line", BAD, ids=lambda line: repr(line)[:60])
def test_bad_messages(line: bytes) -> None:
    """A bad message is one error of the protocol, with the id if that can be read."""
    with pytest.raises(RpcError) as caught:
        parse_request(line)
    assert (caught.value.code, caught.value.id) == BAD[line]
    assert caught.value.to_json()["id"] == BAD[line][1]


def test_good_messages() -> None:
    """Requests, notifications and responses are told apart."""
    request = parse_request(b' {"jsonrpc": "2.0", "id": "x", "method": "m", "params": {"a": 1}}\r')
    assert request is not None
    assert (request.id, request.method, request.params) == ("x", "m", {"a": 1})
    notice = parse_request(b'{"jsonrpc": "2.0", "method": "m"}')
    assert notice is not None
    assert (notice.id, notice.params) == (None, {})
    assert parse_request(b'{"jsonrpc": "2.0", "id": 1, "result": {}}') is None
    assert parse_request(b"  ") is None


@given(st.binary(max_size=200))
def test_any_bytes(line: bytes) -> None:
    """Whatever the bytes, a line is a request, nothing, or an error of the protocol."""
    refusal: RpcError | None = None
    try:
        found = parse_request(line)
    except RpcError as error:
        found, refusal = None, error
    assert found is None or isinstance(found, Request)
    assert refusal is None or encode(refusal.to_json()).endswith(b"\n")


def test_output_is_one_line_of_utf_8() -> None:
    """A message with line feeds and bytes of a file name that is not UTF-8 is one line of UTF-8."""
    line = encode({"text": "a\nb", "name": "map\udce9", "word": "größe"})
    assert line.count(b"\n") == 1
    assert json.loads(line.decode("utf-8")) == {"text": "a\nb", "name": "map?", "word": "größe"}
