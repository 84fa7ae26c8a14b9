"""Standard streams that the caller has closed: they stay closed, and get no file of ours."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Scene
from tests.cli.kit import PROGRAM

CLOSED = ("<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-")
SHOWN = """
import os, sys
from gitworker import proc
from gitworker.{module} import main
main({words})
for fd in (0, 1, 2):
    print(os.readlink(f"/proc/self/fd/{{fd}}"), os.get_inheritable(fd), file=open(sys.argv[1], "a"))
"""
VERBS = (
    ("status",), ("list", "--json"), ("heartbeat", "auth"), ("msg", "send", "x-note", "{}"),
    ("msg", "poll"), ("claim", "take", "x:one"), ("doctor",), ("approve", "auth"),
)  # fmt: skip


def closing(streams: str, *argv: str, cwd: Path) -> int:
    """Run a command with some streams closed, the others nowhere; return its status."""
    shell = ["sh", "-c", f'exec "$@" {streams}', "sh", *argv]
    return subprocess.run(
        shell, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, timeout=120,
    ).returncode  # fmt: skip


@pytest.mark.parametrize("streams", CLOSED[1::3] + CLOSED[-1:])
@pytest.mark.parametrize("words", VERBS, ids="-".join)
def test_no_file_gets_a_closed_stream(
    scene: Scene, tmp_path: Path, streams: str, words: tuple[str, ...]
) -> None:
    """After any verb the closed streams lead to /dev/null, and their children have them so."""
    scene.working()
    script = SHOWN.format(module="__main__", words=list(words))
    closing(streams, sys.executable, "-c", script, str(tmp_path / "seen"), cwd=scene.root)
    assert (tmp_path / "seen").read_text() == "/dev/null True\n" * 3


@pytest.mark.parametrize("streams", CLOSED)
def test_a_background_job_has_its_streams(scene: Scene, tmp_path: Path, streams: str) -> None:
    """A background job opens no file under the number of a closed stream."""
    script = SHOWN.format(module="hookentry", words=["drain", str(scene.root / ".git")])
    closing(streams, sys.executable, "-c", script, str(tmp_path / "seen"), cwd=scene.root)
    assert (tmp_path / "seen").read_text() == "/dev/null True\n" * 3


@pytest.mark.parametrize("streams", CLOSED)
def test_an_agent_has_no_file_of_ours(scene: Scene, tmp_path: Path, streams: str) -> None:
    """A supervised agent gets pipes or /dev/null, whatever its supervisor's caller has closed."""
    scene.working()
    agent = ["sh", "-c", f'x=$(readlink /proc/$$/fd/?); echo "$x" >{tmp_path}/seen']
    closing(streams, PROGRAM, "exec", "auth", "--", *agent, cwd=scene.root)
    seen = (tmp_path / "seen").read_text().splitlines()
    assert len(seen) >= 3
    assert all(place == "/dev/null" or place.startswith("pipe:") for place in seen), seen


@pytest.mark.parametrize(
    ("streams", "status"),
    [("<&-", 0), ("2>&-", 0), ("<&- 2>&-", 0), (">&-", 1), ("<&- >&-", 1), (">&- 2>&-", 1)],
)
@pytest.mark.parametrize("words", [("status",), ("list",), ("msg", "poll"), ("spawn", "ui", "t9")])
def test_an_answer_without_a_reader_fails(
    scene: Scene, streams: str, status: int, words: tuple[str, ...]
) -> None:
    """A command fails if its answer cannot be written, but not if only its errors cannot be."""
    scene.spawn("auth", "t1")
    scene.run("msg", "send", "x-note", "{}", "--to", "hq")
    assert closing(streams, PROGRAM, *words, cwd=scene.root) == status
    if words[0] == "msg" and status:
        assert "x-note" in scene.run("msg", "poll").out  # not acknowledged
