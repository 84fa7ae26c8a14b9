"""fsck detects every missing object that a branch, the target or an open operation needs."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.fsck.fsck import run_fsck, run_repair
from gitworker.workers.cancel import cancel
from tests.cli.kit import run
from tests.hints.following import note
from tests.workers.world import World

NESTED = {"a": "1\n", "deep/down/b": "two\n"}


def file_of(world: World, revision: str) -> Path:
    """Return the loose file of an object."""
    oid = world.git("rev-parse", revision)
    return world.root / ".git" / "objects" / oid[:2] / oid[2:]


def damaged(world: World, revision: str, *, empty: bool) -> None:
    """Delete an object, or leave its file without content."""
    path = file_of(world, revision)
    path.chmod(0o600)
    path.write_bytes(b"")
    if not empty:
        path.unlink()


def codes(world: World) -> list[str]:
    """Return the codes of the findings of fsck."""
    return [one.code for one in run_fsck(world.session()).findings]


@pytest.mark.parametrize("empty", [False, True], ids=["deleted", "empty"])
@pytest.mark.parametrize(
    "revision",
    ["auth/login:a", "auth/login:deep/down/b", "auth/login:deep/down", "auth/login^{tree}",
     "main:README", "main:src", "main^{tree}", "main:link"],
)  # fmt: skip
def test_a_missing_object_is_written_again(world: World, revision: str, empty: bool) -> None:
    """A tree or blob whose files are unchanged in a worktree is found and written again."""
    os.symlink("README", world.root / "link")
    world.git("add", "link")
    world.git("commit", "-q", "-m", "A link")
    world.in_review("auth", "login", NESTED)
    before = world.git("ls-tree", "-r", "auth/login")
    damaged(world, revision, empty=empty)
    found = run(world.root, "fsck")
    assert ("object_empty" if empty else "object_missing") in found.out, found
    assert run(world.root, "fsck", "--repair").status == 0
    assert codes(world) == []
    assert world.git("ls-tree", "-r", "auth/login") == before
    world.git("fsck", "--strict")
    world.approve("auth")
    world.land("auth")


@pytest.mark.parametrize("revision", ["auth/login:a", "auth/login:deep", "auth/login~1"])
def test_an_object_of_another_clone(world: World, revision: str) -> None:
    """An object that only another clone has remains a finding; the hint fetches it."""
    world.working("auth", "login", NESTED)
    world.commit("auth", {"c": "3\n"})
    world.git("clone", "-q", "--mirror", "--no-hardlinks", str(world.root), "../clone")
    Repo(world.path("auth")).write({"a": "changed\n", "deep/down/b": "changed\n"})
    world.git("add", "-A", cwd=world.path("auth"))
    damaged(world, revision, empty=False)
    after = run_repair(world.session())
    left = [one for one in after.left.findings if one.code == "object_missing"]
    assert left, after
    failures = [error for one, error in after.failed if one.code == "object_missing"]
    (hint,) = [error.hint for error in failures]
    command = (hint or "").partition("   # ")[0].replace("'<clone>'", "../clone")
    command = command.replace("'<branch>'", "auth/login")
    world.git(*command.split()[1:])
    assert run_repair(world.session()).left.findings == ()
    note((hint or "").partition("   # ")[0], str(left))


def of_a_submitted_commit(world: World) -> str:
    """Return a blob of a commit that was submitted and then amended."""
    world.in_review("auth", "login", {"old": "submitted\n"})
    oid = world.git("rev-parse", "auth/login:old")
    place = world.path("auth")
    world.git("reset", "-q", "--soft", "HEAD~1", cwd=place)
    world.git("mv", "-f", "old", "new", cwd=place)
    world.git("commit", "-q", "-m", "other", cwd=place)
    return oid


def of_an_open_operation(world: World) -> str:
    """Return a blob of the branch of a killed operation."""
    world.working("auth", "login", NESTED)
    world.drive("cancel", "auth", GITWORKER_CRASH_AT="cancel.journal")
    return world.git("rev-parse", "auth/login:a")


def of_a_rescue(world: World) -> str:
    """Return a blob of a commit that only a rescue ref keeps."""
    world.working("auth", "login", NESTED)
    oid = world.git("rev-parse", "auth/login:a")
    cancel(world.session(), "auth")
    return oid


@pytest.mark.parametrize("make", [of_a_submitted_commit, of_an_open_operation, of_a_rescue])
def test_recorded_commits_are_checked(world: World, make: Callable[[World], str]) -> None:
    """A missing object of a submitted commit, an open operation or a rescue ref is found."""
    oid = make(world)
    path = world.root / ".git" / "objects" / oid[:2] / oid[2:]
    path.unlink()
    assert "object_missing" in codes(world)


def test_promised_objects_are_not_missing(world: World, tmp_path: Path) -> None:
    """In a partial clone only a missing object that no remote has promised is a finding."""
    world.git("config", "uploadpack.allowFilter", "true")
    world.git("rm", "-q", "src/app.py")
    world.git("commit", "-q", "-m", "Less")
    url = f"file://{world.root}"
    world.git("clone", "-q", "--filter=blob:none", url, str(tmp_path / "part"))
    part = World(tmp_path / "part")
    part.working("auth", "login", NESTED)
    assert "?" in part.git("rev-list", "--objects", "--missing=print", "main")
    assert codes(part) == []
    oid = part.git("rev-parse", "auth/login:a")
    (part.root / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    assert codes(part) == ["object_missing"]
    assert run_repair(part.session()).left.findings == ()


def test_the_users_own_worktree_is_checked(world: World) -> None:
    """A missing object of a user's own branch is found."""
    world.working("auth", "login", {"a": "1\n"})
    world.git("branch", "mine")
    world.git("worktree", "add", "-q", "../mine", "mine")
    Repo(world.root.parent / "mine").commit("Mine", {"m": "mine\n"})
    damaged(world, "mine:m", empty=False)
    assert codes(world) == ["object_missing"]


@pytest.mark.parametrize("empty", [False, True], ids=["deleted", "empty"])
@pytest.mark.parametrize("revision", ["main:.gitworker.toml", "main^{tree}"])
def test_objects_of_the_settings(world: World, revision: str, empty: bool) -> None:
    """If git cannot read the settings, commands refuse, and fsck writes the objects again."""
    world.advance({".gitworker.toml": '[worktree]\nroot = "../elsewhere"\n'})
    world.in_review("auth", "login", NESTED)
    damaged(world, revision, empty=empty)
    if not empty:
        refused = run(world.root, "spawn", "ben", "t2")
        assert (refused.status, refused.err.count("\n")) == (1, 2), refused
        assert "git worker fsck --repair" in refused.err
    found = run(world.root, "fsck")
    assert (found.status, "object_" in found.out) == (1, True), found
    assert not (world.root / "worktrees").exists()
    assert run(world.root, "fsck", "--repair").status == 0
    assert codes(world) == []
    world.approve("auth")
    world.land("auth")


def test_settings_without_a_checked_out_file(world: World) -> None:
    """If no worktree has the settings file, fsck names the command that fetches it."""
    world.advance({".gitworker.toml": "[worktree]\n"})
    world.git("clone", "-q", "--mirror", "--no-hardlinks", str(world.root), "../clone")
    (world.root / ".gitworker.toml").unlink()
    damaged(world, "main:.gitworker.toml", empty=False)
    found = run(world.root, "fsck")
    assert (found.status, "git fetch --refetch '<clone>'" in found.out) == (1, True), found
    left = run(world.root, "fsck", "--repair")
    assert (left.status, "git fetch --refetch '<clone>'" in left.err) == (4, True), left
    world.git("fetch", "--refetch", "../clone", "main")
    assert codes(world) == []
