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

EVIL = "x\u202ey\x9b2J\u200bz\u2066\u2028\U000e0041\x1b[8mhidden"
SHOWING = (
    "status", "list", "show auth", "log", "log auth", "agents", "claim list", "msg search hidden",
    "msg stats", "msg poll --no-ack --as hq", "conflicts", "queue", "doctor", "fsck", "undo --list",
    "diff auth --stat", "gc --dry-run", "approve nobody", "reject auth -m x", "cancel auth",
)  # fmt: skip


@pytest.fixture
def seat(scene: Scene) -> Path:
    """A worker with hidden characters in its subject, path, note, log and message."""
    seat = scene.working("auth", "t1")
    (seat / "f\u202e\x9b.txt").write_text("text\n")
    git(seat, "add", "--all")
    git(seat, "commit", "-q", "-m", EVIL)
    (seat / ".worker.log").write_text(f"{EVIL}\n")
    note = json.dumps({"text": EVIL}, ensure_ascii=False)
    ok(scene.root, "msg", "send", "x-note", note, "--to", "hq")
    ok(seat, "done", "-m", EVIL)
    return seat


def require_plain(text: str) -> None:
    """Fail the test for a character that does not show."""
    for line in text.split("\n"):
        assert is_shown(line.replace("\t", "")), line


@pytest.mark.parametrize("words", SHOWING)
def test_in_a_pipe(scene: Scene, seat: Path, words: str) -> None:
    """No command writes hidden characters into a pipe, as text or as JSON."""
    for option in ((), ("--json",)):
        answer = run(scene.root, *words.split(" "), *option)
        assert answer.status != 70, answer
        require_plain(answer.out)
        require_plain(answer.err)
    assert seat.is_dir() or "cancel" in words


@pytest.mark.parametrize("words", ["status", "show auth", "log", "msg search hidden", "diff auth"])
@pytest.mark.parametrize("plain", ["", "1"])
def test_on_a_terminal(scene: Scene, seat: Path, words: str, plain: str) -> None:
    """On a terminal our own colours come through and nothing else."""
    (seat / "code.py").write_text("good()  # \x1b[8m\nevil()\n")
    git(seat, "add", "--all")
    git(seat, "commit", "-q", "-m", "Conceal")
    env = {"TERM": "xterm", "NO_COLOR": plain}
    with on_terminal(scene.root, *words.split(" "), env=env) as terminal:
        shown = terminal.rest()
    assert "\x1b[8m" not in shown
    require_plain(re.sub("\x1b\\[[0-9;]*[mK]", "", shown).replace("\r\n", "\n"))


def test_a_diff_in_a_pipe_is_exact(scene: Scene, seat: Path) -> None:
    """What `git apply` reads is git's own output, byte by byte."""
    (seat / "raw").write_bytes(b"a\x1b[8mb\r\n\xe2\x80\xae\xff\n")
    git(seat, "add", "--all")
    git(seat, "commit", "-q", "-m", "Raw")
    found = ok(scene.root, "diff", "auth")
    assert "+a\x1b[8mb\r\n+\u202e\udcff" in found
