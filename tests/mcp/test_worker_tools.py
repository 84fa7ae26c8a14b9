"""The tools of a worker: from its task to the hand-in, for its own worktree and name only."""

import os
import shutil
from pathlib import Path

import pytest

from gitworker.errors import Unavailable
from gitworker.mcp.caller import Caller
from gitworker.review.comments.draft import comment
from gitworker.review.comments.send import send
from gitworker.service.service import open_repository
from tests.mcp.kit import connected
from tests.workers.world import World, wait_until

NAMES = [
    "whoami", "inbox", "send", "ask", "progress", "commit", "sync", "conflicts", "claim",
    "release", "done", "comments", "handled", "fail",
]  # fmt: skip


def test_review_comments(world: World) -> None:
    """A worker reads the comments on its work by a tool, and answers them by number."""
    place = world.in_review("auth", "login", {"form.py": "1\n"})
    comment(world.session(), "auth", "form.py:1", text="why?")
    send(world.session(), "auth")
    with connected(place) as client:
        (found,) = client.call("comments")["comments"]
        assert (found["number"], found["quoted"], found["read"]) == (1, ["1"], False)
        assert client.call("handled", number=1, answer="it is a form")["state"] == "handled"


def test_a_task_from_start_to_done(world: World) -> None:
    """A worker learns its task, starts, commits, syncs and hands in by tools alone."""
    world.spawn("auth", "login", title="Login", text="Build the form")
    place = world.path("auth")
    with connected(place) as client:
        assert client.names() == NAMES
        me = client.call("whoami")
        assert (me["identity"], me["task"]["id"], me["branch"]) == ("auth", "login", "auth/login")
        assert client.call("progress", progress=0.1, note="reading")["worker"] == "auth"
        assert world.states("auth", "login") == ("WORKING", "IN_PROGRESS")
        assert world.worker("auth").pid == os.getppid()
        (place / "form.py").write_text("1\n")
        (place / "other.py").write_text("1\n")
        done = client.call("commit", message="Add the form", paths=["form.py"])
        assert (done["files"], done["left"]) == (["form.py"], 1)
        target = world.advance({"README": "zero\none\ntwo\nthree\n"})
        assert client.call("sync")["target"] == target
        assert client.call("done", commit_message="Add the rest")["commits"] == 2
    assert world.worker("auth").state.value == "IN_REVIEW"
    assert world.messages("status")[-1] == {"phase": "reading", "progress": 0.1}


def test_a_long_text_behind_many_broadcasts(world: World) -> None:
    """The inbox gives it whole before it counts as read."""
    world.working("auth", "login", {"a": "1\n"})
    hq = open_repository(str(world.root), identity="hq")
    for number in range(210):
        hq.send("x-note", f'{{"text": "{number}"}}')
    words = "Do this. " * 60
    hq.send_note("auth", words)
    with connected(world.path("auth")) as client:
        items = client.call("inbox")["items"]
        assert [one["payload"]["text"] for one in items if one["kind"] == "x-note"] == [words]
        assert client.call("inbox")["items"] == []


def test_texts_without_secrets(world: World) -> None:
    """A secret in a note or in a question to another worker is redacted, and reported."""
    world.spawn("auth", "login")
    world.spawn("docs", "t2")
    secret = "sk-ant-abcdefghijklmnopqrstuvwxyz"
    warning = "a part of the text looks like a secret and is recorded as [redacted]"
    with connected(world.path("auth")) as client:
        noted = client.call("progress", note=f"call it with {secret}", progress=0.5)
        assert any(warning in notice for notice in noted["notices"])
        client.fail("ask", text=f"why {secret}?", to="docs", timeout_s=0)
    assert world.messages("status")[-1] == {"phase": "call it with [redacted]", "progress": 0.5}
    assert world.messages("x-question")[-1] == {"text": "why [redacted]?"}


def test_a_conflict_is_resolved_by_tools(world: World) -> None:
    """A stopped rebase names the files, refuses markers, and continues with the resolved files."""
    place = world.working("auth", "login", {"README": "mine\n"})
    world.advance({"README": "theirs\n"})
    with connected(place) as client:
        error = client.fail("sync")
        assert (error["code"], error["detail"]) == ("rebase_conflict", "  README")
        assert client.fail("sync", mode="continue")["code"] == "conflict_markers"
        assert client.fail("commit", message="No")["code"] == "operation_open"
        (place / "README").write_text("theirs and mine\n")
        synced = client.call("sync", mode="continue")
        assert synced["new"] == world.tip("auth/login")
        assert client.call("conflicts")["conflicts"] == []
    assert world.show("README", "auth/login") == "theirs and mine"


def test_questions_and_answers(world: World) -> None:
    """`ask` returns the answer, or fails after its time; the answer then is in the inbox."""
    world.spawn("auth", "login")
    with connected(world.path("auth")) as client, connected(world.root) as hq:
        client.call("inbox")
        assert client.fail("ask", text="Why?", timeout_s=0)["code"] == "timeout"
        asking = client.begin("ask", text="Which port?", timeout_s=300)
        wait_until(lambda: len(world.messages("x-question")) == 2)
        items = [item for item in hq.call("inbox")["items"] if item["kind"] == "question"]
        why, which = sorted(items, key=lambda item: item["seq"])
        hq.call("send", to="auth", text="8080", reply_to=which["id"])
        answer = client.answer()
        assert answer["id"] == asking
        assert "8080" in answer["result"]["content"][0]["text"]
        hq.call("send", to="auth", text="Because.\n\n" + "word " * 200, reply_to=str(why["seq"]))
        late = client.ask("tools/call", name="inbox")["result"]
        assert "word " * 199 in late["content"][0]["text"]


def test_a_person_answers_by_a_tool(world: World) -> None:
    """`questions` lists a question with its options, and `reply` answers it once."""
    world.spawn("auth", "login")
    with connected(world.path("auth")) as client, connected(world.root) as hq:
        ask = {"text": "Which?", "options": ["red", "green"], "timeout_s": 0}
        assert client.fail("ask", **ask)["code"] == "timeout"
        (asked,) = hq.call("questions")["questions"]
        assert (asked["task"], asked["options"]) == ("login", ["red", "green"])
        assert hq.fail("reply", name="login", text="blue")["code"] == "not_an_option"
        assert hq.call("reply", name="login", text="red")["task_status"] == "IN_PROGRESS"
        assert hq.call("questions")["questions"] == []
        assert client.call("ask", **ask)["answer"]["answer"] == "red"


def test_claims(world: World) -> None:
    """A claim is taken, refused to another worker, and released."""
    for worker in ("auth", "ui"):
        world.spawn(worker, f"t-{worker}")
    with connected(world.path("auth")) as auth, connected(world.path("ui")) as ui:
        epoch = auth.call("claim", name="path:src/**", ttl_s=60)["epoch"]
        assert ui.fail("claim", name="path:src/app.py")["code"] == "claimed"
        assert auth.call("release", name="path:src/**", epoch=epoch)["holder"] == "auth"
        assert ui.call("claim", name="path:src/app.py")["holder"] == "ui"


def test_a_server_acts_for_its_own_worker_only(world: World) -> None:
    """Neither an argument nor a tool of the other set lets a worker act as another."""
    for worker in ("auth", "ui"):
        world.spawn(worker, f"t-{worker}")
    (world.path("ui") / "theirs").write_text("1\n")
    with connected(world.path("auth")) as client:
        for name in ("approve", "merge", "spawn", "reject", "resume"):
            answer = client.ask("tools/call", name=name, arguments={"worker": "ui"})
            assert answer["error"]["code"] == -32602
        outside = str(world.path("ui") / "theirs")
        assert client.fail("commit", message="x", paths=[outside])["code"] == "not_added"
        assert client.fail("commit", message="x", paths=["../t-ui/theirs"])["code"] == "not_added"
        assert client.fail("release", name="t-ui")["code"] != "internal"
        client.call("fail", reason="no")
    assert world.worker("ui").state.value == "ASSIGNED"
    assert world.git("log", "--format=%s", "main..ui/t-ui") == ""


def test_the_identity_is_fixed_at_the_start(world: World, tmp_path: Path) -> None:
    """A server keeps its identity if its worktree is removed, and finds its new worktree."""
    world.spawn("auth", "login")
    place = world.path("auth")
    with connected(place) as client:
        world.drive("cancel", "auth")
        shutil.rmtree(place, ignore_errors=True)
        assert client.call("whoami")["identity"] == "auth"
        world.spawn("auth", "logout")
        (world.path("auth") / "new").write_text("1\n")
        assert client.call("commit", message="Add")["branch"] == "auth/logout"


def test_the_environment_decides_about_the_identity(world: World, tmp_path: Path) -> None:
    """GITWORKER_ID names the worker elsewhere; hq is not believed in a worker's worktree."""
    world.spawn("auth", "login")
    root = str(world.root)
    assert Caller(root, {}).identity == "hq"
    assert Caller(root, {"GITWORKER_ID": "auth"}).is_worker
    assert not Caller(root, {"GITWORKER_ID": "orchestrator"}).is_worker
    inside = Caller(str(world.path("auth") / "src"), {"GITWORKER_ID": "hq"})
    assert (inside.identity, inside.is_worker) == ("auth", True)
    with connected(world.root, GITWORKER_ID="auth") as client:
        (world.path("auth") / "new").write_text("1\n")
        assert client.call("commit", message="Add")["worker"] == "auth"
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(Unavailable):
        Caller(str(tmp_path / "elsewhere"), {})
