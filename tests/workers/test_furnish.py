"""What a new worktree shares with the main checkout: copies of ignored files, and links."""

import os
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.workers.cancel import cancel
from gitworker.workers.pool_care import keep_pool
from gitworker.workers.undo import undo
from tests.workers.world import World, wait_until

IGNORE = "node_modules/\n*.o\n.env\nworktrees/\n"


@pytest.fixture
def furnished(world: World) -> World:
    """A repository with ignored files and a directory of dependencies."""
    world.advance({".gitignore": IGNORE})
    Repo(world.root).write({"node_modules/left/pad.js": "pad", ".env": "KEY=1", "a.o": "object"})
    return world


def test_copies(furnished: World) -> None:
    """Patterns of the setting and of .worktreeinclude are copied, only what git ignores."""
    furnished.git("config", "worker.worktree.copy", "*.o\nnotes")
    Repo(furnished.root).write({".worktreeinclude": ".env\n", "notes": "untracked, not ignored"})
    os.chmod(furnished.root / "a.o", 0o750)
    place = Path(furnished.spawn("auth", "login").path)
    assert (place / "a.o").read_text() == "object"
    assert (place / "a.o").stat().st_mode & 0o777 == 0o750
    assert (place / ".env").read_text() == "KEY=1"
    assert not (place / "notes").exists()
    assert not (place / "node_modules").exists()


def test_a_copy_never_leaves_the_worktree(furnished: World, tmp_path: Path) -> None:
    """Where the branch has a link in the place of a directory, nothing is copied through it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (furnished.root / "out").symlink_to(outside)
    furnished.git("add", "out")
    furnished.git("commit", "-qm", "A link")
    linked = furnished.tip()
    furnished.git("rm", "-q", "out")
    furnished.git("commit", "-qm", "No link")
    Repo(furnished.root).write({"out/b.o": "object"})
    furnished.git("config", "worker.worktree.copy", "*.o")
    place = Path(furnished.spawn("auth", "login", start=linked).path)
    assert (place / "a.o").exists()
    assert list(outside.iterdir()) == []


def test_copies_in_a_warm_worktree(furnished: World) -> None:
    """Copies that an earlier task has changed are made anew; its caches stay."""
    furnished.git("config", "worker.worktree.copy", ".env")
    place = furnished.approved("bob", "t-bob", {"bob": "1\n"})
    Repo(place).write({".env": "KEY=stolen", "cache.o": "built"})
    furnished.git("config", "worker.worktree.pool", "1")
    furnished.land("bob")
    pool = furnished.root / "worktrees/.pool"
    wait_until(lambda: any(pool.glob("parked-*/tree/cache.o")))
    keep_pool(furnished.session())
    place = Path(furnished.spawn("auth", "login").path)
    assert (place / "cache.o").read_text() == "built"
    assert (place / ".env").read_text() == "KEY=1"


def linked(world: World, *names: str) -> Path:
    """Spawn a worker with links of these names; return its worktree."""
    world.git("config", "worker.worktree.link", "\n".join(names))
    return Path(world.spawn("auth", "login").path)


def test_a_link(furnished: World) -> None:
    """A linked directory is the main checkout's own, and git shows nothing of it anywhere."""
    place = linked(furnished, "node_modules")
    assert (place / "node_modules").is_symlink()
    assert (place / "node_modules/left/pad.js").read_text() == "pad"
    assert furnished.git("status", "--porcelain", cwd=place) == ""
    assert furnished.git("status", "--porcelain") == ""
    furnished.git("add", "--all", cwd=place)
    assert furnished.git("status", "--porcelain", cwd=place) == ""


def test_cleaning_takes_the_link_alone(furnished: World) -> None:
    """`git clean -ffdx` in the worktree removes the link, nothing of what it leads to."""
    place = linked(furnished, "node_modules")
    furnished.git("clean", "-ffdxq", cwd=place)
    assert not (place / "node_modules").is_symlink()
    assert (furnished.root / "node_modules/left/pad.js").exists()


def test_removing_takes_the_link_alone(furnished: World) -> None:
    """A worktree that goes, by cancel or by landing, takes the link along alone."""
    linked(furnished, "node_modules")
    cancel(furnished.session(), "auth")
    assert (furnished.root / "node_modules/left/pad.js").exists()
    undo(furnished.session())
    assert (furnished.path("auth") / "node_modules/left/pad.js").exists()
    place = furnished.approved("bob", "t-bob", {"bob": "1\n"})
    assert (place / "node_modules").is_symlink()
    furnished.land("bob")
    trash = furnished.root / "worktrees" / ".trash"
    wait_until(lambda: not list(trash.glob("*bob*")))  # nothing ignored was left in it
    assert (furnished.root / "node_modules/left/pad.js").exists()


@pytest.mark.parametrize(
    "name",
    [
        "../elsewhere", "/etc", ".", "", ".git", "src/../..", "worktrees", ".worker-state", "src",
        "notes", "absent", "alias", "alias/left", "README",
    ],
)  # fmt: skip
def test_what_is_never_linked(furnished: World, tmp_path: Path, name: str) -> None:
    """Nothing tracked, outside, ours, git's, unignored or absent is linked, nor any link."""
    (tmp_path / "elsewhere").mkdir()
    Repo(furnished.root).write({"notes/a": "untracked"})
    (furnished.root / "alias").symlink_to("node_modules")
    Repo(furnished.root).write({".git/info/exclude": "alias\n"})
    place = linked(furnished, name or "./", "node_modules")
    links = {path.name for path in place.rglob("*") if path.is_symlink()}
    assert links == {"node_modules"}
    assert furnished.git("status", "--porcelain", cwd=place) == ""


def test_a_link_that_git_would_show(furnished: World) -> None:
    """Where the project says that the name is not ignored, there is no link."""
    furnished.advance({".gitignore": f"{IGNORE}!/node_modules\n/node_modules/*\n"})
    Repo(furnished.root).write({".git/info/exclude": "/node_modules/\n"})
    place = linked(furnished, "node_modules")
    assert furnished.git("status", "--porcelain", cwd=place) == ""
    assert not os.path.lexists(place / "node_modules")


def test_submodules(world: World, tmp_path: Path) -> None:
    """A spawn fills the submodules that the main checkout has; what is done there outlives it."""
    library = Repo.make(tmp_path / "lib")
    library.commit("Lib", {"lib.txt": "lib\n"})
    allow = ("-c", "protocol.file.allow=always")
    world.git(*allow, "submodule", "--quiet", "add", str(library.root), "lib")
    world.git("commit", "-qm", "A submodule")
    with_parked(world)
    place = Path(world.spawn("auth", "login").path)
    assert (place / "lib/lib.txt").read_text() == "lib\n"
    own = Repo(place / "lib").commit("Mine", {"mine": "1\n"})
    cancel(world.session(), "auth")
    assert own in world.git("rev-list", "--all", cwd=world.root / "lib")
    undo(world.session())
    assert world.git("rev-parse", "HEAD", cwd=place / "lib") == own
    bob = world.approved("bob", "t-bob", {"bob": "1\n"})
    assert (bob / "lib/lib.txt").exists()
    world.land("bob")
    assert not bob.exists()


def with_parked(world: World) -> None:
    """Park one worktree."""
    world.git("config", "worker.worktree.pool", "1")
    keep_pool(world.session())
    world.git("config", "worker.worktree.reuse", "false")
