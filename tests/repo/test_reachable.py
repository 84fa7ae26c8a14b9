"""Which commits exist and which refs reach them, with few processes."""

from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.model.ids import Oid
from gitworker.repo.history.reachable import (
    find_departed,
    find_missing,
    find_unreachable,
    find_unreferenced,
    heads_of,
)
from gitworker.repo.plumbing.git import Git
from tests.kinds import builders


def history(tmp_path: Path) -> tuple[Git, list[Oid], list[Oid]]:
    """Return a door, three commits in a row, and two on a side branch of the first."""
    repo = Repo.make(tmp_path / "repo")
    line = [Oid(repo.commit(f"Line {n}", {"a": f"{n}\n"})) for n in range(3)]
    repo.git("checkout", "-q", "-b", "side", line[0])
    side = [Oid(repo.commit(f"Side {n}", {"b": f"{n}\n"})) for n in range(2)]
    return Git(str(repo.root)), line, side


def test_missing(tmp_path: Path) -> None:
    """Commits that are not in the repository are reported, and an empty query starts no process."""
    git, line, side = history(tmp_path)
    absent = Oid("1" * 40)
    assert find_missing(git, [*line, absent, *side]) == {absent}
    assert find_missing(git, []) == set()


def test_unreachable(tmp_path: Path) -> None:
    """A commit is reachable if a tip contains it."""
    git, line, side = history(tmp_path)
    assert set(find_unreachable(git, [*line, *side], tips=[line[1]])) == {line[2], *side}
    assert find_unreachable(git, line, tips=[line[2]]) == []
    assert find_unreachable(git, [], tips=[]) == []
    assert set(find_unreachable(git, line, tips=[])) == set(line)


def test_reachable_by_commits_that_are_older_than_their_parents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tip reaches a commit also if those between them have older dates."""
    git, line, side = history(tmp_path)
    repo = Repo(tmp_path / "repo")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2001-01-01T00:00:00Z")
    for number in range(12):
        tip = Oid(repo.commit(f"Old {number}", {"c": f"{number}\n"}))
    assert set(find_unreachable(git, [*line, *side], tips=[tip])) == set(line[1:])
    assert repo.git("rev-list", *side, f"^{tip}") != ""  # git's own walk is wrong


def test_departed(tmp_path: Path) -> None:
    """Only a tip that lost the commit it once had has departed, also beside pairs that hide it."""
    git, line, side = history(tmp_path)
    forward = (line[2], line[0])
    hidden = (side[1], side[0])  # the next pair excludes everything of it
    back, across = (line[0], line[2]), (side[1], line[1])
    pairs = [forward, hidden, (side[1], side[1]), back, across]
    assert find_departed(git, pairs) == {back, across}
    assert find_departed(git, []) == set()


def test_heads(tmp_path: Path) -> None:
    """Of several commits those stay that are no ancestors of the others."""
    git, line, side = history(tmp_path)
    assert set(heads_of(git, [*line, *side])) == {line[2], side[1]}
    assert heads_of(git, line[:1]) == line[:1]


@pytest.fixture
def lone(tmp_path: Path) -> tuple[Git, Repo, Oid]:
    """A repository, and a commit to which no ref leads."""
    repo = Repo.make(tmp_path / "lonely")
    base = repo.commit("Base", {"a": "1\n"})
    alone = Oid(repo.commit("Alone", {"a": "2\n"}))
    repo.git("reset", "-q", "--hard", base)
    return Git(str(repo.root)), repo, alone


HALF_MADE = {  # files of a worktree's directory while `git worktree add` runs, or is killed
    "no HEAD": {"commondir": "../..\n"},
    "empty HEAD": {"commondir": "../..\n", "HEAD": ""},
    "HEAD without object": {"commondir": "../..\n", "HEAD": "0" * 40 + "\n"},
    "HEAD of a lost object": {"commondir": "../..\n", "HEAD": "1" * 40 + "\n"},
    "empty commondir": {"commondir": "", "HEAD": "0" * 40 + "\n"},
    "no commondir": {"HEAD": "0" * 40 + "\n"},
    "nothing": {},
}


@pytest.mark.parametrize("state", HALF_MADE)
def test_unreferenced_beside_a_half_made_worktree(
    lone: tuple[Git, Repo, Oid], tmp_path: Path, state: str
) -> None:
    """A worktree that is being made or removed changes no answer, whichever of its files exist."""
    git, repo, alone = lone
    admin = repo.root / ".git/worktrees/half"
    admin.mkdir(parents=True)
    (admin / "gitdir").write_text(f"{tmp_path}/half/.git\n")
    for name, text in HALF_MADE[state].items():
        (admin / name).write_text(text)
    assert find_unreferenced(git, [alone]) == [alone]
    assert find_unreferenced(git, [Oid(repo.head())]) == []


@pytest.mark.parametrize("place", ["another worktree", "the main checkout", "a branch"])
def test_other_worktrees_keep_commits(
    lone: tuple[Git, Repo, Oid], tmp_path: Path, place: str
) -> None:
    """A commit to which the HEAD of any worktree leads is kept."""
    git, repo, alone = lone
    other = repo.worktree(tmp_path / "other", "--detach")
    if place == "another worktree":
        other.git("checkout", "-q", alone)
    elif place == "the main checkout":
        repo.git("checkout", "-q", alone)
        git = git.at(str(other.root))
    else:
        other.git("checkout", "-q", "-b", "kept", alone)
    assert find_unreferenced(git, [alone]) == []


def test_other_worktrees_keep_commits_in_reftables(tmp_path: Path) -> None:
    """A HEAD that is in no file keeps its commit as well."""
    if builders.git_version() < (2, 45):
        pytest.skip("reftable needs git 2.45")
    repo = Repo.make(tmp_path / "repo", "--ref-format=reftable")
    repo.commit("Base", {"a": "1\n"})
    other = repo.worktree(tmp_path / "other", "--detach")
    kept = Oid(other.commit("Alone", {"b": "1\n"}))
    assert find_unreferenced(Git(str(repo.root)), [kept]) == []
