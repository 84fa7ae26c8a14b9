"""The text of a task: how it is given, who reads it, and what keeps it."""

from pathlib import Path

import pytest

from tests.cli.conftest import Scene
from tests.cli.kit import ok, run

TEXT = "Build the login form\r\n\r\nwith tests: é 🦀\n"
REFUSED = "error: the task's text must be UTF-8 without NUL characters\n"


def task_text(scene: Scene, task: str) -> str:
    """Return the exact text of a task."""
    text = scene.run("task", "text", task, "--json").document["text"]
    assert isinstance(text, str)
    return text


def assignments(scene: Scene, worker: str) -> list[dict[str, object]]:
    """Return the task_assign messages of a worker, with their complete payloads."""
    answer = run(scene.root, "msg", "poll", "--as", worker, "--no-ack", "--json")
    return [one for one in answer.document["items"] if one["type"] == "task_assign"]


def test_message(scene: Scene) -> None:
    """The text of -m is printed from the worktree, shown, and sent to the worker."""
    worktree = Path(ok(scene.root, "spawn", "auth", "t1", "-m", TEXT, "--title", "Login"))
    assert run(worktree, "task", "text").out == TEXT
    assert run(scene.root, "task", "text", "auth").out == TEXT
    assert run(scene.root, "task", "text", "auth/t1").out == TEXT
    assert scene.run("task", "text", "--json", cwd=worktree).document == {
        "schema": 1, "task": "t1", "title": "Login", "text": TEXT,
    }  # fmt: skip
    shown = scene.run("show", "auth", "--json").document["task"]
    assert (shown["title"], shown["text"]) == ("Login", TEXT)
    screen = scene.run("show", "auth").out
    assert "\ntext\n  Build the login form\n\n  with tests: é 🦀\n" in screen
    (sent,) = assignments(scene, "auth")
    payload = sent["payload"]
    assert isinstance(payload, dict)
    assert (payload["title"], payload["text"], payload["branch"]) == ("Login", TEXT, "auth/t1")


def test_file(scene: Scene, tmp_path: Path) -> None:
    """-F takes a file, - standard input; `assign` does the same."""
    (tmp_path / "task.md").write_bytes(TEXT.encode())
    ok(scene.root, "spawn", "auth", "t1", "-F", str(tmp_path / "task.md"))
    ok(scene.root, "spawn", "docs", "t2", "-F", "-", stdin=TEXT.encode())
    assert task_text(scene, "t1") == task_text(scene, "t2") == TEXT
    ok(scene.root, "cancel", "docs")
    ok(scene.root, "assign", "docs", "t3", "-F", "-", stdin=b"next")
    assert task_text(scene, "t3") == "next"


def test_huge(scene: Scene) -> None:
    """A text of 1 MB travels as a blob, and `show` prints its first lines and the way to all."""
    text = "zeile é\r\n" * 110_000
    worktree = Path(ok(scene.root, "spawn", "auth", "t1", "-F", "-", stdin=text.encode()))
    assert run(worktree, "task", "text").out == text
    assert scene.run("show", "auth").out.count("zeile") == 10
    assert "… (all of it: git worker task text t1)" in scene.run("show", "auth").out
    (sent,) = assignments(scene, "auth")
    assert str(sent["payload_ref"]).startswith("sha256-")
    assert isinstance(sent["payload"], dict)
    assert sent["payload"]["text"] == text


@pytest.mark.parametrize("text", ["", " \n"])
def test_blank(scene: Scene, text: str) -> None:
    """A blank text is refused before anything is made, wherever it comes from."""
    (scene.root / "blank").write_text(text)
    for source, said in ((("-m", text), "the task's text is empty (-m)"),
                         (("-F", "-"), "the task's text is empty (standard input)"),
                         (("-F", "blank"), "blank is empty")):  # fmt: skip
        answer = run(scene.root, "spawn", "auth", "t1", *source, stdin=text.encode())
        assert (answer.status, answer.err.partition("\n")[0]) == (2, f"error: {said}")
    assert scene.run("list").out == ""


def test_none(scene: Scene) -> None:
    """A task without a text prints nothing."""
    worktree = Path(ok(scene.root, "spawn", "auth", "t1"))
    answer = run(worktree, "task", "text")
    assert (answer.status, answer.out, answer.err) == (0, "", "")
    assert "\ntext\n" not in scene.run("show", "auth").out


@pytest.mark.parametrize("raw", [b"a\0b", b"d\xe9j\xe0"])
def test_refused(scene: Scene, raw: bytes) -> None:
    """NUL and invalid UTF-8 are refused with one message, before anything is made."""
    answer = run(scene.root, "spawn", "auth", "t1", "-F", "-", stdin=raw)
    assert (answer.status, answer.err) == (2, REFUSED)
    if b"\0" not in raw:
        answer = run(scene.root, "spawn", "auth", "t1", "-m", raw)
        assert (answer.status, answer.err) == (2, REFUSED)
    assert not scene.state.exists()


def test_misused(scene: Scene) -> None:
    """Two texts, an unreadable file and an unknown task are refused."""
    answer = scene.run("spawn", "auth", "t1", "-m", "a", "-F", "b")
    assert (answer.status, "use one of them" in answer.err) == (2, True)
    answer = scene.run("spawn", "auth", "t1", "-F", "no-such-file")
    assert answer.status == 4
    assert "cannot read the text from no-such-file" in answer.err
    scene.spawn("auth", "t1")
    assert scene.run("task", "text", "t9").status == 4
    assert scene.run("task", "text").status == 4


def test_kept(scene: Scene) -> None:
    """The text stays with the task through cancel, undo, landing and recycle."""
    ok(scene.root, "spawn", "auth", "t1", "-m", TEXT)
    ok(scene.root, "cancel", "auth")
    assert task_text(scene, "t1") == TEXT
    ok(scene.root, "undo")
    assert task_text(scene, "auth") == TEXT
    ok(scene.root, "fail", "auth", "-m", "No")
    ok(scene.root, "reset", "auth")
    ok(scene.root, "spawn", "docs", "t1")
    (sent,) = assignments(scene, "docs")
    assert isinstance(sent["payload"], dict)
    assert sent["payload"]["text"] == TEXT
    ok(scene.root, "start", "docs", "--pid", str(scene.agent_pid))
    ok(scene.root, "fail", "docs", "-m", "No")
    ok(scene.root, "reset", "docs")
    ok(scene.root, "spawn", "docs", "t1", "-m", "Changed")
    worktree = Path(ok(scene.root, "path", "docs"))
    ok(scene.root, "start", "docs", "--pid", str(scene.agent_pid))
    scene.commit(worktree, "new.txt")
    for verb in ("done", "approve", "merge", "recycle"):
        ok(scene.root, verb, "docs")
    assert task_text(scene, "t1") == "Changed"
    answer = run(scene.root, "task", "text", "docs")
    assert answer.status == 4
    assert answer.err == "error: worker docs has no task\nhint: git worker list\n"
