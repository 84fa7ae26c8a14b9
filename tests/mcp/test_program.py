"""The program: only answers reach standard output, and its end is that of its input."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.kit import ok, unmeasured
from tests.workers.world import World

CALLS = (
    {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
    {"id": 2, "method": "tools/call", "params": {"name": "commit", "arguments": {"message": "A"}}},
    {"id": 3, "method": "tools/call", "params": {"name": "done", "arguments": {"wrong": "A"}}},
)


def serve(directory: Path, given: bytes, *words: str) -> "subprocess.CompletedProcess[bytes]":
    """Run the program to its end with this input."""
    return subprocess.run(
        ["git", "worker", "mcp", *words], cwd=directory, input=given, check=False, timeout=60,
        capture_output=True,
    )  # fmt: skip


def test_hooks_neither_read_requests_nor_write_answers(world: World) -> None:
    """A hook of the user's that reads standard input and prints cannot disturb the protocol."""
    hook = world.root / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ncat\necho printed\necho printed >&2\n")
    hook.chmod(0o755)
    world.spawn("auth", "login")
    (world.path("auth") / "new").write_text("1\n")
    given = b"".join(json.dumps({"jsonrpc": "2.0", **one}).encode() + b"\n" for one in CALLS)
    done = serve(world.path("auth"), given + b'{"jsonrpc": "2.0", "id": 4, "method": "pi')
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [1, 2, 3], "a call in the queue is answered, too"
    assert [answer["result"]["isError"] for answer in answers[1:]] == [False, True], answers
    assert done.returncode == 0
    assert world.git("log", "--format=%s", "main..auth/login") == "A"


def test_a_server_stays_small(world: World) -> None:
    """Calls run in processes of their own: for the same caller, and nothing of them stays."""
    world.spawn("auth", "login")
    ok(world.root, "send", "auth", "Use tabs")
    (world.path("auth") / "new").write_text("1\n")
    process = subprocess.Popen(
        ["git-worker", "mcp"], cwd=world.path("auth"), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, env=unmeasured(),  # coverage needs 10 MB of its own
    )  # fmt: skip
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None
    assert stdout is not None

    def call(name: str, **arguments: object) -> Any:
        params = {"name": name, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        stdin.write(json.dumps(message).encode() + b"\n")
        stdin.flush()
        return json.loads(stdout.readline())["result"]

    with process:
        assert call("whoami")["structuredContent"]["next"] == "the tool progress"
        assert "next: the tool progress" in call("whoami")["content"][0]["text"]
        assert "Use tabs" in str(call("inbox"))
        assert call("inbox")["structuredContent"]["items"] == []
        call("progress", progress=0.5)
        assert world.worker("auth").pid == os.getpid()
        assert call("commit", message="Add it", paths=7)["isError"] is True
        call("commit", message="Add it")
        assert call("done")["isError"] is False
        assert call("inbox", wait_s=0.1)["isError"] is False
        status = Path(f"/proc/{process.pid}/status").read_text()
        (resident,) = (line for line in status.splitlines() if line.startswith("VmRSS:"))
        stdin.close()
    assert int(resident.split()[1]) < 16 * 1024
    assert process.returncode == 0
    assert world.worker("auth").state.value == "IN_REVIEW"


@pytest.mark.parametrize("cancels", [True, False])
def test_end_of_a_wait(world: World, cancels: bool) -> None:
    """A wait ends by a cancellation or with the server's input, without an answer."""
    world.spawn("auth", "login")
    ok(world.path("auth"), "msg", "poll")  # its assignment
    wait = {"name": "inbox", "arguments": {"wait_s": 300}}
    messages: list[dict[str, object]] = [
        {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": wait}
    ]
    if cancels:
        params = {"requestId": 7}
        messages.append({"method": "notifications/cancelled", "params": params, "jsonrpc": "2.0"})
    given = b"".join(json.dumps(one).encode() + b"\n" for one in messages)
    done = serve(world.path("auth"), given)
    assert (done.returncode, done.stdout) == (0, b"")


def test_outside_a_repository(tmp_path: Path) -> None:
    """Outside a repository it fails with one line on standard error."""
    done = serve(tmp_path, b"")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"is not inside a git repository" in done.stderr


def test_a_directory_that_does_not_exist(tmp_path: Path) -> None:
    """A server in a deleted directory ends with the error of every other command."""
    script = "mkdir x && cd x && rmdir ../x && exec git-worker mcp </dev/null"
    done = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, check=False, capture_output=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == (b"error: the current directory no longer exists\nhint: cd <directory>\n")
