"""Which commits are there and which refs lead to them, told by few processes."""

from pathlib import Path

from fixtures.repos import Repo
from gitworker.model.ids import Oid
from gitworker.repo.git import Git
from gitworker.repo.reachable import find_departed, find_missing, find_unreachable, heads_of


def history(tmp_path: Path) -> tuple[Git, list[Oid], list[Oid]]:
    """Return a door, three commits in a row, and two on a side branch of the first."""
    repo = Repo.make(tmp_path / "repo")
    line = [Oid(repo.commit(f"Line {n}", {"a": f"{n}\n"})) for n in range(3)]
    repo.git("checkout", "-q", "-b", "side", line[0])
    side = [Oid(repo.commit(f"Side {n}", {"b": f"{n}\n"})) for n in range(2)]
    return Git(str(repo.root)), line, side


def test_missing(tmp_path: Path) -> None:
    """What is not in the repository is told, and nothing is asked about nothing."""
    git, line, side = history(tmp_path)
    absent = Oid("1" * 40)
    assert find_missing(git, [*line, absent, *side]) == {absent}
    assert find_missing(git, []) == set()


def test_unreachable(tmp_path: Path) -> None:
    """A commit is reachable where a tip contains it."""
    git, line, side = history(tmp_path)
    assert set(find_unreachable(git, [*line, *side], tips=[line[1]])) == {line[2], *side}
    assert find_unreachable(git, line, tips=[line[2]]) == []
    assert find_unreachable(git, [], tips=[]) == []
    assert set(find_unreachable(git, line, tips=[])) == set(line)


def test_departed(tmp_path: Path) -> None:
    """Only a tip that lost the commit it once had has departed, also where others hide the walk."""
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
