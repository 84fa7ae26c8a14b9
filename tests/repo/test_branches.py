"""Renaming a branch: by git itself, and only from the expected commit."""

from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import Conflict, Refused
from gitworker.model.ids import Oid, Ref
from gitworker.repo.plumbing.git import Git
from gitworker.repo.worktrees.branch_rename import rename_branch

OLD, NEW = Ref("refs/heads/old"), Ref("refs/heads/new/name")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with a branch `old`."""
    repo = Repo.make(tmp_path / "repo")
    repo.commit("Start", {"f": "1\n"})
    repo.git("branch", "old")
    return repo


def test_rename(repo: Repo) -> None:
    """The branch has the same commit under its new name."""
    tip = repo.head("old")
    rename_branch(Git(str(repo.root)), OLD, NEW, tip=Oid(tip))
    assert repo.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/") == (
        f"refs/heads/main {tip}\n{NEW} {tip}"
    )
    rename_branch(Git(str(repo.root)), NEW, OLD)
    assert repo.head("old") == tip


def test_it_has_moved(repo: Repo) -> None:
    """A branch that is not at the expected commit keeps its name."""
    seen = Oid(repo.head("old"))
    repo.git("update-ref", OLD, repo.commit("More", {"f": "2\n"}))
    with pytest.raises(Conflict) as caught:
        rename_branch(Git(str(repo.root)), OLD, NEW, tip=seen)
    assert caught.value.code == "ref_moved"
    assert "refs/heads/new" not in repo.git("for-each-ref")


def test_name_is_taken(repo: Repo) -> None:
    """A rename that git does not allow is refused with git's own message."""
    repo.git("branch", "new")
    with pytest.raises(Refused) as caught:
        rename_branch(Git(str(repo.root)), OLD, NEW, tip=Oid(repo.head("old")))
    assert caught.value.code == "rename_refused"
    assert caught.value.detail
