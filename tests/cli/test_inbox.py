"""The inbox, waiting for a worker, and commands to its agent."""

import json
import os
import re
import signal
from pathlib import Path

import pytest

from tests.cli.conftest import Scene
from tests.cli.kit import DEADLINE_S, Answer, ok, read_line, run, running, wait_until
from tests.conftest import git
from tests.hints.following import note


def kinds(cwd: Path, *words: str) -> list[tuple[str, str]]:
    """Return kind and source of everything in an inbox."""
    found = run(cwd, "inbox", "--json", *words).document
    assert found["count"] == len(found["items"])
    return [(item["kind"], item["source"]) for item in found["items"]]


def test_a_new_worker_reads_only_its_own(scene: Scene) -> None:
    """After the tasks of others, a new worker's inbox has its assignment and nothing else."""
    for number in range(3):
        scene.approved(f"w{number}", f"t{number}", f"file{number}")
        ok(scene.root, "merge", f"w{number}")
    worktree = scene.spawn("auth", "login")
    scene.approved("docs", "guide", "guide")
    answer = scene.run("inbox", cwd=worktree)
    assert answer.err == ""
    (line,) = answer.out.splitlines()
    assert line.partition(" ")[2].startswith("task_assign hq "), answer
    assert line.endswith(": auth/login")
    assert run(worktree, "inbox") == Answer(0, "", "")
    assert run(worktree, "msg", "poll") == Answer(0, "", ""), "the others count as read"


def test_a_workers_inbox(scene: Scene) -> None:
    """A worker sees messages to it or about its task, verdicts and orders, with their commands."""
    worktree = scene.submitted("auth", "login")
    ok(worktree, "inbox")
    ok(scene.root, "msg", "send", "x-note", '{"text": "to all"}')
    ok(scene.root, "msg", "send", "x-note", '{"text": "of login"}', "--correlation", "login")
    ok(scene.root, "msg", "send", "x-note", '{"text": "to docs"}', "--to", "hq")
    ok(worktree, "msg", "send", "x-note", '{"text": "mine"}')
    ok(scene.root, "send", "login", "to you")
    ok(scene.root, "reject", "auth", "-m", "Add a\ntest")
    ok(scene.root, "stop", "auth", "-m", "lunch")
    answer = run(worktree, "inbox", "--no-ack")
    texts = [line.partition(" ")[2] for line in answer.out.splitlines()]
    texts = [re.sub(r" \d+s:", " 0s:", text).strip() for text in texts]
    assert texts == [
        "x-note hq 0s: of login",
        "x-note hq 0s: to you",
        "review_result hq 0s: changes requested: Add a test",
        "git worker done   # after your next commit",
        "cmd hq 0s: stop: lunch",
        "git worker done   # or: git worker fail -m <reason>",
    ]
    assert run(worktree, "inbox", "--count").out == "4\n"
    assert run(worktree, "inbox", "--count", "--json").document["count"] == 4
    assert len(kinds(worktree)) == 4
    assert kinds(worktree) == []


def test_an_inbox_is_shown_in_parts(scene: Scene) -> None:
    """More than fifty messages are shown in parts, and no part acknowledges a later one."""
    worktree = scene.spawn("auth", "login")
    ok(worktree, "inbox")
    for number in range(52):
        ok(scene.root, "msg", "send", "x-note", str(number), "--to", "auth")
    answer = run(worktree, "inbox")
    assert answer.out.endswith("\nmore: git worker inbox\n")
    assert len(answer.out.splitlines()) == 51
    assert len(kinds(worktree)) == 2


def test_the_inbox_of_hq(scene: Scene) -> None:
    """hq sees questions first, then failures, returned work, reviews and landings, until done."""
    failed = scene.working("bad", "t1")
    ok(failed, "fail", "-m", "No library")
    scene.submitted("rev", "t2", "two")
    scene.approved("app", "t3", "three")
    back = scene.submitted("back", "t4", "four")
    ok(scene.root, "reject", "back", "-m", "Again")
    scene.working("help", "t5")
    ok(scene.root, "heartbeat", "help", "--status", "blocked")
    ok(back, "msg", "send", "x-question", '{"text": "Which port?"}', "--to", "hq")
    ok(back, "send", "hq", "By the way")
    found = run(scene.root, "inbox", "--json").document["items"]
    rows = [(item["kind"], item["source"], item["text"]) for item in found]
    assert rows[:3] == [
        ("question", "back", "Which port?"), ("blocked", "help", "t5"),
        ("failed", "bad", "No library"),
    ]  # fmt: skip
    assert rows[3][:2] == ("returned", "back")
    assert ("review", "rev", "t2") in rows
    assert ("landing", "app", "t3 is approved and has not landed") in rows
    assert rows[-1] == ("message", "back", "By the way")
    question = found[0]
    assert question["command"] == f"git worker send back --reply-to {question['seq']} <text>"
    assert found[2]["command"] == "git worker resume bad"
    assert all(item["command"] for item in found)
    ok(scene.root, "spawn", "other", "t1")
    retried = run(scene.root, "inbox", "--json").document["items"][2]
    assert retried["command"] == "git worker reset bad", "another worker has its task"
    assert kinds(scene.root) == [(kind, source) for kind, source, _ in rows], "nothing is read"
    ok(scene.root, "send", "back", "--reply-to", str(question["seq"]), "8080")
    ok(scene.root, "msg", "poll", "--mine")
    ok(scene.root, "merge", "app")
    assert {kind for kind, _ in kinds(scene.root)} & {"question", "message", "landing"} == set()
    answered = run(scene.root, "msg", "send", "x-note", "--to", "back")
    assert answered.status == 0
    assert run(scene.root, "send", "back", "x", "--reply-to", "99999").status == 4


def test_a_review_without_a_note(scene: Scene) -> None:
    """A review without a note is shown with its task's text, or with the title."""
    for worker, option in (("auth", "-m"), ("docs", "--title")):
        ok(scene.root, "spawn", worker, f"of-{worker}", option, "Build the form\n\nAll of it")
        place = scene.root / "worktrees" / f"of-{worker}"
        git(place, "commit", "-q", "--allow-empty", "-m", "Work")
        ok(place, "done")
    items = run(scene.root, "inbox", "--json").document["items"]
    assert [one["text"] for one in items] == ["of-auth: Build the form", "of-docs: Build the form"]


def test_a_review_in_the_inbox(scene: Scene) -> None:
    """A review is shown with the command that reads it, and the one that approves it."""
    scene.submitted("auth", "login")
    lines = run(scene.root, "inbox").out.splitlines()
    assert [line.strip() for line in lines[1:]] == [
        "git worker review auth", "git worker approve auth",
    ]  # fmt: skip
    shown = run(scene.root, "review", "auth")
    assert (shown.status, "auth is in review" in shown.out) == (0, True)
    note("git worker review auth", shown.out)


def test_a_landing_that_stopped(scene: Scene) -> None:
    """A worker needs no person while a queue lands it, but after the queue was killed."""
    scene.approved("auth", "login")
    git(scene.root, "config", "worker.verify.commands", "echo begun >&2; sleep 60")
    with running(scene.root, "merge", "auth", start_new_session=True) as merging:
        wait_until(lambda: run(scene.root, "queue", "--json").document["windows"])
        assert kinds(scene.root) == []
        os.killpg(merging.pid, signal.SIGKILL)
        merging.wait(DEADLINE_S)
    (item,) = run(scene.root, "inbox", "--json").document["items"]
    assert item["text"] == "login is approved and has not landed: its last window was cut off"
    assert item["command"] == "git worker merge auth"


def test_the_inbox_waits(scene: Scene) -> None:
    """With --wait an empty inbox is printed as soon as something arrives."""
    worktree = scene.spawn("auth", "login")
    ok(worktree, "inbox")
    with running(worktree, "inbox", "--wait", "30") as waiting:
        ok(scene.root, "send", "auth", "wake up")
        assert read_line(waiting).rstrip().endswith(": wake up")
        assert waiting.wait(DEADLINE_S) == 0
    assert run(worktree, "inbox", "--wait", "0.1") == Answer(0, "", "")
    assert run(worktree, "inbox", "--count", "--wait", "1").status == 2


def test_wait_for_a_state(scene: Scene) -> None:
    """Wait returns at once if the state is reached, as soon as it is, or fails after the time."""
    worktree = scene.working("auth", "login")
    assert run(scene.root, "wait", "auth", "--for", "working").out == "auth is at work\n"
    late = run(scene.root, "wait", "auth", "--for", "landed", "--timeout", "0.1")
    words = "error: waited 0.1 s for the landing: worker auth is at work"
    assert late == Answer(1, "", f"{words}\nhint: git worker show auth\n")
    scene.commit(worktree, "new")
    with running(scene.root, "wait", "auth") as waiting:
        ok(worktree, "done")
        assert read_line(waiting) == "auth is in review\n"
    with running(worktree, "wait", "--for", "verdict", "--json") as waiting:
        ok(scene.root, "reject", "auth", "-m", "Again")
        verdict = json.loads(read_line(waiting))
    assert (verdict["state"], verdict["verdict"]["note"]) == ("WORKING", "Again")
    ok(worktree, "fail", "-m", "No")
    failed = run(scene.root, "wait", "auth", "--for", "landed")
    assert failed.status == 1
    assert failed.err.startswith("error: worker auth has failed: No\n")
    assert run(scene.root, "wait", "auth", "--for", "nothing").status == 2


def test_wait_for_a_landing(scene: Scene) -> None:
    """Wait sees a landing, and a verdict that has come before."""
    scene.approved("auth", "login")
    assert run(scene.root, "wait", "auth", "--for", "verdict").out == "auth is approved\n"
    with running(scene.root, "wait", "auth", "--for", "landed") as waiting:
        ok(scene.root, "merge", "auth")
        assert read_line(waiting) == "auth has landed (approved)\n"


@pytest.mark.parametrize(
    ("verb", "order"), [("stop", "stop"), ("pause", "pause"), ("continue", "resume")]
)
def test_orders(scene: Scene, verb: str, order: str) -> None:
    """stop, pause and continue send the command that a supervisor carries out."""
    worktree = scene.spawn("auth", "login")
    answer = run(scene.root, verb, "login", "-m", "why", "--json")
    assert "no supervisor of auth is running" in answer.err
    sent = answer.document
    assert (sent["worker"], sent["command"], sent["has_agent"]) == ("auth", order, False)
    (message,) = run(worktree, "msg", "poll", "--type", "cmd").lines
    assert (message["id"], message["to"]) == (sent["id"], "auth")
    assert message["payload"] == {"command": order, "reason": "why"}
    assert message["correlation_id"] == "login"
    assert run(scene.root, verb, "nobody").status == 4


def test_selected_polls_lose_nothing(scene: Scene) -> None:
    """A selection acknowledges up to the first message that it leaves out, and says so."""
    worktree = scene.spawn("auth", "login")
    ok(worktree, "msg", "poll")
    send = ("msg", "send")
    ok(scene.root, *send, "x-a", "1", "--to", "auth")
    ok(scene.root, *send, "x-b", "2", "--to", "auth")
    ok(scene.root, *send, "x-a", "3", "--to", "auth")

    def poll(*words: str) -> tuple[list[int], str]:
        answer = run(worktree, "msg", "poll", *words)
        return [message["payload"] for message in answer.lines], answer.err

    found, said = poll("--type", "x-a")
    assert found == [1, 3]
    assert "was left out and stays unread, so later messages will come again" in said
    assert poll("--type=x-a")[0] == [3]
    assert poll("--from", "hq", "--no-ack") == ([2, 3], "")
    assert poll("--limit", "1") == ([2], "1 more message is unread: git worker msg poll\n")
    assert poll("--from", "docs", "--wait", "0") == ([], "")
    assert poll()[0] == [3]


def test_polls_of_my_messages(scene: Scene) -> None:
    """With --mine, messages to all agents are left out and count as read; --brief is for people."""
    worktree = scene.spawn("auth", "login")
    ok(worktree, "msg", "poll")
    ok(scene.root, "msg", "send", "x-note", '{"text": "to all"}')
    for text in ("one", "two", "three"):
        ok(scene.root, "send", "auth", text)
    answer = run(worktree, "msg", "poll", "--mine", "--brief", "--limit", "1")
    assert answer.out.partition(" ")[2] == "x-note hq → auth: one\n"
    assert answer.err == "2 more messages are unread: git worker msg poll\n"
    mine = run(worktree, "msg", "poll", "--mine").lines
    assert [message["payload"]["text"] for message in mine] == ["two", "three"]
    assert run(worktree, "msg", "poll") == Answer(0, "", "")
