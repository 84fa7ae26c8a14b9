"""Worktrees and repositories that were moved or copied without git."""

import os
import shutil
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import GitWorkerError
from gitworker.journal.settle import settle
from gitworker.journal.undo.undo import undo
from gitworker.lifecycle.fail import fail
from gitworker.workers.cancel import cancel, reset
from tests.cli.kit import run
from tests.crash.inventory import all_bytes
from tests.hints.following import note
from tests.workers.damaging import PLACES, bytes_below
from tests.workers.world import World, is_at_work, wait_until

VERBS = (
    ("cancel", "auth"),
    ("done", "auth", "--commit", "-m", "x"),
    ("merge", "bob"),
    ("exec", "auth", "--", "true"),
    ("start", "auth"),
)


def _with_work(world: World) -> Path:
    """Return the worktree of `auth` with staged, changed and untracked files."""
    place = world.working("auth", "login", {"a": "1\n"})
    Repo(place).write({"a": "2\n", "new": "mine\n", "staged": "mine too\n"})
    world.git("add", "staged", cwd=place)
    return place


@pytest.mark.parametrize("where", ["worktrees/other", "other", "../other"])
def test_moved_by_hand_is_found(world: World, where: str) -> None:
    """A worktree that was moved by `mv` nearby is the worker's at its new place at once."""
    place = _with_work(world)
    moved = (world.root / where).resolve()
    place.rename(moved)
    settle(world.session())
    world.submit("auth", commit_message="All of it")
    assert world.worker("auth").worktree == str(moved)
    assert world.show("new", "auth/login") == "mine"
    assert str(moved) in world.worktrees()


def test_a_copy_is_no_moved_worktree(world: World) -> None:
    """A copy beside the place of a worktree that is out of sight is not taken for it."""
    place = _with_work(world)
    shutil.copytree(place, f"{place}.copy", symlinks=True)
    place.rename(world.root.parent / "far")
    (world.root.parent / "far").rename(world.root / "worktrees" / "far")
    settle(world.session())
    assert world.worker("auth").worktree == f"{world.root}/worktrees/far"


@pytest.mark.parametrize("is_deleted", [True, False])
def test_cancel_of_a_missing_worktree(world: World, is_deleted: bool) -> None:
    """`cancel` reports that nothing uncommitted was found, and its undo has an end."""
    place = _with_work(world)
    tip = world.tip("auth/login")
    far = world.root.parent / "far" / "away"
    far.parent.mkdir()
    place.rename(far)
    if is_deleted:
        shutil.rmtree(far)
    answer = run(world.root, "cancel", "auth")
    assert answer.status == 0, answer
    assert f"its worktree was not at {place}" in answer.out
    assert "work is kept" not in answer.out
    assert world.worktrees() == []
    answer = run(world.root, "undo")
    assert answer.status == 0, answer
    assert world.tip("auth/login") == tip
    assert world.path("auth") == place
    assert (place / "a").read_text() == "1\n"
    assert world.states("auth", "login")[0] == "WORKING"
    assert is_deleted or (far / "new").read_text() == "mine\n"


def test_moved_back_before_the_undo(world: World) -> None:
    """A worktree that was moved back before the undo of its cancel is restored unchanged."""
    place = _with_work(world)
    before, status = bytes_below(place), world.git("status", "--porcelain", cwd=place)
    far = world.root.parent / "far" / "away"
    far.parent.mkdir()
    place.rename(far)
    cancel(world.session(), "auth")
    far.rename(place)
    undo(world.session())
    assert bytes_below(place) == before
    assert world.git("status", "--porcelain", cwd=place) == status
    world.submit("auth", commit_message="All of it")


def test_a_missing_worktree_keeps_no_task(world: World) -> None:
    """After the reset of a worker whose worktree was deleted its task can have another worker."""
    shutil.rmtree(world.working("auth", "login", {"a": "1\n"}))
    fail(world.session(), "auth", reason="lost")
    reset(world.session(), "auth")
    place = world.root / "worktrees" / "login@bob"
    assert world.working("bob", "login", {"b": "1\n"}) == place


@pytest.mark.parametrize("is_left", [True, False])
@pytest.mark.parametrize("verb", VERBS)
def test_copied_repository(world: World, verb: tuple[str, ...], is_left: bool) -> None:
    """A command in a copy of a repository changes nothing of the original."""
    place = _with_work(world)
    world.approved("bob", "form", {"b": "1\n"})
    copy = World(world.root.parent / "copy")
    shutil.copytree(world.root, copy.root, symlinks=True)
    if not is_left:
        world.root.rename(world.root.parent / "original")
    before = _inventory(world.root if is_left else world.root.parent / "original")
    answer = run(copy.root, *verb)
    assert answer.status in (0, 1), answer
    assert answer.status == 1 or verb[0] == "merge", answer
    assert "git -C" not in answer.err
    assert _inventory(world.root if is_left else world.root.parent / "original") == before
    assert (copy.root / "worktrees" / "login" / "new").read_text() == "mine\n"
    assert place.exists() == is_left
    if not is_left:
        (world.root.parent / "original").rename(world.root)


def test_in_a_copied_worktree(world: World) -> None:
    """A command inside the copy of a worktree does not change the original."""
    place = _with_work(world)
    tip = world.tip("auth/login")
    copy = world.root.parent / "copy"
    shutil.copytree(place, copy, symlinks=True)
    answer = run(copy, "done", "--commit", "-m", "x")
    assert answer.status == 1, answer
    assert "is a copy of the worktree" in answer.err
    assert f"hint: cd {place}   # the original\n" in answer.err
    assert world.tip("auth/login") == tip


def test_journal_of_a_copied_repository(world: World) -> None:
    """The undo of a cancel in a copy does not touch the trash of the original."""
    _with_work(world)
    cancel(world.session(), "auth")
    copy = World(world.root.parent / "copy")
    shutil.copytree(world.root, copy.root, symlinks=True)
    before = _inventory(world.root)
    with pytest.raises(GitWorkerError) as caught:
        undo(copy.session())
    assert caught.value.code == "worktree_copied"
    assert _inventory(world.root) == before
    command, _, remark = (caught.value.hint or "").partition("   # ")
    copy.git(*command.split()[1:])
    note(command, caught.value.message)
    assert copy.show("a", "auth/login") == "1"
    assert copy.show("new", remark.rpartition(" ")[2].rstrip(")")) == "mine"
    undo(world.session())
    assert (world.path("auth") / "new").read_text() == "mine\n"


@pytest.mark.parametrize("point", ["trash-recorded", "trash-admin", "cancel.journal"])
def test_killed_and_copied(world: World, point: str) -> None:
    """The repair of a `cancel` killed in a copied repository does not touch the original."""
    _with_work(world)
    assert world.drive("cancel", "auth", GITWORKER_CRASH_AT=point).returncode == -9
    copy = World(world.root.parent / "copy")
    shutil.copytree(world.root, copy.root, symlinks=True)
    before = _inventory(world.root)
    settle(copy.session())
    run(copy.root, "recover")
    assert _inventory(world.root) == before
    settle(world.session())
    undo(world.session())
    assert (world.path("auth") / "new").read_text() == "mine\n"


@pytest.mark.parametrize("point", ["spawn.hooks", "spawn.worktree", "spawn.journal"])
def test_killed_spawn_and_copied(world: World, point: str) -> None:
    """The repair of a `spawn` killed in a copied repository does not touch the original."""
    done = world.drive("spawn", "auth", "login", GITWORKER_CRASH_AT=point)
    assert done.returncode == -9
    copy = World(world.root.parent / "copy")
    shutil.copytree(world.root, copy.root, symlinks=True)
    before = _inventory(world.root)
    settle(copy.session())
    assert _inventory(world.root) == before


@pytest.mark.parametrize("days", [0, 8, 40])
@pytest.mark.parametrize("verb", [("gc",), ("undo",), ("recover",)])
def test_trash_of_a_copied_repository(world: World, verb: tuple[str, ...], days: int) -> None:
    """A deletion or undo in the trash of a copy does not change the original."""
    _with_work(world)
    cancel(world.session(), "auth")
    place = world.approved("bob", "form", {"b": "1\n"})
    Repo(place).write({"left": "untracked\n"})
    world.land("bob")
    copy = World(world.root.parent / "copy")
    shutil.copytree(world.root, copy.root, symlinks=True)
    before = _inventory(world.root)
    for path in (copy.root / "worktrees" / ".trash").iterdir():
        then = path.stat().st_mtime - days * 86400
        os.utime(path, (then, then))
    answer = run(copy.root, *verb)
    assert answer.status in (0, 1), answer
    run(copy.root, "undo")
    wait_until(lambda: not is_at_work(copy.root))
    assert _inventory(world.root) == before


@pytest.mark.parametrize("state", sorted(PLACES.keys() - {"moved"}))
def test_undo_of_a_merge_beside_a_damaged_worktree(world: World, state: str) -> None:
    """The undo of a landing whose worktree was kept and damaged changes nothing of others."""
    world.working("bob", "form", {"b": "1\n"})
    place = world.approved("auth", "login", {"a": "1\n"})
    world.merge("auth", keep=True)
    PLACES[state](world, place)
    kept = set(all_bytes(World(world.root.parent)))
    bobs, tip = bytes_below(world.path("bob")), world.tip("bob/form")
    answer = run(world.root, "undo")
    assert answer.status in (0, 1), answer
    assert (answer.status == 0) or "hint:" in answer.err
    assert (bytes_below(world.path("bob")), world.tip("bob/form")) == (bobs, tip)
    assert kept <= set(all_bytes(World(world.root.parent)))
    assert world.query("SELECT * FROM operations WHERE status = 'open'") == []


def _inventory(root: Path) -> dict[str, bytes]:
    """Return every file of a repository with its bytes, except those that any command may renew."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_file() and not path.is_symlink() and "worker-state" not in name:
            found[name] = path.read_bytes()
    return found
