"""Lines in info/exclude that hide a link at a checkout's top."""

import subprocess
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.repo.worktrees.excludes import (
    EXCLUDED,
    add_excludes,
    exclude_link,
    missing_excludes,
    remove_excludes,
)


def is_ignored(repo: Repo, name: str) -> bool:
    """Return whether git ignores a name."""
    argv = ["git", "check-ignore", "--quiet", "--", name]
    return subprocess.run(argv, cwd=repo.root, check=False).returncode == 0


def test_files_of_aider(tmp_path: Path) -> None:
    """The files that aider leaves are hidden, and its settings of a project are not."""
    repo = Repo.make(tmp_path / "repo")
    add_excludes(str(repo.root / ".git"))
    cache = repo.root / ".aider.tags.cache.v4"
    cache.mkdir()
    for name in (".aider", ".aider.chat.history.md", ".aider.input.history", cache.name):
        assert is_ignored(repo, name)
    for name in (".aider.conf.yml", ".aiderignore", "docs/.aider"):
        assert not is_ignored(repo, name)


def test_missing_lines_are_added(tmp_path: Path) -> None:
    """A block that lacks a line gets it; the lines of attached agents and of the user stay."""
    repo = Repo.make(tmp_path / "repo")
    path = repo.root / ".git/info/exclude"
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine\n")
    exclude_link(str(repo.root / ".git"), "deps")
    whole = path.read_text()
    path.write_text(whole.replace(f"{EXCLUDED[0]}\n", "") + "later\n")
    add_excludes(str(repo.root / ".git"))
    assert sorted(path.read_text().split()) == sorted((whole + "later\n").split())
    assert missing_excludes(str(repo.root / ".git")) == ()


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
    assert len(path.read_text().splitlines()) == len(("mine", "begin", name, "end", *EXCLUDED))
    remove_excludes(str(repo.root / ".git"))
    assert path.read_text() == "mine\n"
