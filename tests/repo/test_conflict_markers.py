"""Conflict markers in the files that a branch changed."""

from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.model.ids import Oid
from gitworker.repo.history.conflict_markers import find_marked_files
from gitworker.repo.plumbing.git import Git

MARKED = "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x\n"


def found(repo: Repo, base: str = "main") -> tuple[str, ...]:
    """Return the marked files of the branch `topic`."""
    git = Git(str(repo.root))
    return find_marked_files(git, base=Oid(repo.head(base)), tip=Oid(repo.head("topic")))


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository whose target has a file with markers; the branch `topic` is checked out."""
    repo = Repo.make(tmp_path / "repo")
    repo.commit("Start", {"old": MARKED, "other": MARKED, "plain": "x\n"})
    repo.git("switch", "-q", "-c", "topic")
    return repo


def test_new_markers(repo: Repo) -> None:
    """A changed file with markers at the start of a line is found, at the start of the file too."""
    repo.commit("Work", {"new": MARKED, "plain": "<<<<<<< mine\n", "b c/d": f"x\n{MARKED}"})
    assert found(repo) == ("b c/d", "new", "plain")


def test_other_files(repo: Repo) -> None:
    """Markers of the target, inside of a line, taken out or in a deleted file are no finding."""
    repo.commit("Work", {"old": "a\n", "text": "see <<<<<<< HEAD\n", "head": "=======\n"})
    repo.git("rm", "-q", "other")
    repo.commit("Less", {})
    assert found(repo) == ()


def test_markers_of_the_target_since(repo: Repo) -> None:
    """Files that only the target has changed since the fork do not count."""
    repo.commit("Work", {"mine": "1\n"})
    repo.git("switch", "-q", "main")
    repo.commit("Theirs", {"theirs": MARKED})
    assert found(repo) == ()


def test_unrelated_histories(repo: Repo) -> None:
    """Without a merge base nothing is found."""
    repo.commit("Work", {"new": MARKED})
    repo.git("switch", "-q", "--orphan", "alone")
    repo.commit("Alone", {"x": "1\n"})
    assert found(repo, "alone") == ()
