"""Replaying only a branch's own commits gives the same result as `git rebase --onto`."""

from pathlib import Path

import pytest

from fixtures.repos import Content, RandomHistory, Repo, lines
from gitworker.repo.replay.replay import ReplayConflict, Replayed
from tests.repo.rebase_oracle import assert_same

BASE: dict[str, Content] = {"f": lines(20), "g": lines(9)}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository in which `child` is stacked on `parent`, and `parent` on main."""
    repo = Repo.make(tmp_path / "repo")
    repo.commit("base", BASE)
    repo.git("checkout", "-q", "-b", "parent")
    repo.commit("parent 1", {"f": lines(20, {2: "parent"})})
    repo.commit("parent 2", {"g": lines(9, {2: "parent"})})
    repo.git("checkout", "-q", "-b", "child")
    repo.commit("child 1", {"f": lines(20, {2: "parent", 17: "child"})})
    repo.git("checkout", "-q", "main")
    return repo


def subjects(repo: Repo, base: str, tip: str) -> list[str]:
    """Return the subjects of the commits between two, oldest first."""
    return repo.git("log", "--reverse", "--format=%s", f"{base}..{tip}").splitlines()


def test_only_own_commits(repo: Repo) -> None:
    """The parent's commits are not added to a target that has none of them."""
    repo.commit("other", {"new": "n\n"})
    result = assert_same(repo, repo.head("main"), repo.head("child"), exclude=repo.head("parent"))
    assert isinstance(result, Replayed)
    assert subjects(repo, "main", result.new) == ["child 1"]


def test_onto_the_landed_parent(repo: Repo) -> None:
    """On a target to which the parent was squashed and amended, the child's own commit fits."""
    repo.commit("parent, amended", {"f": lines(20, {2: "amended"}), "g": lines(9, {2: "parent"})})
    result = assert_same(repo, repo.head("main"), repo.head("child"), exclude=repo.head("parent"))
    assert isinstance(result, Replayed)
    assert subjects(repo, "main", result.new) == ["child 1"]
    assert repo.git("show", f"{result.new}:f") == lines(20, {2: "amended", 17: "child"}).strip()


def test_without_exclusion_the_amended_parent_conflicts(repo: Repo) -> None:
    """The same branch as a whole conflicts there: the exclusion exists for this case."""
    repo.commit("parent, amended", {"f": lines(20, {2: "amended"})})
    result = assert_same(repo, repo.head("main"), repo.head("child"))
    assert isinstance(result, ReplayConflict)


def test_a_conflict_of_its_own(repo: Repo) -> None:
    """The child's own commit that does not fit is named, not the parent's."""
    repo.commit("other", {"f": lines(20, {17: "other"})})
    result = assert_same(repo, repo.head("main"), repo.head("child"), exclude=repo.head("parent"))
    assert isinstance(result, ReplayConflict)
    assert (result.subject, result.paths) == ("child 1", ("f",))


def test_nothing_of_its_own(repo: Repo) -> None:
    """A child that has no commit yet becomes the target."""
    repo.commit("other", {"new": "n\n"})
    tip = repo.head("parent")
    result = assert_same(repo, repo.head("main"), tip, exclude=tip)
    assert result == Replayed(repo.head("main"), (), unchanged=False)


def test_onto_the_same_parent(repo: Repo) -> None:
    """A child that is already stacked on the wanted commit is unchanged."""
    parent, child = repo.head("parent"), repo.head("child")
    assert assert_same(repo, parent, child, exclude=parent) == Replayed(child, (), unchanged=True)


def test_commits_that_the_target_has_already(repo: Repo) -> None:
    """A commit of the child's that was picked to the target already is dropped."""
    repo.commit("parent, squashed", {"f": lines(20, {2: "parent"}), "g": lines(9, {2: "parent"})})
    repo.git("cherry-pick", "child")
    result = assert_same(repo, repo.head("main"), repo.head("child"), exclude=repo.head("parent"))
    assert isinstance(result, Replayed)
    assert result.new == repo.head("main")
    assert [pick.new for pick in result.picks] == [None]


def test_merged_parent(repo: Repo) -> None:
    """A child that merged a newer parent in is flattened to its own commits."""
    repo.git("checkout", "-q", "parent")
    newer = repo.commit("parent 3", {"late": "l\n"})
    repo.git("checkout", "-q", "child")
    repo.git("merge", "-q", "-m", "Merge parent", "parent")
    repo.commit("child 2", {"more": "m\n"})
    repo.git("checkout", "-q", "main")
    repo.commit("other", {"new": "n\n"})
    result = assert_same(repo, repo.head("main"), repo.head("child"), exclude=newer)
    assert isinstance(result, Replayed)
    assert subjects(repo, "main", result.new) == ["child 1", "child 2"]


def test_left_to_a_real_rebase(repo: Repo) -> None:
    """A merge that merge-tree cannot do is left to a real rebase, of the own commits only."""
    repo.git("config", "notes.rewriteRef", "refs/notes/*")
    repo.commit("parent, amended", {"f": lines(20, {2: "amended"})})
    result = assert_same(repo, repo.head("main"), repo.head("child"), exclude=repo.head("parent"))
    assert isinstance(result, Replayed)
    assert [(pick.subject, pick.new) for pick in result.picks] == [("child 1", result.new)]


@pytest.mark.parametrize("seed", range(6))
def test_random_histories(tmp_path: Path, seed: int) -> None:
    """A random branch without its first commit comes out as in rebase."""
    repo = Repo.make(tmp_path / "repo")
    target, topic = RandomHistory(repo, seed).build()
    first = repo.git("rev-list", "--reverse", f"{target}..{topic}").split()[0]
    assert_same(repo, target, topic, exclude=first)
