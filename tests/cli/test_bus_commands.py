"""The bus on the command line: waits, requests, displays, and the handling of bad input."""

import json
import os
import subprocess
import threading
from pathlib import Path

import pytest

from tests.cli.conftest import Scene
from tests.cli.kit import Answer, ok, read_lines, run, running
from tests.store.support import foreign, participant


@pytest.fixture
def worktree(scene: Scene) -> Path:
    """The worktree of worker auth with task t1, whose messages so far are read."""
    path = scene.spawn("auth", "t1")
    ok(path, "msg", "poll")
    return path


def test_poll_waits(scene: Scene, worktree: Path) -> None:
    """`poll --wait` prints a new message, or nothing at the timeout; fractions are accepted."""
    assert run(worktree, "msg", "poll", "--wait", "0.1") == Answer(0, "", "")
    assert run(worktree, "msg", "poll", "--wait=0") == Answer(0, "", "")
    with running(worktree, "msg", "poll", "--wait", "60") as waiting:
        sent = ok(scene.root, "msg", "send", "x-note", "--to", "auth")
        assert [m["id"] for m in read_lines(waiting, 1)] == [sent]
        assert waiting.wait(30) == 0
    assert run(worktree, "msg", "poll", "--wait", "-1").status == 2
    assert run(worktree, "msg", "poll", "--wait", "x").status == 2


def test_a_waiting_poll_ends_with_its_reader(worktree: Path) -> None:
    """A waiting poll ends once its output has no reader."""
    read_end, write_end = os.pipe()
    with running(worktree, "msg", "poll", "--wait", "600", stdout=write_end) as waiting:
        os.close(write_end)
        os.close(read_end)
        assert waiting.wait(30) == 141


def test_request(scene: Scene, worktree: Path) -> None:
    """A request prints the answer that a worker gives by --reply-to, as one line of JSON."""

    def answer() -> None:
        (asked,) = run(worktree, "msg", "poll", "--wait", "60").lines
        words = ("--to", asked["from"], "--reply-to", asked["id"])
        ok(worktree, "msg", "send", "x-answer", '{"fine": true}', *words)

    worker = threading.Thread(target=answer)
    worker.start()
    done = run(scene.root, "msg", "request", "x-ask", '{"n": 1}', "--to", "t1", "--id", "q")
    worker.join()
    (reply,) = done.lines
    assert (reply["type"], reply["from"], reply["payload"]) == ("x-answer", "auth", {"fine": True})
    assert reply["in_reply_to"] == "q"
    again = run(scene.root, "msg", "request", "x-ask", "--to", "t1", "--id", "q", "--json")
    assert again.document == {"schema": 1, **reply}


def test_a_request_without_an_answer(scene: Scene, worktree: Path) -> None:
    """A request without an answer ends as a conflict that names the command to keep waiting."""
    words = ("msg", "request", "x-ask", "--to", "auth", "--timeout", "0.1", "--id", "q")
    answer = run(scene.root, *words)
    assert answer == Answer(
        3, "", "error: auth did not answer within 0.1 s\n"
        "hint: git worker msg request x-ask --to auth --id q --timeout 600"
        "   # waits, sends nothing\n",
    )  # fmt: skip
    document = run(scene.root, *words, "--json").document
    assert document["error"]["code"] == "timeout"
    assert [m["id"] for m in run(worktree, "msg", "poll").lines] == ["q"]
    assert run(scene.root, "msg", "request", "x-ask").status == 2
    assert run(scene.root, "msg", "request", "x-ask", "--to", "unknown").status == 4


def test_show(scene: Scene, worktree: Path) -> None:
    """A message is shown by its position or by its id, whatever its recipient."""
    sent = ok(scene.root, "msg", "send", "x-note", '{"a": "\\u001b[31m"}', "--to", "auth")
    (message,) = run(worktree, "msg", "poll").lines
    for name in (sent, str(message["seq"])):
        assert run(scene.root, "msg", "show", name, "--json").document == {"schema": 1, **message}
        assert json.loads(run(scene.root, "msg", "show", name).out) == message
    assert "\x1b" not in run(scene.root, "msg", "show", sent).out
    for name in ("999", "9" * 30, "nothing", b"\xff"):
        answer = run(scene.root, "msg", "show", name)
        assert answer.status == 4
        assert answer.err.startswith("error: there is no message ")
        assert answer.err.endswith("hint: git worker log\n")


def test_stats(scene: Scene, worktree: Path) -> None:
    """The stats count all messages and the unread ones of each agent, and name dead agents."""
    old = "INSERT INTO messages (id, ts_ms, from_agent, to_agent, type)"
    foreign(scene.state / "bus.db", f"{old} VALUES ('old', 1, 'n', 'auth', 't')")
    ok(scene.root, "msg", "send", "x-note", "--to", "auth")
    participant(scene.state, "beat", "nim", "idle", "")
    insert = (
        "INSERT INTO dead_letters (agent_id, seq, message_id, ts_ms, from_agent, type, attempts,"
        " error, dead_at_ms) VALUES ('auth', 1, 'm', 1, 'hq', 'x-job', 5, 'No: \x1b[31m', 1)"
    )
    foreign(scene.state / "bus.db", insert)
    document = run(scene.root, "msg", "stats", "--json").document
    readings = {one["agent"]: one for one in document["readings"]}
    assert (readings["auth"]["unread"], readings["auth"]["dead_letters"]) == (2, 1)
    assert readings["auth"]["is_slow"]  # it reads, but not the message that waits since 1970
    assert (readings["nim"]["cursor"], readings["nim"]["is_slow"]) == (0, False)
    assert readings["nim"]["unread"] == document["messages"] - 3  # three are to auth
    assert document["database_bytes"] > 0
    assert document["dead_letters"][0]["error"] == "No: \x1b[31m"
    text = run(scene.root, "msg", "stats").out
    assert f"{document['messages']} messages, the oldest " in text
    assert "1 x-job from hq: auth failed 5 times" in text
    assert "slow" in next(line for line in text.splitlines() if line.startswith("auth "))
    assert "\x1b" not in text


def test_follow_hears_a_commit(scene: Scene, worktree: Path) -> None:
    """A follower publishes a commit as soon as a hook has recorded it."""
    with running(
        scene.root, "msg", "follow", "--since", "0", "--type", "task_progress"
    ) as follower:
        scene.commit(worktree, "new.txt")
        (message,) = read_lines(follower, 1)
    assert (message["from"], message["payload"]["subject"]) == ("auth", "Write new.txt")


@pytest.mark.slow
def test_follow_during_a_long_write(scene: Scene, worktree: Path) -> None:
    """A program that keeps the database locked stops writers for five seconds, and no reader."""
    locker = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
    locker += "c.execute('BEGIN EXCLUSIVE'); print('locked', flush=True); sys.stdin.read()"
    process = subprocess.Popen(
        ["python3", "-c", locker, str(scene.state / "bus.db")], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == b"locked\n"
    with running(scene.root, "msg", "follow", "--since", "0") as follower:
        assert read_lines(follower, 1)[0]["type"] == "state_change"
        refused = run(worktree, "msg", "send", "x-note")
        assert (refused.status, refused.out) == (3, "")
        assert refused.err == "error: the database is busy\nhint: run the command again\n"
        process.communicate(b"")
        sent = ok(worktree, "msg", "send", "x-note")
        while read_lines(follower, 1)[0]["id"] != sent:
            pass


BAD: list[tuple[tuple[str | bytes, ...], int, str]] = [
    (("x-note", "{"), 2, "the payload is not valid JSON: '{'"),
    (("x-note", "NaN"), 2, "the payload is not valid JSON: 'NaN'"),
    (("x-note", "[Infinity]"), 2, "the payload is not valid JSON"),
    (("x-note", b'"\xed\xa0\x80"'), 2, "the payload is not valid UTF-8"),
    (("x-note", '{"a": "\x01"}'), 2, "the payload is not valid JSON"),
    (("state_chang", "{}"), 2, "there is no message type state_chang"),
    (("status", '"half"'), 2, "the payload of status must be a JSON object, not text"),
    (("status", '{"progress": "half"}'), 2, "progress in the payload of status must be a"),
    (("cmd", '{"action": 1}'), 2, "action in the payload of cmd must be a string, not integer"),
    (("x-note", "{}", "--to", "unknown"), 4, "no worker and no task is called 'unknown'"),
    (("x-note", "{}", "--to", b"\xff"), 4, "no worker and no task is called '\\udcff'"),
    (("x-note", "{}", "--to", ""), 4, "no worker and no task is called ''"),
    (("x-note", "@missing"), 4, "cannot read the payload from missing"),
    (("x-note", "@."), 4, "cannot read the payload from .: Is a directory"),
    (("x-note", "{}", "--id", b"\xff"), 2, "id must be 1 to 200 printable characters"),
    (("x-note", "{}", "--correlation", "a\tb"), 2, "correlation-id must be 1 to 200"),
]


def test_bad_input(worktree: Path) -> None:
    """An invalid message is refused with one sentence, and nothing is sent."""
    for words, status, complaint in BAD:
        answer = run(worktree, "msg", "send", *words)
        assert answer.status == status, answer
        assert answer.err.startswith(f"error: {complaint}"), answer
        assert answer.err.count("error:") == 1
    assert run(worktree, "msg", "poll") == Answer(0, "", "")


def test_fifty_megabytes_are_refused(worktree: Path, tmp_path: Path) -> None:
    """A payload far over the limit is refused, from wherever it comes, before it fills memory."""
    file = tmp_path / "large.json"
    with open(file, "wb") as large:
        large.write(b"[")
        large.truncate(50_000_000)
    for words, stdin in ((f"@{file}", b""), ("-", file.read_bytes())):
        answer = run(worktree, "msg", "send", "x-note", words, stdin=stdin)
        assert answer.status == 2
        assert "has more than 16777216 bytes (message.max_bytes)" in answer.err
    assert run(worktree, "msg", "poll") == Answer(0, "", "")


@pytest.mark.parametrize("words", [("follow", "--since"), ("ack",), ("poll", "--limit")])
def test_numbers_beyond_all_bounds(worktree: Path, words: tuple[str, ...]) -> None:
    """A number that no database could hold is a misuse, and no bug."""
    answer = run(worktree, "msg", *words, "9" * 30)
    assert answer.status == 2
    assert answer.err.startswith("error: ")
