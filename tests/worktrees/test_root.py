"""The directory of our worktrees: it is ours, hidden from git, and on the same file system."""

import os
import shutil
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import Refused
from gitworker.journal.undo.undo import undo
from gitworker.workers.cancel import cancel
from gitworker.workers.worktree_hooks import install_hooks, uninstall_everything
from gitworker.worktrees.worktree_root import MARK
from tests.workers.world import World, unchanged


def set_root(world: World, place: Path | str) -> None:
    """Set the directory in which worktrees are made."""
    world.git("config", "worker.worktree.root", str(place))


def test_the_projects_own_directory(world: World) -> None:
    """If the project has files in `worktrees/`, ours are elsewhere and hide none of its files."""
    world.advance({"worktrees/tracked.md": "x\n"})
    place = Path(world.spawn("auth", "login").path)
    assert place == world.root / "worker-worktrees" / "login"
    Repo(place).write({"worktrees/new.md": "a new chapter\n"})
    Repo(world.root).write({"worktrees/mine.md": "a draft\n"})
    assert world.git("status", "--porcelain", cwd=place) == "?? worktrees/new.md"
    assert world.git("status", "--porcelain") == "?? worktrees/mine.md"
    (world.root / "worktrees" / "mine.md").unlink()
    cancel(world.session(), "auth")
    world.git("rm", "-rq", "worktrees")
    assert world.session().worktree_root == str(world.root / "worker-worktrees")
    undo(world.session())
    assert (place / "worktrees" / "new.md").read_text() == "a new chapter\n"


def test_the_agents_own_directory(world: World) -> None:
    """A directory `worktrees/` that an agent makes in its worktree is one like any other."""
    place = world.working("auth", "login", {"a": "1\n"})
    Repo(place).write({"worktrees/new.md": "a new chapter\n"})
    assert world.git("status", "--porcelain", cwd=place) == "?? worktrees/"
    assert world.git("status", "--porcelain") == ""


def test_worktrees_of_the_user_beside_ours(world: World) -> None:
    """Worktrees that the user made there are not project files: ours are made beside them."""
    world.git("worktree", "add", "-q", "worktrees/mine")
    assert world.spawn("auth", "login").path == str(world.root / "worktrees" / "login")


def test_git_clean_takes_only_the_mark(world: World) -> None:
    """Our files that `git clean -fdx` deletes are written again by the next command."""
    world.spawn("auth", "login")
    world.git("clean", "-fdxq")
    assert not (world.root / "worktrees" / ".gitignore").exists()
    world.session()
    assert world.git("status", "--porcelain") == ""


def test_uninstall_leaves_no_mark(world: World) -> None:
    """Our mark is removed and added with the excludes; a user's file in its place stays."""
    world.spawn("auth", "login")
    mark = world.root / "worktrees" / ".gitignore"
    uninstall_everything(world.session())
    assert not mark.exists()
    install_hooks(world.session())
    assert mark.read_text() == MARK
    cancel(world.session(), "auth")
    mark.write_text("mine\n")
    uninstall_everything(world.session())
    assert mark.read_text() == "mine\n"
    mark.write_text(MARK)
    uninstall_everything(world.session())
    assert world.git("status", "--porcelain") == ""  # the trash still holds the removed worktree
    shutil.rmtree(mark.parent / ".trash")
    uninstall_everything(world.session())
    assert not mark.parent.exists()


@pytest.mark.parametrize("setting", ["{repository}/.wt", ".wt"])
def test_inside_the_repository(world: World, setting: str) -> None:
    """A directory inside the main checkout is hidden from it, wherever it is."""
    set_root(world, setting)
    assert world.spawn("auth", "login").path == str(world.root / ".wt" / "login")
    assert world.git("status", "--porcelain") == ""


@pytest.mark.parametrize("setting", ["{repository}", "src"])
def test_among_the_projects_files(world: World, setting: str) -> None:
    """A directory with files of the project is refused."""
    set_root(world, setting)
    with unchanged(world, "root_taken"):
        world.spawn("auth", "login")


@pytest.mark.parametrize("setting", [".git", ".git/wt", ".worker-state/wt", ".git/worktrees"])
def test_inside_git(world: World, setting: str) -> None:
    """No worktree is made in git's own directory, by whichever name."""
    set_root(world, setting)
    with unchanged(world, "root_taken"):
        world.spawn("auth", "login")


@pytest.mark.parametrize(
    ("setting", "allowed"), [("worktrees", False), (".", False), ("refs/x", False), ("seats", True)]
)
def test_inside_a_bare_repository(tmp_path: Path, setting: str, allowed: bool) -> None:
    """A bare repository's worktrees are not among git's own files, which git would prune."""
    source = World.make(tmp_path / "source")
    source.git("clone", "-q", "--bare", str(source.root), str(tmp_path / "bare.git"))
    bare = World(tmp_path / "bare.git")
    set_root(bare, setting)
    if allowed:
        assert bare.spawn("auth", "login").path == str(bare.root / "seats/login")
        return
    with pytest.raises(Refused) as caught:
        bare.spawn("auth", "login")
    assert caught.value.code == "root_taken"


def test_at_home(world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`~` is the user's home, as in git's own settings."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    set_root(world, "~/wt")
    assert world.spawn("auth", "login").path == str(tmp_path / "home/wt/login")


def test_both_directories_are_the_projects(world: World) -> None:
    """If the project has files in the other directory as well, no third one is chosen."""
    world.advance({"worktrees/x": "x\n", "worker-worktrees/x": "x\n"})
    with unchanged(world, "root_taken"):
        world.spawn("auth", "login")


def test_relative_to_the_repository(world: World) -> None:
    """A relative directory starts at the repository, wherever a command runs."""
    set_root(world, "../wt")
    place = Path(world.spawn("auth", "login").path)
    assert place == world.root.parent / "wt" / "login"
    (place / "new").write_text("untracked\n")
    cancel(world.session(world.root / "src"), "auth")
    assert not place.exists()
    undo(world.session())
    assert (place / "new").read_text() == "untracked\n"


def test_another_setting_at_the_undo(world: World) -> None:
    """An undo finds the trash that was used, though the setting names another directory by now."""
    place = world.working("auth", "login", {"a": "1\n"})
    (place / "new").write_text("untracked\n")
    cancel(world.session(), "auth")
    set_root(world, "../wt")
    undo(world.session())
    assert (place / "new").read_text() == "untracked\n"


def test_two_repositories_share_it(world: World) -> None:
    """Each repository has its own trash, so that equal names are no clash."""
    root = world.root.parent / "wt"
    other = World(world.root.parent / "other")
    ignored = shutil.ignore_patterns("worker-state")
    shutil.copytree(world.root, other.root, symlinks=True, ignore=ignored)
    (other.root / ".worker-state").unlink()
    for one in (world, other):
        set_root(one, root)
        place = Path(one.spawn("auth", "login").path)
        (place / "precious").write_text(one.root.name)
        cancel(one.session(), "auth")
        assert not place.exists()
    for one in (other, world):
        undo(one.session())
        place = one.path("auth")
        assert (place / "precious").read_text() == one.root.name
        cancel(one.session(), "auth")


def test_another_file_system(world: World) -> None:
    """A directory that no rename reaches is refused before anything is made."""
    shm = Path("/dev/shm")
    if not shm.is_dir() or shm.stat().st_dev == world.root.stat().st_dev:
        pytest.skip("there is no second file system here")
    set_root(world, shm / "gitworker-test-root")
    with unchanged(world, "cross_device"):
        world.spawn("auth", "login")
    assert not (shm / "gitworker-test-root").exists()


def test_a_directory_that_cannot_be_written(world: World) -> None:
    """A directory below a file is refused."""
    set_root(world, world.root / "README" / "wt")
    with pytest.raises(Refused):
        world.spawn("auth", "login")


@pytest.mark.parametrize("place", ["{repository}/../trees", "work", "../trees/deep"])
def test_the_repositorys_file_may_name_a_place_beside_it(world: World, place: str) -> None:
    """A directory in the repository, or next to it, needs no agreement."""
    world.advance({".gitworker.toml": f'[worktree]\nroot = "{place}"\n'})
    root = Path(place.replace("{repository}", str(world.root)))
    expected = os.path.normpath(world.root / root / "login")
    assert world.spawn("auth", "login").path == expected


@pytest.mark.parametrize("place", ["far/trees", "../.hidden/trees", "..", "link/trees"])
def test_the_repositorys_file_may_not_name_any_place(
    world: World, tmp_path: Path, place: str
) -> None:
    """A clone writes nowhere else, by a link neither, until its user has set that very place."""
    far = tmp_path.parent / f"{tmp_path.name}-far"
    far.mkdir()
    (world.root / "link").symlink_to(far)
    place = place.replace("far", str(far))
    world.advance({".gitworker.toml": f'[worktree]\nroot = "{place}"\n'})
    with unchanged(world, "root_not_trusted") as caught:
        world.spawn("auth", "login")
    assert list(far.iterdir()) == []
    set_root(world, caught.value.hint.rpartition(" ")[2])
    assert Path(world.spawn("auth", "login").path).is_dir()
