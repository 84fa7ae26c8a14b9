"""Lines in info/exclude that hide a link at a checkout's top."""

import subprocess
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.repo.worktrees.excludes import exclude_link, remove_excludes


def is_ignored(repo: Repo, name: str) -> bool:
    """Return whether git ignores a name."""
    argv = ["git", "check-ignore", "--quiet", "--", name]
    return subprocess.run(argv, cwd=repo.root, check=False).returncode == 0


@pytest.mark.parametrize("name", ["node_modules", "deep/down", "a*b", "q?[x]", "back\\slash", "#x"])
def test_a_name_as_it_is(tmp_path: Path, name: str) -> None:
    """Just that name is hidden, whatever a pattern would make of it, once, and removable."""
    repo = Repo.make(tmp_path / "repo")
    path = repo.root / ".git/info/exclude"
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine\n")
    exclude_link(str(repo.root / ".git"), name)
    exclude_link(str(repo.root / ".git"), name)
    assert is_ignored(repo, name)
    assert not is_ignored(repo, f"other/{name}")
    assert not is_ignored(repo, "aXb")
    assert not is_ignored(repo, "qXx")
    assert len(path.read_text().splitlines()) == 6
    remove_excludes(str(repo.root / ".git"))
    assert path.read_text() == "mine\n"
