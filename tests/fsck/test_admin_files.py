"""Damaged files in the admin directory of a worktree: one message, and a repair that helps."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gitworker.fsck.fsck import run_fsck
from tests.cli.kit import run
from tests.crash.inventory import all_bytes
from tests.fsck.test_fsck_worktrees import complaints, dirty
from tests.workers.damaging import admin_of, bytes_below
from tests.workers.world import World, essence

REPAIR = "hint: git worker fsck --repair"
DAMAGES: dict[str, Callable[[Path], object]] = {
    "head_garbage": lambda admin: (admin / "HEAD").write_text("garbage\n"),
    "head_empty": lambda admin: (admin / "HEAD").write_text(""),
    "head_zeros": lambda admin: (admin / "HEAD").write_bytes(b"\0" * 30),
    "head_half_zeros": lambda admin: (admin / "HEAD").write_bytes(b"ref: refs/heads/a\0\0\0\0"),
    "head_gone": lambda admin: (admin / "HEAD").unlink(),
    "commondir_empty": lambda admin: (admin / "commondir").write_text(""),
    "commondir_zeros": lambda admin: (admin / "commondir").write_bytes(b"\0" * 6),
    "commondir_gone": lambda admin: (admin / "commondir").unlink(),
    "commondir_elsewhere": lambda admin: (admin / "commondir").write_text("nowhere\n"),
    "gitdir_empty": lambda admin: (admin / "gitdir").write_text(""),
    "gitdir_zeros": lambda admin: (admin / "gitdir").write_bytes(b"\0" * 30),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_commands_name_the_repair(world: World, damage: str) -> None:
    """With a damaged file, commands change nothing and name the command that repairs it."""
    place = dirty(world)
    before, mine = bytes_below(place), bytes_below(world.root)
    DAMAGES[damage](admin_of(world))
    kept = set(all_bytes(World(world.root.parent)))
    rows = world.rows()["workers"]
    for words in (("cancel", "auth"), ("done", "auth", "--commit", "-m", "x"), ("start", "auth")):
        answer = run(world.root, *words)
        assert answer.status == 1, answer
        assert REPAIR in answer.err, answer
        assert "fatal:" not in answer.err, answer
    shown = run(world.root, "show", "auth")
    assert shown.status == 0, shown
    assert str(place) in shown.out.replace("<root>", str(world.root)), shown
    assert any(str(place) in line or "commondir is empty" in line for line in complaints(world))
    assert world.rows()["workers"] == rows
    assert run(world.root, "fsck").status == 1
    repaired = run(world.root, "fsck", "--repair")
    assert repaired.status == 0, repaired
    assert run_fsck(world.session()).findings == ()
    assert bytes_below(place) == before
    assert bytes_below(world.root) == mine
    assert kept <= set(all_bytes(World(world.root.parent)))
    assert world.git("symbolic-ref", "HEAD", cwd=place) == "refs/heads/auth/login"
    assert "A  staged" in world.git("status", "--porcelain", cwd=place)


@pytest.mark.parametrize("damage", ["commondir_empty", "commondir_gone", "head_empty"])
def test_a_worktree_of_the_users_own(world: World, damage: str) -> None:
    """Damage in a user's own worktree blocks workers only until the repair."""
    world.working("auth", "login", {"a": "1\n"})
    world.git("worktree", "add", "-q", "../mine", "-b", "mine")
    before = essence(world)
    DAMAGES[damage](world.root / ".git/worktrees/mine")
    repaired = run(world.root, "fsck", "--repair")
    assert repaired.status == 0, repaired
    if damage.startswith("commondir"):
        assert essence(world) == before
    world.spawn("bob", "form")
