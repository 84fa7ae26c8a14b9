"""Damage to the state directory is found and repaired without a crash or a wait."""

import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gitworker.errors import Unavailable
from gitworker.fsck.checks.misplaced import open_repaired
from gitworker.fsck.doctor import read_doctor, read_doctor_without_session
from gitworker.fsck.fsck import run_fsck, run_repair
from gitworker.paths import (
    DAMAGED,
    DATABASE,
    LOGS,
    STATE_DIRECTORIES,
    STATE_FILES,
    require_repository,
)
from gitworker.repo.hooks.layout import ALWAYS, SHARED, STAMP
from gitworker.session import OTHER_ROOT
from tests.workers.planting import sql
from tests.workers.world import World

BESIDE = {f"{name}.db-{end}" for name in ("bus", "search") for end in ("journal", "shm", "wal")}
OURS = (
    *sorted(STATE_DIRECTORIES | STATE_FILES - {DATABASE} - BESIDE - LOGS),  # open in this process
    "spool/hooks", "spool/ring", "locks/landing", "locks/worktrees", "locks/worktrees.child",
    "locks/views", "locks/hooks",
)  # fmt: skip
LATER = ("workers/auth.json", "reviews/auth.json")  # opened only by their readers
LIMIT_S = 60


def other_kind(path: Path) -> None:
    """Create a directory in place of a file, or a file in place of a directory."""
    if path.name in STATE_DIRECTORIES and path.parent.name == "worker-state":
        path.write_text("a file\n")
    else:
        path.mkdir()
        (path / "inside").write_text("kept\n")


def fifo(path: Path) -> None:
    """Create a FIFO, which blocks any process that opens it."""
    os.mkfifo(path)


def dangling(path: Path) -> None:
    """Create a symbolic link to a path that does not exist."""
    path.symlink_to("/nonexistent/place")


def endpoint(path: Path) -> None:
    """Make a socket."""
    here = os.getcwd()
    os.chdir(path.parent)  # the address of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


KINDS = (other_kind, fifo, dangling, endpoint)


def replace_by(path: Path, kind: Callable[[Path], None]) -> None:
    """Replace the entry at a path with something else."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()
    kind(path)


@pytest.mark.parametrize("kind", KINDS)
def test_each_path_of_ours(world: World, kind: Callable[[Path], None]) -> None:
    """A misplaced entry at any path of ours is reported in one message, and fsck repairs it."""
    world.spawn("auth", "login")
    state = world.state_dir
    for name in OURS:
        replace_by(state / name, kind)
        with pytest.raises(Unavailable) as caught:
            world.session()
        assert (caught.value.code, caught.value.hint) == (DAMAGED, "git worker fsck --repair"), name
        assert str(state / name) in caught.value.message
        seen = read_doctor_without_session(require_repository(str(world.root)), caught.value)
        assert [one.message for one in seen.findings if one.level != "ok"] == [caught.value.message]
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(world.root)
            nothing, found = open_repaired(world.session, repair=False)
            session, moved = open_repaired(world.session, repair=True)
        assert nothing is None
        assert [(one.code, one.subject) for one in found] == [
            ("state_misplaced", str(state / name))
        ]
        assert session is not None
        assert len(moved) == 1
        assert run_repair(session).left.findings == (), name
        assert world.worker("auth").branch == "auth/login"
    kept = sorted(path.name for path in (state / "found").iterdir())
    assert len(kept) == len(OURS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LATER)
def test_views(world: World, name: str, kind: Callable[[Path], None]) -> None:
    """A misplaced entry at the path of a view is found and repaired, and blocks no command."""
    world.in_review("auth", "login", {"a": "1\n"})
    replace_by(world.state_dir / name, kind)
    found = run_fsck(world.session()).findings
    assert "state_misplaced" in {one.code for one in found}
    assert run_repair(world.session()).left.findings == ()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", sorted(LOGS))
def test_logs(world: World, name: str, kind: Callable[[Path], None]) -> None:
    """A misplaced entry at the path of a log fails no operation; doctor and fsck report it."""
    world.working("auth", "login", {"a": "1\n"})
    log = world.state_dir / name
    replace_by(log, kind)
    sending = ("msg", "send", "log", "{}")
    for words in (("done", "auth"), ("approve", "auth"), ("merge", "auth"), sending):
        done = command(world, *words)
        assert done.returncode == 0, (words, done)
    assert world.states("auth", "login")[1] == "COMPLETED"
    seen = [one.message for one in read_doctor(world.session()).findings if one.level == "fail"]
    assert any(str(log) in message for message in seen), seen
    assert "state_misplaced" in {one.code for one in run_fsck(world.session()).findings}
    assert run_repair(world.session()).left.findings == ()
    assert log.read_text()


@pytest.mark.parametrize("kind", KINDS)
def test_hooks(world: World, kind: Callable[[Path], None]) -> None:
    """A misplaced entry among our hook scripts is found and replaced."""
    world.spawn("auth", "login")
    for name in (*ALWAYS, SHARED, STAMP):
        replace_by(world.state_dir / "hooks" / name, kind)
        assert {one.code for one in run_fsck(world.session()).findings} == {"hooks_broken"}, name
        assert read_doctor(world.session()).findings
        assert run_repair(world.session()).left.findings == (), name
        assert (world.state_dir / "hooks" / name).is_file()


@pytest.mark.parametrize("kind", KINDS)
def test_the_database(world: World, kind: Callable[[Path], None]) -> None:
    """A misplaced entry at the database's path has no repair, and fsck creates no database."""
    world.spawn("auth", "login")
    database = world.state_dir / DATABASE
    kept = database.read_bytes()
    replace_by(database, kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(world.root)
        session, (found,) = open_repaired(world.session, repair=True)
    assert session is None
    assert found.hint.startswith(f"mv {database} {database}.found")
    database.rename(f"{database}.found")
    database.write_bytes(kept)
    assert run_fsck(world.session()).findings == ()
    # The hint is followed after the test, which moves this database away, too: without its log the
    # next one is not taken for a lost one.
    (world.state_dir / "transitions.jsonl").unlink()


@pytest.mark.parametrize("name", ["spool/hooks", "spool/ring", "spool", "hooks/gitworker.sh"])
def test_a_fifo_blocks_no_commit(world: World, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Our hooks never block git: a FIFO in the spool costs only the message."""
    place = Path(world.spawn("auth", "login").path)
    replace_by(world.state_dir / name, fifo)
    monkeypatch.delenv("GITWORKER_HOOKS")
    (place / "a").write_text("1\n")
    for words in (("add", "a"), ("commit", "-qm", "Work")):
        subprocess.run(["git", *words], cwd=place, check=True, timeout=LIMIT_S)
    replace_by(world.state_dir / name, lambda _: None)
    assert run_repair(world.session()).left.findings == ()


@pytest.mark.parametrize("name", ["bell", "limits", "target", "git-version", *sorted(BESIDE)])
def test_a_fifo_blocks_no_command(world: World, name: str) -> None:
    """A FIFO at any path that a command opens is reported at once, with status 1."""
    world.spawn("auth", "login")
    sql(world, "PRAGMA wal_checkpoint(TRUNCATE)")
    replace_by(world.state_dir / name, fifo)
    for words in (("status",), ("heartbeat", "auth"), ("spawn", "web", "pages")):
        done = command(world, *words)
        assert done.returncode == 1
        assert done.stderr.splitlines()[1] == "hint: git worker fsck --repair"
    done = command(world, "fsck", "--repair")
    assert (done.returncode, "repaired state_misplaced" in done.stdout) == (0, True), done
    if name in BESIDE:  # a connection of this process has it open
        shutil.rmtree(world.state_dir)


@pytest.mark.parametrize(
    "note", [b"a\0b\n", b"", b"\n", b"../..\n", b"/etc\n", b".git\n", b"wor\nktrees\n", b"\xff\0"]
)
def test_a_damaged_note_of_the_root(world: World, note: bytes) -> None:
    """A note that names no directory inside the checkout is found and repaired."""
    world.spawn("auth", "login")
    (world.state_dir / "worktree-root").write_bytes(note)
    found = run_fsck(world.session()).findings
    assert [one.code for one in found] == ["note_broken"]
    assert not os.path.lexists(world.root.parent / ".gitignore")
    assert run_repair(world.session()).left.findings == ()
    assert (world.state_dir / "worktree-root").read_text() == "worktrees\n"
    world.spawn("web", "pages")


def test_a_damaged_note_of_another_root(world: World) -> None:
    """The repaired note names the directory that our mark is in."""
    world.advance({"worktrees/README": "the project's\n"})
    world.spawn("auth", "login")
    note = world.state_dir / "worktree-root"
    assert note.read_text() == f"{OTHER_ROOT}\n"
    note.write_bytes(b"\0")
    assert run_repair(world.session()).left.findings == ()
    assert note.read_text() == f"{OTHER_ROOT}\n"


@pytest.mark.parametrize("note", [b"a\0b\n", b"", b"\xff\xfe"])
def test_damaged_caches(world: World, note: bytes) -> None:
    """A cache is trusted only if it can be read."""
    world.spawn("auth", "login")
    for name in ("target", "git-version", "limits", "checkout-sizes", "pool-parked", "bell"):
        (world.state_dir / name).write_bytes(note)
    assert run_fsck(world.session()).findings == ()
    for words in (("status",), ("spawn", "web", "pages"), ("heartbeat", "auth")):
        done = command(world, *words)
        assert done.returncode == 0, done.stderr


def command(world: World, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command that must end in time."""
    return subprocess.run(
        ["git-worker", *words], cwd=world.root, check=False, capture_output=True, text=True,
        timeout=LIMIT_S,
    )  # fmt: skip
