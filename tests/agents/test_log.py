"""An agent's log is bounded, outlives its worktree and never blocks the agent."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from gitworker.agents.process.agent_log import AgentLog, open_log
from gitworker.journal.undo.undo import undo
from tests.agents.supervised import SupervisedWorker, read_until
from tests.cli.kit import DEADLINE_S, ok
from tests.workers.world import wait_until


@pytest.fixture
def log(tmp_path: Path) -> AgentLog:
    """A log of ten bytes at most."""
    return AgentLog(str(tmp_path / "log"), older=str(tmp_path / "aside"), max_bytes=10)


def test_a_full_log_is_set_aside(log: AgentLog, tmp_path: Path) -> None:
    """If the next bytes do not fit, the log is moved aside as the one older part."""
    for part in (b"one two", b"three", b"four", b"five six seven"):
        log.write(part)
    assert (tmp_path / "log").read_bytes() == b"five six seven"
    assert (tmp_path / "aside").read_bytes() == b"threefour"
    assert log.lost_bytes == 0
    log.close()
    log.write(b"!")
    assert (tmp_path / "log").read_bytes() == b"!"


def test_no_bound(log: AgentLog, tmp_path: Path) -> None:
    """With a bound of 0 the log grows."""
    log.max_bytes = 0
    for _ in range(5):
        log.write(b"0123456789")
    assert (tmp_path / "log").stat().st_size == 50
    assert not (tmp_path / "aside").exists()


def test_lost_bytes_are_counted(log: AgentLog, tmp_path: Path) -> None:
    """A log that cannot be written counts the lost bytes and continues when it can."""
    (tmp_path / "log").symlink_to("/dev/full")
    log.write(b"12345")
    assert log.lost_bytes == 5
    (tmp_path / "log").unlink()
    log.write(b"67")
    assert (tmp_path / "log").read_bytes() == b"67"
    assert log.lost_bytes == 5


def test_a_deleted_log_comes_back(log: AgentLog, tmp_path: Path) -> None:
    """If the agent deletes its log, as `git clean -fdx` does, it is restored completely."""
    log.max_bytes = 0
    log.write(b"before ")
    (tmp_path / "log").unlink()
    log.write(b"after")
    assert (tmp_path / "log").read_bytes() == b"before after"


def test_a_log_that_was_replaced(log: AgentLog, tmp_path: Path) -> None:
    """A file that replaced the log is not ours and stays unchanged."""
    log.write(b"one")
    (tmp_path / "log").rename(tmp_path / "moved")
    (tmp_path / "log").write_bytes(b"two ")
    log.write(b"three")
    assert (tmp_path / "log").read_bytes() == b"two "
    assert (tmp_path / "moved").read_bytes() == b"onethree"


def test_a_directory_that_moved(tmp_path: Path) -> None:
    """If the worktree is moved, the log continues in it."""
    (tmp_path / "a").mkdir()
    log = AgentLog(str(tmp_path / "a" / "log"), older=str(tmp_path / "aside"), max_bytes=0)
    log.write(b"one ")
    (tmp_path / "a").rename(tmp_path / "b")
    log.write(b"two")
    assert (tmp_path / "b" / "log").read_bytes() == b"one two"
    assert log.lost_bytes == 0


def test_nowhere_to_set_it_aside(tmp_path: Path) -> None:
    """A full log that cannot be moved aside grows, so that no byte is lost."""
    log = AgentLog(str(tmp_path / "log"), older=str(tmp_path / "none" / "aside"), max_bytes=4)
    for _ in range(3):
        log.write(b"1234")
    assert (tmp_path / "log").read_bytes() == b"123412341234"
    assert log.lost_bytes == 0


def test_a_link_is_not_followed(log: AgentLog, tmp_path: Path) -> None:
    """If an agent replaces its log by a link, the link's file is not written to."""
    (tmp_path / "precious").write_bytes(b"mine")
    (tmp_path / "log").symlink_to(tmp_path / "precious")
    log.write(b"bytes")
    assert (tmp_path / "precious").read_bytes() == b"mine"


def test_another_disk(tmp_path: Path, log: AgentLog) -> None:
    """A part that cannot be moved is copied."""
    elsewhere = Path("/dev/shm")
    if not elsewhere.is_dir() or elsewhere.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system")
    with tempfile.TemporaryDirectory(dir=elsewhere) as folder:
        aside = Path(folder, "aside")
        other = AgentLog(str(tmp_path / "log"), older=str(aside), max_bytes=4)
        other.write(b"1234")
        other.write(b"5")
        assert aside.read_bytes() == b"1234"
        assert (tmp_path / "log").read_bytes() == b"5"


def test_the_bound_is_a_setting(auth: SupervisedWorker) -> None:
    """The older part is in the kept logs, so that it makes no worktree dirty."""
    auth.world.git("config", "worker.agent.log-max-bytes", "100")
    with auth.running("cat", stdin=-1, stdout=-1) as process:
        assert process.stdin
        assert process.stdout
        auth.order("resume", "the settings are known by now")
        wait_until(lambda: len(auth.logs()) == 2)
        for _ in range(6):
            process.stdin.write(b"forty bytes of text, line feed, dots...\n")
            process.stdin.flush()
            read_until(process.stdout.fileno(), b"dots...\n")
        process.stdin.close()
        process.stdin = None
        assert process.wait(DEADLINE_S) == 0
    aside = auth.world.state_dir / "logs" / "auth-t1.log.1"
    assert auth.log.stat().st_size <= 100
    assert aside.stat().st_size <= 100
    assert auth.world.git("status", "--porcelain", cwd=auth.path) == ""


def test_it_is_kept_when_the_worktree_is_removed(auth: SupervisedWorker) -> None:
    """A cancelled worker's log is in the kept logs, and undo also restores it to its place."""
    auth.exec("echo precious; exit 1")
    ok(auth.world.root, "reset", "auth")
    (kept,) = (auth.world.state_dir / "logs").glob("auth-t1-*.log")
    assert kept.read_text() == "precious\n"
    undo(auth.world.session())
    assert auth.log.read_text() == "precious\n"


def test_its_place() -> None:
    """The log is in the worktree, and its older part is in the state directory."""
    from gitworker.paths import StatePaths

    log = open_log(StatePaths("/state"), worktree="/w", worker="auth", task="t1")
    assert (log._path, log._older) == ("/w/.worker.log", "/state/logs/auth-t1.log.1")


def test_a_fifo_in_its_place(log: AgentLog, tmp_path: Path) -> None:
    """A log that is a FIFO blocks nothing, and its bytes are counted as lost."""
    os.mkfifo(tmp_path / "log")
    log.write(b"x" * 300_000)
    assert log.lost_bytes == 300_000


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_another_thing_takes_its_place(
    log: AgentLog, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    """A log whose place a fifo or a directory took is counted as lost in the end, or comes back."""
    log.max_bytes = 0
    for is_over in (False, True):
        log.write(b"12345")
        (tmp_path / "log").unlink()
        make(tmp_path / "log")
        log.write(b"67")
        if is_over:
            break
        (tmp_path / "log").unlink() if make is os.mkfifo else (tmp_path / "log").rmdir()
        log.write(b"89")
        assert (tmp_path / "log").read_bytes() == b"123456789"
    log.close()
    assert log.lost_bytes == len(b"1234567891234567")


def test_a_full_log_without_a_place(log: AgentLog, tmp_path: Path) -> None:
    """A full log that cannot be restored stays bounded, and moves no file of others."""
    log.write(b"12345")
    (tmp_path / "log").unlink()
    (tmp_path / "log").mkdir()
    log.write(b"67")
    log.write(b"8901")
    log.write(b"2")
    assert log.lost_bytes == 12
    assert (tmp_path / "log").is_dir()
    assert not (tmp_path / "aside").exists()


@pytest.mark.parametrize("kind", ["file", "link", "fifo", "directory"])
def test_a_name_that_is_taken(auth: SupervisedWorker, tmp_path: Path, kind: str) -> None:
    """A tracked or foreign file is not written to: the log gets another name."""
    precious = tmp_path / "precious"
    precious.write_text("precious\n")
    if kind == "file":
        auth.log.write_text("precious\n")
        auth.world.git("add", "-f", ".worker.log", cwd=auth.path)
        auth.world.git("commit", "-q", "-m", "Track it", cwd=auth.path)
    elif kind == "link":
        auth.log.symlink_to(precious)
    elif kind == "fifo":
        os.mkfifo(auth.log)
    else:
        auth.log.mkdir()
    answer = auth.exec("echo said; exit 1")
    kept = auth.world.state_dir / "logs" / "auth-t1.agent.log"
    assert kept.read_text() == "said\n"
    assert str(kept) in answer.err
    assert precious.read_text() == "precious\n"
    if kind == "file":
        assert auth.log.read_text() == "precious\n"
    assert "said" in ok(auth.world.root, "show", "auth")
    ok(auth.world.root, "log", "auth")
    ok(auth.world.root, "cancel", "auth")


# `-s`: a complaint of grep would be output too, which puts the log back after `rm`.
@pytest.mark.parametrize("first", ["", "echo one; until grep -qs one .worker.log; do :; done;"])
def test_a_checkout_that_brings_the_name(auth: SupervisedWorker, first: str) -> None:
    """A file of that name that appears while the agent works stays as it was written."""
    script = (
        f"{first} rm -f .worker.log; echo tracked > .worker.log; git add -f .worker.log;"
        " git commit -qm Tracked; echo two"
    )
    auth.exec(script)
    assert auth.log.read_text() == "tracked\n"
    assert "two" in (auth.world.state_dir / "logs" / "auth-t1.agent.log").read_text()
