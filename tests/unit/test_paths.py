"""Where things are: the same answer as git's own, without starting git."""

import os
import subprocess
from pathlib import Path

import pytest

from gitworker.errors import Unavailable
from gitworker.paths import (
    Repository,
    StatePaths,
    read_seat,
    require_repository,
    state_paths,
    write_seat,
)
from tests.conftest import git

NAMES = ["repo", "with blank", "new\nline", "ünï", "quote'\"", "-dash", "trailing "]


def places_of_git(where: Path, env: dict[str, str]) -> tuple[str, str, str | None]:
    """Return common directory, git directory and top as git tells them."""

    def told(option: str) -> str | None:
        done = subprocess.run(
            ["git", "rev-parse", "--path-format=absolute", option], cwd=where, check=False,
            capture_output=True, env={**os.environ, **env},
        )  # fmt: skip
        return os.fsdecode(done.stdout).removesuffix("\n") if done.returncode == 0 else None

    common, own = told("--git-common-dir"), told("--git-dir")
    assert common is not None
    assert own is not None
    return os.path.realpath(common), os.path.realpath(own), told("--show-toplevel")


def places(where: Path, env: dict[str, str] | None = None) -> tuple[str, str, str | None]:
    """Return the same as we find them."""
    found = require_repository(str(where), env or {})
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
    """From anywhere in a worktree, whatever its path is called, git's own answer is found."""
    assert callable(make)
    root, linked = make(name)
    for where in (root, root / "deep" / "er", linked, linked / "deep"):
        assert places(where) == places_of_git(where, {})
    assert require_repository(str(linked), {}).is_linked
    assert not require_repository(str(root), {}).is_linked


def test_through_a_link(make: object, tmp_path: Path) -> None:
    """A symbolic link into a worktree leads to the worktree."""
    assert callable(make)
    root, _ = make("repo")
    (tmp_path / "link").symlink_to(root / "deep")
    assert places(tmp_path / "link") == places(root)


def test_bare_repositories(make: object, tmp_path: Path) -> None:
    """A bare repository has no top, from inside it; its worktrees have theirs."""
    assert callable(make)
    root, _ = make("repo")
    bare, linked = tmp_path / "x.git", tmp_path / "w"
    git(tmp_path, "clone", "-q", "--bare", str(root), str(bare))
    git(bare, "worktree", "add", "-q", str(linked))
    assert places(bare) == (str(bare), str(bare), None)
    assert places(bare / "refs") == (str(bare), str(bare), None)
    assert places(linked) == places_of_git(linked, {})


def test_inside_the_git_directory(make: object) -> None:
    """Inside `.git` there is no worktree around one."""
    assert callable(make)
    root, _ = make("repo")
    assert places(root / ".git" / "hooks") == (str(root / ".git"), str(root / ".git"), None)


def test_submodules_and_separate_git_directories(make: object, tmp_path: Path) -> None:
    """A `.git` file leads to where the git directory is."""
    assert callable(make)
    root, linked = make("repo")
    separate = tmp_path / "separate"
    separate.mkdir()
    git(separate, "init", "-q", "--separate-git-dir", str(tmp_path / "elsewhere.git"))
    git(root, "submodule", "--quiet", "add", str(linked), "sub")
    for where in (separate, root / "sub"):
        assert places(where) == places_of_git(where, {})
    assert places(root / "sub") != places(root)


@pytest.mark.parametrize("sub", ["", "deep"])
def test_git_dir_in_the_environment(make: object, tmp_path: Path, sub: str) -> None:
    """GIT_DIR, with GIT_WORK_TREE or alone, relative or not, is followed as git does."""
    assert callable(make)
    root, linked = make("repo")
    admin = git(linked, "rev-parse", "--absolute-git-dir")
    for env in (
        {"GIT_DIR": str(root / ".git"), "GIT_WORK_TREE": str(root)},
        {"GIT_DIR": admin, "GIT_WORK_TREE": str(linked)},
        {"GIT_DIR": str(linked / ".git"), "GIT_WORK_TREE": str(linked)},
    ):
        for where in (root / sub, linked / sub, tmp_path):
            assert places(where, env) == places_of_git(where, env)


def test_git_dir_as_hooks_get_it(make: object) -> None:
    """In a hook GIT_DIR stands alone; the worktree is the one it belongs to."""
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


def test_what_is_no_repository(tmp_path: Path) -> None:
    """Outside any repository, or with a `.git` that is none, the error names the place."""
    odd = tmp_path / "odd"
    for name in ("empty", "text", "dangling"):
        (odd / name).mkdir(parents=True)
    (odd / "empty" / ".git").mkdir()
    (odd / "text" / ".git").write_text("no pointer\n")
    (odd / "dangling" / ".git").write_text("gitdir: /nowhere/at/all\n")
    for where in (tmp_path, *odd.iterdir()):
        with pytest.raises(Unavailable) as caught:
            require_repository(str(where), {})
        assert caught.value.code == "not_a_repository"
        assert str(where) in caught.value.message
    with pytest.raises(Unavailable):
        require_repository(str(tmp_path), {"GIT_DIR": "nowhere"})


def test_the_working_directory_is_the_default(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without arguments it is the process's own directory and environment."""
    monkeypatch.chdir(repository / "src")
    assert require_repository().top == str(repository)


def test_repositories_are_values(repository: Path) -> None:
    """Two findings of the same place are equal, and differ from another's."""
    one, two = (require_repository(str(repository), {}) for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert one != Repository(one.common_dir, one.git_dir, None)
    assert one != "repository"


def test_seats(tmp_path: Path) -> None:
    """What is written into an admin directory is read back; anything else is no seat."""
    assert read_seat(str(tmp_path)) is None
    write_seat(str(tmp_path), "auth", "skills-abc")
    assert read_seat(str(tmp_path)) == ("auth", "skills-abc")
    (tmp_path / "gitworker-seat").write_bytes(b"\xff\n")
    assert read_seat(str(tmp_path)) is None
    assert read_seat("a\0b") is None
    for text in ("", "auth\n", " t\n"):
        (tmp_path / "gitworker-seat").write_text(text)
        assert read_seat(str(tmp_path)) is None


def test_the_state_directory(repository: Path) -> None:
    """The state lies in the common git directory, every place of it inside."""
    paths = state_paths(require_repository(str(repository), {}))
    assert paths.root == f"{repository}/.git/worker-state"
    names = [n for n, v in vars(StatePaths).items() if isinstance(v, property)]
    places = {name: getattr(paths, name) for name in names}
    assert len(set(places.values())) == len(names) > 10
    assert all(os.path.dirname(place) == paths.root for place in places.values())
    assert places["gate"] == f"{places['database']}-gate"
