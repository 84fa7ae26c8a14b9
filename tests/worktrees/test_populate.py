"""The files a new worktree shares with the main checkout: copies of ignored files, and links."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import Refused
from gitworker.journal.undo.undo import undo
from gitworker.workers.cancel import cancel
from gitworker.worktrees.pool.keep_ready import keep_pool
from gitworker.worktrees.populate.populate import populate_worktree
from tests.workers.damaging import PLACES, bytes_below
from tests.workers.world import World, wait_until

IGNORE = "node_modules/\n*.o\n.env\nworktrees/\n"


@pytest.fixture
def furnished(world: World) -> World:
    """A repository with ignored files and a directory of dependencies."""
    world.advance({".gitignore": IGNORE})
    Repo(world.root).write({"node_modules/left/pad.js": "pad", ".env": "KEY=1", "a.o": "object"})
    return world


def test_copies(furnished: World) -> None:
    """Files that the setting or .worktreeinclude names are copied if git ignores them."""
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
    """If the branch has a link in the place of a directory, nothing is copied through it."""
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


@pytest.mark.parametrize(
    "state", ["no_git_file", "main", "other_worktree", "other_repository", "link_to_main"]
)
@pytest.mark.parametrize("setting", ["copy", "link"])
def test_only_a_proved_worktree_is_populated(furnished: World, state: str, setting: str) -> None:
    """Nothing is copied or linked into a directory that is not a worktree of this repository."""
    place = Path(furnished.spawn("auth", "login").path)
    furnished.spawn("bob", "form")
    PLACES[state](furnished, place)
    furnished.git("config", f"worker.worktree.{setting}", ".env" if setting == "copy" else "*.o")
    before = bytes_below(furnished.root)
    with pytest.raises(Refused):
        populate_worktree(furnished.session(), str(place), is_warm=True)
    assert bytes_below(furnished.root) == before
    assert not (place / ".env").is_symlink()


def test_copies_in_a_warm_worktree(furnished: World) -> None:
    """Copies that an earlier task has changed are copied again; its caches stay."""
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


def test_a_file_in_the_place_of_a_directory(furnished: World) -> None:
    """A copy or link below a path that is a file in the branch is left out, without a failure."""
    Repo(furnished.root).write({"deps/x.o": "object", "conf/node_modules/x": "1"})
    furnished.git("config", "worker.worktree.link", "conf/node_modules")
    os.rename(furnished.root / "deps", furnished.root / "elsewhere")
    os.rename(furnished.root / "conf", furnished.root / "conf-later")
    furnished.advance({"deps": "a file\n", "conf": "a file\n"})
    older = furnished.tip()
    furnished.git("rm", "-q", "deps", "conf")
    furnished.git("commit", "-qm", "Directories")
    os.rename(furnished.root / "elsewhere", furnished.root / "deps")
    os.rename(furnished.root / "conf-later", furnished.root / "conf")
    furnished.git("config", "worker.worktree.copy", "*.o")
    place = Path(furnished.spawn("auth", "login", start=older).path)
    assert (place / "deps").read_text() == (place / "conf").read_text() == "a file\n"
    assert (place / "a.o").exists()


def test_nothing_that_the_branch_does_not_ignore(furnished: World) -> None:
    """A secret is not copied to a path at which an older branch would let an agent commit it."""
    older = furnished.tip()
    furnished.advance({".gitignore": f"{IGNORE}secrets/\n/deps/\n"})
    Repo(furnished.root).write({"secrets/key": "KEY", "deps/x": "1"})
    furnished.git("config", "worker.worktree.copy", "secrets/\n.env")
    furnished.git("config", "worker.worktree.link", "deps")
    place = Path(furnished.spawn("auth", "login", start=older).path)
    assert furnished.git("status", "--porcelain", cwd=place) == ""
    assert not (place / "secrets").exists()
    assert not os.path.lexists(place / "deps")
    assert "/deps" not in (furnished.root / ".git/info/exclude").read_text()
    assert (place / ".env").exists()
    later = Path(furnished.spawn("bob", "other").path)
    assert (later / "secrets/key").exists()
    assert (later / "deps").is_symlink()


def test_a_directory_that_ignores_itself(furnished: World) -> None:
    """A directory with a `.gitignore` of its own, as tools make them, is copied with it."""
    Repo(furnished.root).write({".cache/.gitignore": "*\n", ".cache/built": "1"})
    furnished.git("config", "worker.worktree.copy", ".cache/")
    place = Path(furnished.spawn("auth", "login").path)
    assert (place / ".cache/built").read_text() == "1"
    assert furnished.git("status", "--porcelain", cwd=place) == ""


def test_a_copy_that_cannot_be_read(furnished: World) -> None:
    """An unreadable file is named, and the spawn taken back."""
    secret = furnished.root / "b.o"
    secret.write_text("object")
    secret.chmod(0)
    furnished.git("config", "worker.worktree.copy", "*.o")
    refs = furnished.refs()
    unprivileged = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")
    done = subprocess.run(
        [*(unprivileged if os.geteuid() == 0 else ()), "git-worker", "spawn", "auth", "login"],
        cwd=furnished.root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.stderr.startswith("setpriv:"):
        pytest.skip(done.stderr)
    assert (done.returncode, str(secret) in done.stderr) == (1, True), done.stderr
    assert furnished.refs() == refs
    assert not (furnished.root / "worktrees/login").exists()


def test_everything_that_is_ignored(furnished: World) -> None:
    """None of our files are copied, in the present directory for worktrees or an earlier one."""
    furnished.git("config", "worker.worktree.copy", "*")
    furnished.spawn("bob", "other")
    furnished.git("config", "worker.worktree.root", "../seats")
    place = Path(furnished.spawn("auth", "login").path)
    assert sorted(path.name for path in place.iterdir()) == [
        ".env", ".git", ".gitignore", "README", "a.o", "node_modules", "src",
    ]  # fmt: skip


def test_copies_that_do_not_fit(furnished: World) -> None:
    """Copies that would fill the disk are refused before the first of them, small ones aside."""
    with open(furnished.root / "big.o", "wb") as file:
        file.truncate(1 << 43)  # 8 TiB, and no block
    furnished.git("config", "worker.worktree.copy", "*.o")
    refs = furnished.refs()
    with pytest.raises(Refused) as caught:
        furnished.spawn("auth", "login")
    assert (caught.value.code, furnished.refs()) == ("disk_space", refs)
    (furnished.root / "big.o").unlink()
    furnished.spawn("auth", "login")


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
    """`git clean -ffdx` in the worktree removes the link and nothing behind it."""
    place = linked(furnished, "node_modules")
    furnished.git("clean", "-ffdxq", cwd=place)
    assert not (place / "node_modules").is_symlink()
    assert (furnished.root / "node_modules/left/pad.js").exists()


def test_removing_takes_the_link_alone(furnished: World) -> None:
    """Deleting a worktree, by cancel or by landing, deletes the link and nothing behind it."""
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


def test_links_by_a_pattern(furnished: World) -> None:
    """A wildcard names every directory of the main checkout that fits, at its own depth alone."""
    furnished.advance({"packages/one/a": "1\n", "packages/two/a": "1\n"})
    Repo(furnished.root).write({f"packages/{name}/node_modules/x": "1" for name in ("one", "two")})
    place = linked(furnished, "packages/*/node_modules", "no*thing", "/et*", "../*")
    links = {str(path.relative_to(place)) for path in place.rglob("*") if path.is_symlink()}
    assert links == {"packages/one/node_modules", "packages/two/node_modules"}
    furnished.git("config", "worker.worktree.pool", "1")
    shutil.rmtree(furnished.root / "packages/two/node_modules")
    furnished.in_review("bob", "t-bob", {"bob": "1\n"})
    furnished.approve("bob")
    furnished.land("bob")
    trash = furnished.root / "worktrees" / ".trash"
    wait_until(lambda: not list(trash.glob("*bob*")))
    assert (furnished.root / "packages/one/node_modules/x").exists()


def test_a_link_in_a_submodule(furnished: World, tmp_path: Path) -> None:
    """A path in a submodule is not linked, without a failure."""
    Repo.make(tmp_path / "lib").commit("Lib", {"lib.txt": "lib\n"})
    furnished.git(
        "-c", "protocol.file.allow=always", "submodule", "-q", "add", str(tmp_path / "lib"), "lib"
    )
    furnished.git("commit", "-qm", "A submodule")
    Repo(furnished.root).write({"lib/node_modules/x": "1"})
    furnished.git("config", "worker.worktree.copy", "node_modules/")
    place = linked(furnished, "lib/node_modules", "node_modules")
    assert (place / "node_modules").is_symlink()
    assert not os.path.lexists(place / "lib/node_modules")


@pytest.mark.parametrize(
    "name",
    [
        "../elsewhere", "/etc", ".", "", ".git", "src/../..", "worktrees", ".worker-state", "src",
        "notes", "absent", "alias", "alias/left", "README",
    ],
)  # fmt: skip
def test_names_that_are_never_linked(furnished: World, tmp_path: Path, name: str) -> None:
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
    """If the project does not ignore the name, no link is made."""
    furnished.advance({".gitignore": f"{IGNORE}!/node_modules\n/node_modules/*\n"})
    Repo(furnished.root).write({".git/info/exclude": "/node_modules/\n"})
    place = linked(furnished, "node_modules")
    assert furnished.git("status", "--porcelain", cwd=place) == ""
    assert not os.path.lexists(place / "node_modules")


def test_submodules(world: World, tmp_path: Path) -> None:
    """A spawn fills the submodules that the main checkout has; commits made there are kept."""
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
