"""The server: both generations of the protocol, hostile input, calls at once, cancellations."""

import json
import os
import threading
from typing import Any

import apsw
import pytest

from gitworker.mcp.protocol import CAPABILITIES_KEY, STATELESS, VERSION_KEY, VERSIONS
from gitworker.mcp.rpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
)
from gitworker.mcp.server import AT_ONCE
from gitworker.mcp.tool import Answer, Tool
from tests.mcp.kit import connected
from tests.workers.world import World, wait_until

ENVELOPE = {VERSION_KEY: STATELESS, CAPABILITIES_KEY: {}}


@pytest.mark.parametrize(
    ("wanted", "agreed"),
    [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        (7, "2025-11-25"),
    ],
)
def test_handshake(world: World, wanted: Any, agreed: str) -> None:
    """`initialize` agrees on the client's version, or offers the newest with a handshake."""
    world.spawn("auth", "login")
    with connected(world.path("auth")) as client:
        result = client.ask("initialize", protocolVersion=wanted, capabilities={})["result"]
        client.message(method="notifications/initialized")
        assert client.ask("ping")["result"] == {}
    assert (result["protocolVersion"], result["capabilities"]) == (agreed, {"tools": {}})
    assert result["serverInfo"]["name"] == "gitworker"
    assert "You are auth" in result["instructions"]


def test_stateless_generation(world: World) -> None:
    """A request with an envelope is answered by the rules of 2026-07-28, without a handshake."""
    world.spawn("auth", "login")
    with connected(world.path("auth")) as client:
        found = client.ask("server/discover", _meta=ENVELOPE)["result"]
        assert (found["supportedVersions"], found["resultType"]) == (list(VERSIONS), "complete")
        listed = client.ask("tools/list", _meta=ENVELOPE)["result"]
        assert listed["cacheScope"] == "private"
        called = client.ask("tools/call", _meta=ENVELOPE, name="whoami")["result"]
        assert called["resultType"] == "complete"
        assert called["structuredContent"]["identity"] == "auth"
        other = {**ENVELOPE, VERSION_KEY: "2031-01-01"}
        for method in ("server/discover", "tools/call"):
            error = client.ask(method, _meta=other, name="whoami")["error"]
            assert (error["code"], error["data"]["requested"]) == (-32022, "2031-01-01")
        for meta in ({}, {VERSION_KEY: STATELESS}, {VERSION_KEY: 7, CAPABILITIES_KEY: {}}, []):
            assert client.ask("server/discover", _meta=meta)["error"]["code"] == INVALID_PARAMS


BAD_LINES: dict[bytes, tuple[int, Any]] = {
    b"{\n": (PARSE_ERROR, None),
    b"\xff\xfe\xfd\n": (PARSE_ERROR, None),
    b"[" * 200_000 + b"\n": (PARSE_ERROR, None),
    b"x" * (5 << 20) + b"\n": (INVALID_REQUEST, None),
    b'[{"jsonrpc":"2.0","id":9,"method":"ping"}]\n': (INVALID_REQUEST, None),
    b'{"jsonrpc":"2.0","id":9,"method":"resources/list"}\n': (METHOD_NOT_FOUND, 9),
    b'{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{"cursor":"x"}}\n': (
        INVALID_PARAMS, 9,
    ),
    b'{"jsonrpc":"2.0","id":9,"method":"tools/call"}\n': (INVALID_PARAMS, 9),
    b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"rm"}}\n': (
        INVALID_PARAMS, 9,
    ),
    b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"whoami","arguments":[]}}\n': (
        INVALID_PARAMS, 9,
    ),
}  # fmt: skip


def test_hostile_lines(world: World) -> None:
    """Each bad line gets one error, and the server answers the next request."""
    world.spawn("auth", "login")
    before = world.rows()
    with connected(world.path("auth")) as client:
        for line, (code, id) in BAD_LINES.items():
            client.send(line)
            answer = client.answer()
            assert (answer["error"]["code"], answer["id"]) == (code, id), line[:80]
            assert client.ask("ping")["result"] == {}
        for line in (b"\n", b'{"jsonrpc":"2.0","id":3,"result":{}}\n'):
            client.send(line)  # nothing to answer
        for fields in ({"method": "whatever"}, {"method": "notifications/cancelled"}):
            client.message(**fields)
        client.message(method="notifications/cancelled", params={"requestId": True})
        client.send(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fail"')
    assert world.rows() == before


def test_wrong_arguments_are_a_result(world: World) -> None:
    """A model reads its mistake in the tool's result: unknown, missing and wrong arguments."""
    world.spawn("auth", "login")
    with connected(world.path("auth")) as client:
        for name, arguments in (
            ("whoami", {"worker": "ui"}), ("commit", {"message": "x", "worker": "ui"}),
            ("done", {"as": "ui"}), ("send", {"text": "x", "from": "hq"}), ("fail", {}),
            ("commit", {"message": ""}), ("progress", {"progress": "half"}),
            ("send", {"text": "\ud800"}),
        ):  # fmt: skip
            assert client.fail(name, **arguments)["code"] == "invalid_arguments"
    assert world.states("auth", "login") == ("ASSIGNED", "ASSIGNED")


def test_two_calls_at_once(world: World) -> None:
    """A call that waits keeps no other call, ping or list waiting."""
    world.spawn("auth", "login")
    with connected(world.path("auth")) as client:
        client.call("inbox")
        waiting = client.begin("inbox", wait_s=300)
        assert client.call("progress", progress=0.5)["worker"] == "auth"
        assert client.ask("ping")["result"] == {}
        with connected(world.root) as hq:
            hq.call("send", to="auth", text="look here")
        answer = client.answer()
        assert answer["id"] == waiting
        (item,) = answer["result"]["structuredContent"]["items"]
        assert item["payload"] == {"text": "look here"}
        assert client.call("inbox")["items"] == []


def test_calls_on_the_worktree_run_in_their_order(world: World) -> None:
    """Calls that change the worktree run one after the other, however fast they arrive."""
    world.spawn("auth", "login")
    place = world.path("auth")
    with connected(place) as client:
        (place / "new").write_text("1\n")
        ids = [client.begin("commit", message="Add"), client.begin("commit", message="Again")]
        ids += [client.begin("done"), client.begin("fail", reason="no")]
        answers = [client.answer() for _ in ids]
    assert [answer["id"] for answer in answers] == ids
    assert [answer["result"]["isError"] for answer in answers[:3]] == [False, True, False]
    assert world.git("log", "--format=%s", "main..auth/login") == "Add"


def test_a_cancelled_call_gets_no_answer(world: World) -> None:
    """A cancelled wait ends without an answer, and a cancelled call in the queue never begins."""
    world.spawn("auth", "login")
    with connected(world.path("auth")) as client:
        client.call("inbox")
        waiting = client.begin("inbox", wait_s=300)
        queued = client.begin("inbox")
        for id in (queued, waiting):
            client.message(method="notifications/cancelled", params={"requestId": id})
        wait_until(lambda: not client.server._calls)
        assert client.is_silent
        asking = client.begin("ask", text="Which port?", timeout_s=300)
        wait_until(lambda: bool(world.messages("x-question")))
        client.message(method="notifications/cancelled", params={"requestId": asking})
        assert client.call("whoami")["identity"] == "auth"


def test_the_end_of_input_ends_waits(world: World) -> None:
    """If the client goes away, waits end, and calls that change something are finished."""
    world.spawn("auth", "login")
    place = world.path("auth")
    (place / "new").write_text("1\n")
    with connected(place) as client:
        client.closed = True
        client.begin("inbox", wait_s=3000)
        client.begin("inbox", wait_s=3000)
        client.begin("commit", message="Add")
        wait_until(lambda: "Add" in world.git("log", "--format=%s", "auth/login"))
    assert world.git("status", "--porcelain", cwd=place) == ""


def test_unread_messages_stay_unread(world: World) -> None:
    """Messages are acknowledged only after the client could read them."""
    world.spawn("auth", "login")
    with connected(world.path("auth")) as client:
        client.closed = True
        client.begin("inbox")
        wait_until(lambda: not client.server._calls)
    with connected(world.path("auth")) as client:
        assert [item["kind"] for item in client.call("inbox")["items"]] == ["task_assign"]
        assert client.call("inbox")["items"] == []


def test_ids_and_calls_are_limited(world: World) -> None:
    """A second call with the id of a running one is refused, and so are too many calls."""
    world.spawn("auth", "login")
    with connected(world.path("auth")) as client:
        client.call("inbox")
        wait_until(lambda: not client.server._calls)
        params = {"name": "inbox", "arguments": {"wait_s": 300}}
        for number in range(AT_ONCE):
            client.message(id=f"w{number}", method="tools/call", params=params)
        for id in ("w1", "more"):
            client.message(id=id, method="tools/call", params=params)
            answer = client.answer()
            assert (answer["id"], answer["error"]["code"]) == (id, INVALID_REQUEST)


def test_an_id_may_be_used_again(world: World) -> None:
    """The id of an answered call is free at once, also while its messages are acknowledged."""
    world.spawn("auth", "login")
    with connected(world.path("auth")) as client:
        for name in ("inbox", "inbox", "whoami"):
            client.message(id=1, method="tools/call", params={"name": name})
            answer = client.answer()
            assert answer["result"]["isError"] is False


def test_a_locked_database_is_a_coded_error(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A foreign program that keeps the database locked fails the call, not the server."""
    monkeypatch.setattr("gitworker.store.sqlite.database.BUSY_TIMEOUT_MS", 100)
    world.spawn("auth", "login")
    with connected(world.path("auth")) as client:
        client.call("whoami")
        other = apsw.Connection(f"{world.state_dir}/bus.db")
        other.execute("BEGIN IMMEDIATE")
        assert client.fail("progress", progress=0.1)["code"] == "busy"
        other.execute("ROLLBACK")
        other.close()
        assert client.call("progress", progress=0.2)["progress"] == 0.2


def test_a_bug_is_a_result_and_a_line_of_the_log(world: World) -> None:
    """An unexpected exception in a tool becomes an error without a traceback."""
    world.spawn("auth", "login")
    with connected(world.path("auth")) as client:
        broken = Tool("whoami", lambda desk, arguments: json.loads("{"), "A bug.")
        client.server._toolbox.tools = {"whoami": broken}
        assert client.fail("whoami")["code"] == "internal"
        assert client.ask("ping")["result"] == {}
        odd = Tool("whoami", lambda desk, arguments: Answer("odd", {"set": {1}}), "Another bug.")
        client.server._toolbox.tools = {"whoami": odd}
        assert client.ask("tools/call", name="whoami")["error"]["code"] == INTERNAL_ERROR
    assert len(client.log) == 1
    assert client.log[0].startswith("error: whoami: JSONDecodeError")


def test_no_descriptor_and_no_thread_is_left(world: World) -> None:
    """A served connection leaves no descriptor and no thread behind."""
    world.spawn("auth", "login")
    with connected(world.path("auth")) as client:
        client.call("whoami")

    def held() -> tuple[int, int]:
        return len(os.listdir("/proc/self/fd")), threading.active_count()

    before = held()
    with connected(world.path("auth")) as client:
        for _ in range(3):
            client.call("inbox", wait_s=0.01)
    wait_until(lambda: held() == before)
