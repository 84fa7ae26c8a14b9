"""The first own commit of a branch on top of another, whatever happened to that other branch."""

from pathlib import Path

import pytest

from fixtures.repos import Content, Repo, lines
from gitworker.model.ids import Oid, Ref
from gitworker.repo.history.fork_point import find_start, past_tips
from gitworker.repo.plumbing.git import Git

BASE: dict[str, Content] = {"f": lines(20), "g": lines(9)}
MISSING = "1" * 40


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository in which `child` is stacked on `parent`, and `parent` on main."""
    repo = Repo.make(tmp_path / "repo")
    repo.commit("base", BASE)
    repo.git("checkout", "-q", "-b", "parent")
    repo.commit("parent 1", {"f": lines(20, {2: "parent"})})
    repo.commit("parent 2", {"g": lines(9, {2: "parent"})})
    repo.git("checkout", "-q", "-b", "child")
    repo.commit("child 1", {"mine": "1\n"})
    repo.commit("child 2", {"mine": "2\n"})
    return repo


def start(repo: Repo, *others: str, last: str = "parent", target: str = "main") -> Oid | None:
    """Return the commit at which the child's own commits begin."""
    return find_start(
        Git(str(repo.root)),
        Oid(repo.head("child")),
        target=Oid(repo.head(target)),
        others=[Oid(one) for one in others],
        last=Oid(repo.head(last)),
    )


def test_as_recorded(repo: Repo) -> None:
    """They begin at the parent's old tip."""
    parent = repo.head("parent")
    assert start(repo, parent) == parent
    assert start(repo, parent, MISSING) == parent


def test_parent_with_new_commits(repo: Repo) -> None:
    """New commits on a parent, or an amend, change nothing as long as its old tip is known."""
    parent = repo.head("parent")
    repo.git("checkout", "-q", "parent")
    amended = repo.commit("parent 2 amended", {"g": lines(9, {2: "amended"})}, "--amend")
    assert start(repo, parent, amended, last=parent) == parent
    assert Oid(parent) in past_tips(Git(str(repo.root)), Ref("refs/heads/parent"))
    assert past_tips(Git(str(repo.root)), Ref("refs/heads/none")) == set()


def test_rebased_onto_a_newer_parent(repo: Repo) -> None:
    """A child that was rebased by hand begins at the newest commit of the parent in it."""
    parent = repo.head("parent")
    repo.git("checkout", "-q", "parent")
    newer = repo.commit("parent 3", {"late": "l\n"})
    newest = repo.commit("parent 4", {"late": "ll\n"})
    repo.git("checkout", "-q", "child")
    repo.git("rebase", "-q", newer)
    assert start(repo, parent, newest, last=parent) == newer


def test_rebased_onto_the_target(repo: Repo) -> None:
    """A child rebased by hand with copies of the parent's commits begins after the copies."""
    parent = repo.head("parent")
    repo.git("checkout", "-q", "main")
    repo.commit("other", {"other": "o\n"})
    repo.git("checkout", "-q", "child")
    repo.git("rebase", "-q", "main")
    assert start(repo, parent, last=parent) == repo.head("child~2")
    assert repo.git("log", "-1", "--format=%s", "child~2") == "parent 2"


def test_rebased_without_the_parent(repo: Repo) -> None:
    """A child that left its parent begins at the target."""
    parent = repo.head("parent")
    repo.git("rebase", "-q", "--onto", "main", "parent", "child")
    assert start(repo, parent) == repo.head("main")


def test_nothing_of_its_own(repo: Repo) -> None:
    """A child without a commit begins at its tip."""
    repo.git("branch", "-f", "parent", "child")
    assert start(repo, repo.head("parent")) == repo.head("child")


def test_merged_parent(repo: Repo) -> None:
    """A child that merged a newer parent begins there: its own changes are then the fewest."""
    parent = repo.head("parent")
    repo.git("checkout", "-q", "parent")
    newer = repo.commit("parent 3", {"late": "l\n"})
    repo.git("checkout", "-q", "child")
    repo.git("merge", "-q", "-m", "Merge", "parent")
    assert start(repo, parent, newer, last=parent) == newer


def test_unrelated(repo: Repo) -> None:
    """A child whose whole history is its own begins nowhere."""
    parent = repo.head("parent")
    repo.git("checkout", "-q", "--orphan", "root")
    repo.commit("root", {"root": "r\n"})
    repo.git("branch", "-f", "child")
    assert start(repo, parent, last=parent) is None
