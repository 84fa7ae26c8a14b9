"""The bus on the command line: send, poll, ack and follow."""

import json
import os
import pty
import select
import signal
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from tests.cli.conftest import Scene
from tests.cli.kit import Answer, has_line, ok, plain, read_lines, run, running, unmeasured


@pytest.fixture
def worktree(scene: Scene) -> Path:
    """The worktree of worker auth with task t1, whose messages so far are read."""
    path = scene.spawn("auth", "t1")
    ok(path, "msg", "poll")
    return path


def test_send_and_poll(scene: Scene, worktree: Path) -> None:
    """A message from a worktree names its worker and task, and every agent reads it once."""
    ok(scene.root, "msg", "poll")
    sent = ok(worktree, "msg", "send", "status", '{"progress": 0.5}')
    answer = run(scene.root, "msg", "poll")
    (message,) = answer.lines
    assert message.pop("seq") > 0
    assert plain(message.pop("ts"), worktree) == "<time>"
    assert message == {
        "id": sent, "from": "auth", "to": None, "type": "status", "correlation_id": "t1",
        "in_reply_to": None, "payload": {"progress": 0.5}, "payload_ref": None,
        "payload_error": None,
    }  # fmt: skip
    assert run(scene.root, "msg", "poll") == Answer(0, "", "")
    document = run(worktree, "msg", "poll", "--no-ack", "--json").document
    assert (document["count"], [one["id"] for one in document["items"]]) == (1, [sent])
    assert run(scene.root, "msg", "poll", "--json").document == {
        "schema": 1, "agent": "hq", "count": 0, "items": [],
    }  # fmt: skip
    assert [m["id"] for m in run(worktree, "msg", "poll").lines] == [sent]


def test_addressing(scene: Scene, worktree: Path) -> None:
    """A task id means its worker, a worker id wins and carries its task, others do not read it."""
    scene.spawn("t1", "t2")  # a worker called like the task
    for name in ("auth", "t1", "t2", "hq"):
        ok(scene.root, "msg", "send", "cmd", "{}", "--to", name, "--id", f"to-{name}")
    ok(worktree, "msg", "send", "cmd", "{}", "--to=t2", "--id=about-t2")

    def unread(worker: str) -> list[tuple[str, str]]:
        lines = run(scene.root, "msg", "poll", "--as", worker).lines
        return [(m["id"], m["correlation_id"]) for m in lines if m["type"] == "cmd"]

    assert unread("auth") == [("to-auth", "t1")]
    assert unread("t1") == [("to-t1", "t2"), ("to-t2", "t2"), ("about-t2", "t2")]
    assert unread("hq") == [("to-hq", None)]
    answer = run(scene.root, "msg", "send", "cmd", "{}", "--to", "unknown")
    assert answer == Answer(
        4, "", "error: no worker and no task is called 'unknown'\nhint: git worker list\n"
    )


def test_retry_sends_once(worktree: Path) -> None:
    """A message sent twice under one id is there once."""
    for _ in range(2):
        assert ok(worktree, "msg", "send", "x-note", "1", "--id", "mine") == "mine"
    assert [m["id"] for m in run(worktree, "msg", "poll").lines] == ["mine"]


def test_reply_and_correlation(worktree: Path) -> None:
    """A message can name the message that it answers and its correlation."""
    ok(worktree, "msg", "send", "x-note", "--correlation", "else", "--reply-to", "mine")
    (message,) = run(worktree, "msg", "poll").lines
    assert (message["correlation_id"], message["in_reply_to"]) == ("else", "mine")
    assert message["payload"] is None


def test_payload_sources(worktree: Path) -> None:
    """A payload is given, read from a file, or from standard input."""
    (worktree / "p.json").write_text('{"from":\n "file"}\n')
    ok(worktree, "msg", "send", "x-note", "@p.json")
    ok(worktree, "msg", "send", "x-note", "-", stdin=b'["stdin"]')
    ok(worktree, "msg", "send", "x-note", '"\u00fc\x7f"')
    payloads = [m["payload"] for m in run(worktree, "msg", "poll").lines]
    assert payloads == [{"from": "file"}, ["stdin"], "\u00fc\x7f"]
    answer = run(worktree, "msg", "send", "x-note", "@nothing")
    assert answer == Answer(
        4, "", "error: cannot read the payload from nothing: No such file or directory\n"
    )


@pytest.mark.parametrize("payload", ["", "{", "{'a': 1}", "nope", "1 2", b"\xff", "[" * 1200])
def test_payload_must_be_json(worktree: Path, payload: str | bytes) -> None:
    """A payload that is not JSON is refused, and nothing is sent."""
    answer = run(worktree, "msg", "send", "x-note", payload)
    assert answer.status == 2, answer
    assert answer.err.startswith("error: the payload is not valid"), answer
    assert run(worktree, "msg", "poll") == Answer(0, "", "")


@pytest.mark.parametrize(
    "kind", ["", "heartbeat", "Status", "9a", "a b", "a.b", "a" * 65, "\x1b[m"]
)
def test_type_must_be_one(worktree: Path, kind: str) -> None:
    """A type that is invalid or reserved is refused."""
    answer = run(worktree, "msg", "send", kind, "{}")
    assert answer.status == 2, answer
    assert "message type" in answer.err or "type heartbeat is reserved" in answer.err
    assert answer.err.replace("\n", "").isprintable()


def test_large_payload(scene: Scene, worktree: Path) -> None:
    """A payload over 4,096 bytes lies in a file named by its content, and is read all the same."""
    ok(worktree, "msg", "send", "x-note", json.dumps("a" * 4094))
    large = json.dumps({"text": "b" * 5000}, indent=1)
    ok(worktree, "msg", "send", "x-note", "-", stdin=large.encode())
    name = "sha256-" + sha256(large.encode()).hexdigest()
    assert [path.name for path in (scene.state / "blobs").iterdir()] == [name]
    small, big = run(worktree, "msg", "poll", "--no-ack").lines
    assert (small["payload_ref"], big["payload_ref"]) == (None, name)
    assert big["payload"] == {"text": "b" * 5000}
    (scene.state / "blobs" / name).write_text("{")
    assert run(worktree, "msg", "poll", "--no-ack").lines[1]["payload_error"] == "decode_failed"
    (scene.state / "blobs" / name).unlink()
    with running(worktree, "msg", "follow", "--since", "0", "--type", "x-note") as follower:
        followed = read_lines(follower, 2)
    for message in (run(worktree, "msg", "poll").lines[1], followed[1]):
        assert message["payload_error"] == "blob_missing"
        assert message["payload"] is None


def test_payload_limit(scene: Scene, worktree: Path) -> None:
    """The limit is a setting, which hot verbs heed once any command has seen it."""
    env = {"GITWORKER_MESSAGE_MAX_BYTES": "10"}
    refused = run(worktree, "msg", "send", "x-note", '"0123456789"', env=env)
    assert refused.status == 2
    assert "(message.max_bytes)" in refused.err
    scene.root.joinpath(".git/config").open("a").write('[worker "message"]\n\tmax-bytes = 9\n')
    ok(worktree, "list")
    assert run(worktree, "msg", "send", "x-note", '"0123456789"').status == 2
    assert run(worktree, "msg", "send", "x-note", "-", stdin=b" " * 100).status == 2


def test_poll_in_parts(worktree: Path) -> None:
    """Poll gives the oldest first, as many as are wanted, and acknowledges just those."""
    for number in range(5):
        ok(worktree, "msg", "send", "x-note", str(number))

    def payloads(*words: str) -> list[int]:
        return [m["payload"] for m in run(worktree, "msg", "poll", *words).lines]

    assert payloads("--limit", "2", "--no-ack") == [0, 1]
    assert payloads("--limit=2") == [0, 1]
    assert payloads() == [2, 3, 4]
    assert run(worktree, "msg", "poll", "--limit", "0").status == 2


def test_ack(worktree: Path) -> None:
    """Ack moves the cursor forward, never back, and not beyond the newest message."""
    ok(worktree, "msg", "send", "x-note", "1")
    ok(worktree, "msg", "send", "x-note", "2")
    first, second = run(worktree, "msg", "poll", "--no-ack").lines
    assert run(worktree, "msg", "ack", str(first["seq"])) == Answer(0, "", "")
    assert [m["payload"] for m in run(worktree, "msg", "poll", "--no-ack").lines] == [2]
    ok(worktree, "msg", "ack", "0")
    assert [m["payload"] for m in run(worktree, "msg", "poll", "--no-ack").lines] == [2]
    beyond = run(worktree, "msg", "ack", str(second["seq"] + 1))
    assert beyond.status == 2
    assert f"the newest is {second['seq']}" in beyond.err


def test_poll_acknowledges_only_written_messages(worktree: Path) -> None:
    """If the reader has ended, or the disk is full, all messages come again."""
    ok(worktree, "msg", "send", "x-note", "1")
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        ["git-worker", "msg", "poll"], cwd=worktree, stdout=write_end, stderr=subprocess.PIPE,
        check=False,
    )  # fmt: skip
    os.close(write_end)
    assert (done.returncode, done.stderr) == (141, b"")
    if os.path.exists("/dev/full"):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                ["git-worker", "msg", "poll"], cwd=worktree, stdout=full, stderr=subprocess.PIPE,
                check=False,
            )  # fmt: skip
        assert done.returncode == 1
        assert b"cannot write to standard output" in done.stderr
    assert [m["payload"] for m in run(worktree, "msg", "poll").lines] == [1]


def test_sending_is_exported(scene: Scene, worktree: Path) -> None:
    """A message is in bus.jsonl when send returns."""
    sent = ok(worktree, "msg", "send", "status", "{}")
    last = (scene.state / "bus.jsonl").read_text().splitlines()[-1]
    assert json.loads(last)["id"] == sent


def test_send_sets_up(repository: Path) -> None:
    """The first message sets gitworker up."""
    sent = ok(repository, "msg", "send", "x-hello")
    assert [m["id"] for m in run(repository, "msg", "poll").lines] == [sent]


def test_follow(scene: Scene, worktree: Path) -> None:
    """Follow prints new messages that pass its filters, and ends with 130 on an interrupt."""
    ok(worktree, "msg", "send", "status", '{"phase": "before"}')
    words = ("msg", "follow", "--type", "status", "--from", "auth", "--task", "t1")
    with running(scene.root, *words, env=unmeasured()) as follower:
        sent = []
        while not has_line(follower):  # it has begun when one shows
            ok(scene.root, "msg", "send", "status", '{"phase": "hq"}', "--correlation", "t1")
            ok(worktree, "msg", "send", "x-other")
            ok(worktree, "msg", "send", "status", "--correlation", "t9")
            sent.append(ok(worktree, "msg", "send", "status", '{"phase": "now"}'))
        (first,) = read_lines(follower, 1)
        assert first["id"] in sent
        assert first["payload"] == {"phase": "now"}
        follower.send_signal(signal.SIGINT)
        assert follower.wait(30) == 130
    assert sent[-1] in [m["id"] for m in run(worktree, "msg", "poll").lines]  # no cursor has moved


def test_follow_since(worktree: Path) -> None:
    """`follow --since` begins with past messages, in the format of poll."""
    sent = ok(worktree, "msg", "send", "status", '{"a": [1, null]}')
    (polled,) = run(worktree, "msg", "poll", "--no-ack").lines
    with running(worktree, "msg", "follow", "--since", str(polled["seq"] - 1)) as follower:
        (followed,) = read_lines(follower, 1)
    assert followed == polled
    assert followed["id"] == sent


def test_follow_ends_with_the_state_directory(scene: Scene, worktree: Path) -> None:
    """Follow ends with status 0 when the state directory is removed."""
    with running(worktree, "msg", "follow", "--since", "0") as follower:
        read_lines(follower, 1)
        scene.state.rename(scene.root / "away")
        _, err = follower.communicate(timeout=30)
    assert follower.returncode == 0
    assert err == b"the state directory was deleted\n"


def test_follow_ends_with_its_reader(worktree: Path) -> None:
    """Follow ends without a message once its output has no reader, even if nothing comes."""
    read_end, write_end = os.pipe()
    with running(worktree, "msg", "follow", stdout=write_end) as follower:
        os.close(write_end)
        os.close(read_end)
        assert follower.wait(30) == 141
        assert follower.stderr is not None
        assert follower.stderr.read() == b""


@pytest.mark.parametrize("words", [("msg", "poll", "--no-ack"), ("msg", "follow", "--since", "0")])
def test_terminals_are_safe(worktree: Path, words: tuple[str, ...]) -> None:
    """No control character of a message reaches a terminal."""
    evil = json.dumps("\x1b]0;evil\x07\x9b31m\u202e", ensure_ascii=False)
    ok(worktree, "msg", "send", "x-note", evil)
    ours, theirs = pty.openpty()
    with running(worktree, *words, stdout=theirs, env=unmeasured()) as process:
        os.close(theirs)
        text = ""
        while "evil" not in text or not text.endswith("\n"):
            assert select.select([ours], [], [], 30)[0], text
            text += os.read(ours, 65536).decode()
        process.send_signal(signal.SIGINT)
    os.close(ours)
    assert text.replace("\r\n", "").isprintable(), text
    assert "\\u001b]0;evil\\u0007\\u009b31m\\u202e" in text
