"""Damaged worktrees: fsck and doctor find each; a repair or the named command restores them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.fsck.doctor import read_doctor
from gitworker.fsck.finding import Finding, Level
from gitworker.fsck.fsck import run_fsck, run_repair
from tests.crash.inventory import all_bytes
from tests.hints.following import note
from tests.workers.damaging import PLACES, bytes_below
from tests.workers.world import World

REPAIRED = {
    "no_git_file", "garbage", "other_worktree", "main", "other_repository", "unknown",
    "other_place", "other_worker", "link_to_main", "link_to_worker", "copy_of_worker",
}  # fmt: skip
ROUNDS = 4


def dirty(world: World) -> Path:
    """Return the worktree of `auth` with staged, unstaged and untracked work; `bob` has one too."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.working("bob", "form", {"b": "1\n"})
    Repo(place).write({"a": "2\n", "new": "mine\n", "staged": "3\n"})
    world.git("add", "staged", cwd=place)
    Repo(world.root).write({"README": "changed by the user\n"})
    return place


def complaints(world: World) -> list[str]:
    """Return the reports of doctor that are not ok."""
    found = read_doctor(world.session()).findings
    return [f"{one.message} {one.hint}" for one in found if one.level is not Level.OK]


def follow(world: World, finding: Finding, **names: str) -> None:
    """Run the command that a finding names, as a user copies it; `names` if it was moved."""
    command, _, remark = finding.hint.partition("   # ")
    if all(name in remark for name in names) and names:
        command = remark.partition("moved: ")[2]
    note(command, finding.message)
    for name, value in names.items():
        command = command.replace(name, value)
    subprocess.run(["/bin/sh", "-c", command], cwd=world.root, check=False, timeout=300)


def restore(world: World, **names: str) -> int:
    """Repair, then run the commands of the remaining findings; return their number."""
    for number in range(ROUNDS):
        left = run_repair(world.session()).left.findings
        if not left:
            return number
        assert all(one.repair is None for one in left)
        follow(world, left[0], **names)
    raise AssertionError(run_fsck(world.session()).findings)


@pytest.mark.parametrize("state", PLACES)
def test_each_damage_is_found_and_can_be_repaired(world: World, state: str) -> None:
    """Each damage of a worktree is reported, and the named commands restore it without loss."""
    place = dirty(world)
    tip, staged = world.tip("auth/login"), world.git("ls-files", "-s", cwd=place)
    PLACES[state](world, place)
    kept = set(all_bytes(World(world.root.parent)))
    mine, bobs = bytes_below(world.root), bytes_below(world.path("bob"))
    found = run_fsck(world.session()).findings
    assert any(str(place) in one.message or "auth" in one.message for one in found), found
    if state != "other_worker":
        assert any(str(place) in line for line in complaints(world))
    commands = restore(world, **{"<new-place>": str(world.root.parent / "far/away/login")})
    assert (commands == 0) is (state in REPAIRED), found
    assert run_fsck(world.session()).findings == ()
    assert [line for line in complaints(world) if "belongs to no worker" not in line] == []
    assert kept <= set(all_bytes(World(world.root.parent)))
    assert (bytes_below(world.root), bytes_below(world.path("bob"))) == (mine, bobs)
    assert world.tip("auth/login") == tip
    if state != "unknown":
        assert world.git("ls-files", "-s", cwd=world.path("auth")) == staged
    assert (world.path("auth") / "new").read_text() == "mine\n"


@pytest.mark.parametrize("target", ["worktrees/other", "../elsewhere", "sub dir"])
def test_a_moved_worktree_is_recorded(world: World, target: str) -> None:
    """A worktree that `mv` moved inside the repository's surroundings is found and recorded."""
    place = dirty(world)
    new = Path(os.path.normpath(world.root / target))
    place.rename(new)
    (found,) = run_fsck(world.session()).findings
    assert (found.code, str(new) in found.message) == ("worktree_moved", True)
    assert any(str(place) in line for line in complaints(world))
    assert restore(world) == 0
    assert world.path("auth") == new
    assert (new / "new").read_text() == "mine\n"
    assert world.git("status", "--porcelain", cwd=new) == "M a\nA  staged\n?? new"


def test_a_worktree_moved_far_away(world: World) -> None:
    """A worktree that cannot be found is connected again by the command that fsck names."""
    place = dirty(world)
    new = world.root.parent / "far" / "away"
    new.parent.mkdir()
    place.rename(new)
    (found,) = run_fsck(world.session()).findings
    assert found.code == "worktree_missing"
    assert restore(world, **{"<new-place>": str(new)}) == 1
    assert world.path("auth") == new


def test_a_copy_is_no_moved_worktree(world: World) -> None:
    """A copy next to a deleted worktree is not proved to be the worktree, so it is not used."""
    place = dirty(world)
    shutil.copytree(place, place.parent / "copy", symlinks=True)
    shutil.rmtree(place)
    assert [one.code for one in run_fsck(world.session()).findings] == ["worktree_missing"]
    assert world.path("auth") == place


def test_a_deleted_worktree_is_restored(world: World) -> None:
    """A worktree deleted by `rm -rf` is restored by the command that fsck names."""
    place = dirty(world)
    staged = world.git("ls-files", "-s", cwd=place)
    shutil.rmtree(place)
    assert restore(world) == 1
    assert run_fsck(world.session()).findings == ()
    assert (place / "a").read_text() == "1\n"
    assert (place / "staged").read_text() == "3\n"
    assert world.git("ls-files", "-s", cwd=place) == staged


@pytest.mark.parametrize("has_worktrees", [True, False])
def test_a_copied_repository(world: World, has_worktrees: bool) -> None:
    """In a copy of a repository the worker gets a worktree there; the original keeps its own."""
    place = dirty(world)
    copy = World(world.root.parent / "copy")
    shutil.copytree(world.root, copy.root, symlinks=True)
    if not has_worktrees:
        shutil.rmtree(copy.root / "worktrees")
    before = bytes_below(place), world.git("status", "--porcelain", cwd=place), world.rows()
    found = run_fsck(copy.session()).findings
    assert {one.code for one in found} >= {"worktree_copied"}
    assert run_repair(copy.session()).left.findings == ()
    assert copy.path("auth") == copy.root / "worktrees" / "login"
    if has_worktrees:
        assert (copy.path("auth") / "new").read_text() == "mine\n"
    copy.commit("auth", {"only-here": "1\n"})
    assert before == (
        bytes_below(place),
        world.git("status", "--porcelain", cwd=place),
        world.rows(),
    )
    assert run_fsck(world.session()).findings == ()
