"""No output of text carries characters that steer a terminal or deceive its reader."""

import json
import re
from pathlib import Path

import pytest

from gitworker.rules_text import is_shown
from tests.cli.conftest import Scene
from tests.cli.kit import ok, run
from tests.cli.terminal import on_terminal
from tests.conftest import git

LINK = "\x1b]8;;https://evil.example\x1b\\\\click\x1b]8;;\x07\x9d8;;x\x9c"
EVIL = f"x\u202ey\x9b2J\u200bz\u2066\u2028\U000e0041{LINK}\x1b[8mhidden"
BRANCH = "b\u202ex\x9b2J\u200by\x9d8;;z"  # git refuses C0 in names and allows all others
SHOWING = (
    "status", "list", "show auth", "log", "log auth", "agents", "claim list", "msg search hidden",
    "msg stats", "msg poll --no-ack --as hq", "conflicts", "queue", "doctor", "fsck", "undo --list",
    "diff auth --stat", "gc --dry-run", "approve unknown", "reject auth -m x", "cancel auth",
)  # fmt: skip


@pytest.fixture
def worktree(scene: Scene) -> Path:
    """A worker with hidden characters in its subject, path, note, log and message."""
    worktree = scene.working("auth", "t1")
    (worktree / "f\u202e\x9b.txt").write_text("text\n")
    git(worktree, "add", "--all")
    git(worktree, "commit", "-q", "-m", EVIL)
    (worktree / ".worker.log").write_text(f"{EVIL}\n")
    note = json.dumps({"text": EVIL}, ensure_ascii=False)
    ok(scene.root, "msg", "send", "x-note", note, "--to", "hq")
    ok(worktree, "done", "-m", EVIL)
    return worktree


def require_plain(text: str) -> None:
    """Fail the test for a character that does not show."""
    for line in text.split("\n"):
        assert is_shown(line.replace("\t", "")), line


@pytest.mark.parametrize("words", SHOWING)
def test_in_a_pipe(scene: Scene, worktree: Path, words: str) -> None:
    """No command writes hidden characters into a pipe, as text or as JSON."""
    for option in ((), ("--json",)):
        answer = run(scene.root, *words.split(" "), *option)
        assert answer.status != 70, answer
        require_plain(answer.out)
        require_plain(answer.err)
    assert worktree.is_dir() or "cancel" in words


@pytest.mark.parametrize("words", ["status", "show auth", "log", "msg search hidden", "diff auth"])
@pytest.mark.parametrize("plain", ["", "1"])
def test_on_a_terminal(scene: Scene, worktree: Path, words: str, plain: str) -> None:
    """On a terminal our own colours are printed, and no other escape is."""
    (worktree / "code.py").write_text("good()  # \x1b[8m\nevil()\n")
    git(worktree, "add", "--all")
    git(worktree, "commit", "-q", "-m", "Conceal")
    env = {"TERM": "xterm", "NO_COLOR": plain}
    with on_terminal(scene.root, *words.split(" "), env=env) as terminal:
        shown = terminal.rest()
    assert "\x1b[8m" not in shown
    require_plain(re.sub("\x1b\\[[0-9;]*[mK]", "", shown).replace("\r\n", "\n"))


def test_a_diff_in_a_pipe_is_exact(scene: Scene, worktree: Path) -> None:
    """The input of `git apply` is git's own output, byte by byte."""
    (worktree / "raw").write_bytes(b"a\x1b[8mb\r\n\xe2\x80\xae\xff\n")
    git(worktree, "add", "--all")
    git(worktree, "commit", "-q", "-m", "Raw")
    found = ok(scene.root, "diff", "auth")
    assert "+a\x1b[8mb\r\n+\u202e\udcff" in found


def printed(directory: Path, text: str) -> str:
    """Return a shell command that prints a text to both streams."""
    (directory / "evil.txt").write_text(f"{text}\n")
    return f"cat '{directory}/evil.txt'; cat '{directory}/evil.txt' >&2"


@pytest.mark.parametrize("option", [(), ("--json",)])
def test_output_of_verify_commands(
    scene: Scene, worktree: Path, tmp_path: Path, option: tuple[str, ...]
) -> None:
    """The output of verify commands, passed or failed, is shown escaped."""
    command = printed(tmp_path, EVIL)
    for script in (command, f"{command}; exit 3"):
        answer = run(
            scene.root, "verify", "auth", *option, env={"GITWORKER_VERIFY_COMMANDS": script}
        )
        assert answer.status in {0, 1}, answer
        require_plain(answer.out)
        require_plain(answer.err)
    for words in ("show auth", "log auth", "queue"):
        answer = run(scene.root, *words.split(" "), *option)
        require_plain(answer.out + answer.err)


@pytest.mark.parametrize("option", [(), ("--json",)])
@pytest.mark.parametrize("status", [0, 3])
def test_output_of_setup_commands(
    scene: Scene, tmp_path: Path, option: tuple[str, ...], status: int
) -> None:
    """The output of setup commands is shown escaped, while they run and when one has failed."""
    script = f"{printed(tmp_path, EVIL)}; exit {status}"
    answer = run(
        scene.root, "spawn", "auth", "t1", *option, env={"GITWORKER_WORKTREE_SETUP": script}
    )
    assert (answer.status == 0) is (status == 0), answer
    require_plain(answer.out)
    require_plain(answer.err)


@pytest.mark.parametrize(
    "name", [BRANCH, "x\u2066y", "\x85\u200f\ufeff", "m\u00ad\u034f\U000e0020"]
)
def test_branch_names(scene: Scene, name: str) -> None:
    """The name of a branch that `adopt` takes, renames or refuses is shown escaped."""
    git(scene.root, "branch", name)
    git(scene.root, "branch", f"{name}-2")
    for words in (
        ("adopt", name, "auth", "t1"), ("adopt", name, "auth", "t1"),
        ("adopt", f"{name}-3", "x", "t2"), ("adopt", f"{name}-2", "auth", "t1"),
        ("spawn", "ui", "t3", "--from", f"{name}-2"),
        ("spawn", "ui2", "t4", "--from", f"{name}-4"), ("status",), ("list",), ("show", "auth"),
        ("log",), ("undo", "--list"), ("queue",), ("conflicts",), ("agents",), ("claim", "list"),
        ("task", "list"),
        ("doctor",), ("fsck",), ("cancel", "auth"), ("undo",), ("undo", "--list"),
        ("merge", name), ("diff", name), ("verify", name), ("path", name), ("show", name),
        ("gc", "--dry-run"),
    ):  # fmt: skip
        for option in ((), ("--json",)):
            answer = run(scene.root, *words, *option)
            assert answer.status not in {70, 128}, answer
            require_plain(answer.out)
            require_plain(answer.err)


@pytest.mark.parametrize(
    "words", ["msg send x-note {} --to unknown", "claim take {}", "show {}", "spawn {} {}",
              "done {}", "fail {}", "cancel {}", "assign {} {}", "diff {}", "path {}", "merge {}",
              "undo {}",
              "msg poll --as {}", "msg search {}", "exec {} -- true", "config {}", "{}"],
)  # fmt: skip
def test_arguments_in_messages_and_hints(scene: Scene, words: str) -> None:
    """A message or a hint that repeats an argument shows it escaped."""
    for option in ((), ("--json",)):
        answer = run(scene.root, *(word.replace("{}", EVIL) for word in words.split(" ")), *option)
        assert answer.status != 70, answer
        require_plain(answer.out)
        require_plain(answer.err)


def test_a_review_of_a_name_that_is_not_utf8(scene: Scene) -> None:
    """A comment and a mark are accepted on a file whose name is not UTF-8."""
    name = "caf\udce9.txt"
    worktree = scene.spawn("auth", "t1")
    scene.commit(worktree, name)
    ok(worktree, "done")
    assert ok(scene.root, "review", "comment", "auth", f"./{name}:1", "-m", "why?") == "1"
    assert ok(scene.root, "review", "viewed", "auth", name) == "1 of 1 viewed"
    ok(scene.root, "review", "send", "auth")
