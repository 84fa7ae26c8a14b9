"""Each destructive verb over a worktree full of everything: undo brings every byte and bit back."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import GitWorkerError
from gitworker.journal.undo.undo import undo
from gitworker.lifecycle.fail import fail
from gitworker.workers.cancel import cancel, reset
from tests.workers.world import World, newest

OLD_NS = 1_500_000_000_123_456_789  # long ago: only a moved file keeps this time

Picture = dict[str, object]


def fill(world: World, place: Path) -> None:
    """Leave staged, unstaged, both, deleted, renamed, intent-to-add, untracked and ignored files.

    With modes, links, an empty directory, names that need quoting, and flags of the index.
    """
    repo = Repo(place)
    repo.write(
        {
            "README": "staged\n",
            "src/app.py": "unstaged\n",
            "later": "intent to add\n",
            "new/deep/file": "untracked\n",
            "new/run": "#!/bin/sh\n",
            "x.o": "\0ignored",
            "deps.o/cache": "ignored\n",
            "na\tme\n": "odd\n",
            "assumed": "hidden change\n",
        }
    )
    world.git("add", "README", cwd=place)
    repo.write({"README": "staged, then changed\n"})
    world.git("add", "--intent-to-add", "later", cwd=place)
    world.git("mv", "moved", "renamed", cwd=place)
    world.git("rm", "-q", "--cached", "dropped", cwd=place)
    (place / "gone").unlink()
    (place / "tool").chmod(0o755)
    world.git("update-index", "--assume-unchanged", "assumed", cwd=place)
    (place / "new" / "run").chmod(0o755)
    (place / "new" / "empty").mkdir()
    os.symlink("deep", place / "new" / "link")
    os.symlink("nowhere", place / "broken")
    os.link(place / "new" / "run", place / "twin")
    for path in (place / "new/deep/file", place / "x.o", place / "deps.o/cache"):
        os.utime(path, ns=(OLD_NS, OLD_NS))


def conflict(world: World, place: Path) -> None:
    """Leave entries of a conflict in the index, by a stash that does not apply."""
    Repo(place).write({"README": "stashed\n"})
    world.git("stash", "-q", cwd=place)
    Repo(place).commit("Other", {"README": "other\n"})
    assert Repo(place).run("stash", "pop").returncode
    Repo(place).write({"x.o": "\0ignored", "new": "untracked\n"})


def rebase(world: World, place: Path) -> None:
    """Stop a real rebase with a conflict, after one commit, with more work on top."""
    Repo(place).commit("Fits", {"fits": "1\n"})
    Repo(place).commit("Mine", {"README": "mine\n"})
    Repo(place).commit("Later", {"later": "1\n"})
    side = world.root.parent / "side"
    Repo(world.root).worktree(side, "-b", "side").commit("Side", {"README": "side\n"})
    assert Repo(place).run("rebase", "side").returncode
    Repo(place).write({"x.o": "\0ignored", "new": "untracked\n", "fits": "changed meanwhile\n"})


def read_worktree(world: World, place: Path) -> Picture:
    """Return every file with its bytes, mode, times and links, the index, status and HEAD."""
    git = Repo(place)
    return {
        "files": dict(sorted(_files(place))),
        "entries": git.run("ls-files", "--stage", "-v", "-z").stdout,
        "unmerged": git.run("ls-files", "--unmerged", "-z").stdout,
        "staged": git.run("diff", "--cached", "--raw", "-z").stdout,
        "status": git.run(
            "status", "--porcelain=v2", "-z", "--ignored", "--untracked-files=all"
        ).stdout,
        "head": git.run("rev-parse", "HEAD").stdout,
        "branch": git.run("symbolic-ref", "-q", "HEAD").stdout,
        "rebase": sorted(path.name for path in _admin(world, place).glob("rebase-merge/*")),
        "reflog": git.run("reflog", "show", "HEAD", "--format=%H %gs").stdout,
    }


def _admin(world: World, place: Path) -> Path:
    return Path(world.git("rev-parse", "--absolute-git-dir", cwd=place))


def _files(place: Path) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for directory, folders, names in os.walk(place):
        for name in (*folders, *names):
            path = Path(directory, name)
            info = path.lstat()
            kind = stat.S_IFMT(info.st_mode)
            if path.name == ".git":
                continue
            if stat.S_ISLNK(kind):
                data: object = os.readlink(path)
            elif stat.S_ISREG(kind):
                data = (path.read_bytes(), info.st_mtime_ns, info.st_nlink)
            else:
                data = None
            found.append((str(path.relative_to(place)), (info.st_mode, data)))
    return found


START = {
    "moved": "1\n", "dropped": "1\n", "gone": "1\n", "tool": "1\n", "assumed": "1\n", "a": "1\n",
}  # fmt: skip
MESSES = {"everything": fill, "conflict": conflict, "rebase": rebase}


def at_work(world: World, mess: Callable[[World, Path], None]) -> Path:
    """Return the worktree of a worker at work, in that mess."""
    place = world.working("auth", "login", START)
    mess(world, place)
    return place


@pytest.mark.parametrize("mess", MESSES)
def test_cancel(world: World, mess: str) -> None:
    """A cancelled worktree is as it was: index, rebase, conflict, modes, links and times."""
    place = at_work(world, MESSES[mess])
    before = read_worktree(world, place)
    cancel(world.session(), "auth")
    assert not place.exists()
    undo(world.session())
    assert read_worktree(world, place) == before


@pytest.mark.parametrize("mess", MESSES)
def test_reset(world: World, mess: str) -> None:
    """So is one that was reset."""
    place = at_work(world, MESSES[mess])
    fail(world.session(), "auth", reason="stuck")
    before = read_worktree(world, place)
    reset(world.session(), "auth")
    undo(world.session())
    assert read_worktree(world, place) == before


@pytest.mark.parametrize("mess", MESSES)
def test_an_undone_rescue_keeps_every_byte(world: World, mess: str) -> None:
    """The rescue ref alone holds every tracked and untracked byte if the trash is lost."""
    place = at_work(world, MESSES[mess])
    wanted = {
        name: data[1][0]  # type: ignore[index]
        for name, data in _files(place)
        if isinstance(data[1], tuple) and not name.endswith(".o") and "deps.o" not in name  # type: ignore[index]
    }
    freed = cancel(world.session(), "auth")
    assert freed.rescue_ref is not None
    listed = Repo(world.root).run("ls-tree", "-r", "-z", "--name-only", freed.rescue_ref).stdout
    kept = set(os.fsdecode(listed).split("\0"))
    for name, data in wanted.items():
        assert name in kept, name
        got = Repo(world.root).run("cat-file", "blob", f"{freed.rescue_ref}:{name}").stdout
        assert got == data, name


def test_approve(world: World) -> None:
    """An approval's rebase under uncommitted work is taken back without a trace."""
    place = world.in_review("auth", "login", START)
    world.advance({"theirs": "1\n", "src/other": "1\n"})
    fill(world, place)
    before = read_worktree(world, place)
    world.approve("auth")
    undo(world.session())
    after = read_worktree(world, place)
    assert {**after, "reflog": None} == {**before, "reflog": None}


@pytest.mark.parametrize("mess", ["conflict", "rebase"])
def test_approve_refuses(world: World, mess: str) -> None:
    """An approval that would move a branch under an open rebase or a conflict refuses untouched."""
    place = world.in_review("auth", "login", START)
    MESSES[mess](world, place)
    world.advance({"theirs": "1\n"})
    before = read_worktree(world, place)
    with pytest.raises(GitWorkerError):
        world.approve("auth")
    assert {**read_worktree(world, place), "reflog": None} == {**before, "reflog": None}


@pytest.mark.parametrize("number", [None, "remove"])
def test_merge(world: World, number: str | None) -> None:
    """A landing, and the removal after it, bring back the worktree as it was before them."""
    place = world.approved("auth", "login", START)
    world.advance({"theirs": "1\n"})
    fill(world, place)
    before, main = read_worktree(world, place), world.tip("main")
    world.land("auth")
    assert not place.exists()
    undo(world.session(), number and newest(world, number))
    assert read_worktree(world, place) == before
    assert (world.tip("main") == main) is (number is None)


def test_merge_with_keep(world: World) -> None:
    """A kept worktree that followed to the landed commits is moved back with all its files."""
    place = world.approved("auth", "login", START)
    world.advance({"theirs": "1\n"})
    fill(world, place)
    before = read_worktree(world, place)
    world.land("auth", keep=True)
    assert (place / "theirs").exists()
    undo(world.session())
    after = read_worktree(world, place)
    assert {**after, "reflog": None} == {**before, "reflog": None}


@pytest.mark.parametrize("mess", ["conflict", "rebase"])
def test_merge_keeps_what_is_open(world: World, mess: str) -> None:
    """A landing keeps a worktree with an open rebase or a conflict in place, and so does undo."""
    place = world.approved("auth", "login", START)
    if mess == "rebase":
        side = world.root.parent / "side"
        Repo(world.root).worktree(side, "-b", "side").commit("Side", {"a": "side\n"})
        assert Repo(place).run("rebase", "side").returncode
    else:
        Repo(place).write({"README": "stashed\n"})
        world.git("stash", "-q", cwd=place)
        Repo(place).write({"README": "other\n"})
        world.git("add", "README", cwd=place)
        world.git("checkout-index", "-f", "README", cwd=place)
        Repo(place).run("stash", "pop", "--index")
    before, main = read_worktree(world, place), world.tip("main")
    world.land("auth")
    undo(world.session())
    assert read_worktree(world, place) == before
    assert world.tip("main") == main
