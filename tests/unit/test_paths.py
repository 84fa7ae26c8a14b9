"""Paths of a repository: git's own answers, without starting git."""

import os
import subprocess
from pathlib import Path

import pytest

from gitworker.errors import Unavailable
from gitworker.paths import (
    Repository,
    StatePaths,
    read_regular,
    read_worktree_owner,
    require_repository,
    state_paths,
    write_worktree_owner,
)
from tests.conftest import git

NAMES = ["repo", "with blank", "new\nline", "ünï", "quote'\"", "-dash", "trailing "]


def places_of_git(place: Path, env: dict[str, str]) -> tuple[str, str, str | None]:
    """Return common directory, git directory and top as git prints them."""

    def answer(option: str) -> str | None:
        done = subprocess.run(
            ["git", "rev-parse", "--path-format=absolute", option], cwd=place, check=False,
            capture_output=True, env={**os.environ, **env},
        )  # fmt: skip
        return os.fsdecode(done.stdout).removesuffix("\n") if done.returncode == 0 else None

    common, own = answer("--git-common-dir"), answer("--git-dir")
    assert common is not None
    assert own is not None
    return os.path.realpath(common), os.path.realpath(own), answer("--show-toplevel")


def places(place: Path, env: dict[str, str] | None = None) -> tuple[str, str, str | None]:
    """Return the same paths as we find them."""
    found = require_repository(str(place), env or {})
    return found.common_dir, found.git_dir, found.top


@pytest.fixture
def make(tmp_path: Path) -> object:
    """Make a repository with a commit, a subdirectory and a linked worktree."""

    def build(name: str) -> tuple[Path, Path]:
        root, linked = tmp_path / name / "main", tmp_path / name / "linked"
        (root / "deep" / "er").mkdir(parents=True)
        git(root, "init", "-q")
        git(root, "commit", "-q", "--allow-empty", "-m", "Start")
        git(root, "worktree", "add", "-q", str(linked))
        (linked / "deep").mkdir()
        return root, linked

    return build


@pytest.mark.parametrize("name", NAMES)
def test_main_and_linked_worktrees(make: object, name: str) -> None:
    """From anywhere in a worktree, whatever its path is called, we find the same paths as git."""
    assert callable(make)
    root, linked = make(name)
    for place in (root, root / "deep" / "er", linked, linked / "deep"):
        assert places(place) == places_of_git(place, {})
    assert require_repository(str(linked), {}).is_linked
    assert not require_repository(str(root), {}).is_linked


def test_through_a_link(make: object, tmp_path: Path) -> None:
    """A symbolic link into a worktree leads to the worktree."""
    assert callable(make)
    root, _ = make("repo")
    (tmp_path / "link").symlink_to(root / "deep")
    assert places(tmp_path / "link") == places(root)


def test_bare_repositories(make: object, tmp_path: Path) -> None:
    """A bare repository has no top inside it; its worktrees have one."""
    assert callable(make)
    root, _ = make("repo")
    bare, linked = tmp_path / "x.git", tmp_path / "w"
    git(tmp_path, "clone", "-q", "--bare", str(root), str(bare))
    git(bare, "worktree", "add", "-q", str(linked))
    assert places(bare) == (str(bare), str(bare), None)
    assert places(bare / "refs") == (str(bare), str(bare), None)
    assert places(linked) == places_of_git(linked, {})


def test_inside_the_git_directory(make: object) -> None:
    """Inside `.git` there is no worktree around the directory."""
    assert callable(make)
    root, _ = make("repo")
    assert places(root / ".git" / "hooks") == (str(root / ".git"), str(root / ".git"), None)


def test_submodules_and_separate_git_directories(make: object, tmp_path: Path) -> None:
    """A `.git` file leads to the git directory."""
    assert callable(make)
    root, linked = make("repo")
    separate = tmp_path / "separate"
    separate.mkdir()
    git(separate, "init", "-q", "--separate-git-dir", str(tmp_path / "elsewhere.git"))
    git(root, "submodule", "--quiet", "add", str(linked), "sub")
    for place in (separate, root / "sub"):
        assert places(place) == places_of_git(place, {})
    assert places(root / "sub") != places(root)


@pytest.mark.parametrize("sub", ["", "deep"])
def test_git_dir_in_the_environment(make: object, tmp_path: Path, sub: str) -> None:
    """GIT_DIR, with GIT_WORK_TREE or alone, relative or absolute, is followed as git does."""
    assert callable(make)
    root, linked = make("repo")
    admin = git(linked, "rev-parse", "--absolute-git-dir")
    for env in (
        {"GIT_DIR": str(root / ".git"), "GIT_WORK_TREE": str(root)},
        {"GIT_DIR": admin, "GIT_WORK_TREE": str(linked)},
        {"GIT_DIR": str(linked / ".git"), "GIT_WORK_TREE": str(linked)},
    ):
        for place in (root / sub, linked / sub, tmp_path):
            assert places(place, env) == places_of_git(place, env)


def test_git_dir_as_hooks_get_it(make: object) -> None:
    """In a hook GIT_DIR is set alone; the worktree is the one it belongs to."""
    assert callable(make)
    root, linked = make("repo")
    admin = git(linked, "rev-parse", "--absolute-git-dir")
    assert places(root, {"GIT_DIR": ".git"}) == places(root)
    assert places(linked, {"GIT_DIR": admin}) == places(linked)


def test_git_dir_of_bare_and_odd_repositories(make: object, tmp_path: Path) -> None:
    """GIT_DIR of a bare repository has no worktree of its own."""
    assert callable(make)
    root, _ = make("repo")
    bare = tmp_path / "x.git"
    git(tmp_path, "clone", "-q", "--bare", str(root), str(bare))
    assert places(root, {"GIT_DIR": str(bare)}) == (str(bare), str(bare), None)


def test_a_directory_without_a_repository(tmp_path: Path) -> None:
    """Outside any repository, or with an invalid `.git`, the error names the directory."""
    odd = tmp_path / "odd"
    for name in ("empty", "text", "dangling"):
        (odd / name).mkdir(parents=True)
    (odd / "empty" / ".git").mkdir()
    (odd / "text" / ".git").write_text("no pointer\n")
    (odd / "dangling" / ".git").write_text("gitdir: /nowhere/at/all\n")
    for place in (tmp_path, *odd.iterdir()):
        with pytest.raises(Unavailable) as caught:
            require_repository(str(place), {})
        assert caught.value.code == "not_a_repository"
        assert str(place) in caught.value.message
    with pytest.raises(Unavailable):
        require_repository(str(tmp_path), {"GIT_DIR": "nowhere"})


def test_the_working_directory_is_the_default(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without arguments the process's own directory and environment count."""
    monkeypatch.chdir(repository / "src")
    assert require_repository().top == str(repository)


def test_repositories_are_values(repository: Path) -> None:
    """Two results for the same repository are equal, and differ from another's."""
    one, two = (require_repository(str(repository), {}) for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert one != Repository(one.common_dir, one.git_dir, None)
    assert one != "repository"


def test_the_worker_of_a_worktree(tmp_path: Path) -> None:
    """A worker's name in an admin directory is read back; any other content names no worker."""
    assert read_worktree_owner(str(tmp_path)) is None
    write_worktree_owner(str(tmp_path), "auth", "skills-abc")
    assert read_worktree_owner(str(tmp_path)) == ("auth", "skills-abc")
    (tmp_path / "gitworker-seat").write_bytes(b"\xff\n")
    assert read_worktree_owner(str(tmp_path)) is None
    assert read_worktree_owner("a\0b") is None
    for text in ("", "auth\n", " t\n"):
        (tmp_path / "gitworker-seat").write_text(text)
        assert read_worktree_owner(str(tmp_path)) is None


def test_the_state_directory(repository: Path) -> None:
    """The state directory is in the common git directory, with every path of it inside."""
    paths = state_paths(require_repository(str(repository), {}))
    assert paths.root == f"{repository}/.git/worker-state"
    names = [name for name in StatePaths.__slots__ if name != "root"]
    places = {name: getattr(paths, name) for name in names}
    assert len(set(places.values())) == len(names) > 10
    assert all(os.path.dirname(place) == paths.root for place in places.values())
    assert places["gate"] == f"{places['database']}-gate"


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 8192, 20_000])
def test_read_regular(tmp_path: Path, size: int) -> None:
    """A file of any size is read whole."""
    (tmp_path / "file").write_bytes(b"\r\n" * size)
    assert read_regular(str(tmp_path / "file")) == b"\r\n" * size


def test_read_regular_refuses_other_files(tmp_path: Path) -> None:
    """A FIFO, which would block, and a directory raise OSError, and no descriptor stays open."""
    os.mkfifo(tmp_path / "fifo")
    before = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []
    for path in (tmp_path / "fifo", tmp_path, tmp_path / "absent"):
        with pytest.raises(OSError):  # noqa: PT011 -- each has another class
            read_regular(str(path))
    after = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []
    assert len(after) == len(before)
