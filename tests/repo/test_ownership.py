"""The proof that a path is git's own directory of a worktree of the repository."""

import os
from pathlib import Path

import pytest

from gitworker.repo.worktrees.ownership import is_inside


@pytest.fixture
def common_dir(tmp_path: Path) -> Path:
    """A git directory with a worktree `a`, links of every kind, and another repository."""
    common, other = tmp_path / "repo", tmp_path / "other"
    for place in (common / "worktrees" / "a", common / "worktrees" / "deep" / "b", other / "c"):
        place.mkdir(parents=True)
    (tmp_path / "linked").symlink_to(common)
    (other / "worktrees").symlink_to(common / "worktrees")
    (common / "worktrees" / "out").symlink_to(other / "c")
    (common / "worktrees" / "twin").symlink_to("a")
    return common


def follows(common_dir: Path, admin_dir: str) -> bool:
    """Return what the real paths say."""
    return os.path.dirname(os.path.realpath(admin_dir)) == f"{common_dir.resolve()}/worktrees"


@pytest.mark.parametrize(
    ("repository", "admin_dir", "expected"),
    [
        ("repo", "repo/worktrees/a", True),
        ("repo", "repo/worktrees/absent", True),
        ("repo", "repo/worktrees/twin", True),
        ("repo", "linked/worktrees/a", True),
        ("linked", "linked/worktrees/a", True),
        ("linked", "repo/worktrees/a", True),
        ("repo", "other/worktrees/a", True),
        ("other", "other/worktrees/a", False),
        ("repo", "repo/worktrees/out", False),
        ("repo", "repo/worktrees/deep/b", False),
        ("repo", "repo/worktrees", False),
        ("repo", "repo/worktrees/", False),
        ("repo", "repo/worktrees/.", False),
        ("repo", "repo/worktrees/..", False),
        ("repo", "other/c", False),
    ],
)
def test_is_inside(common_dir: Path, repository: str, admin_dir: str, *, expected: bool) -> None:
    """A directory directly below `worktrees` is inside, links followed, existing or not."""
    place, path = common_dir.parent / repository, f"{common_dir.parent}/{admin_dir}"
    assert is_inside(str(place), path) == follows(place, path) == expected
