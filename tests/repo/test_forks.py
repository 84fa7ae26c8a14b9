"""The fork points of branches on the target, and the changes since."""

from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.model.ids import Oid
from gitworker.repo.history import forks
from gitworker.repo.history.forks import Forks, read_forks, read_path_changes
from gitworker.repo.plumbing.git import Git, GitFailed


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository whose target `main` has three commits."""
    repo = Repo.make(tmp_path / "repo")
    for name in ("one", "two", "three"):
        repo.commit(name, {name: f"{name}\n"})
    return repo


def branch(repo: Repo, start: str, *names: str) -> Oid:
    """Commit files one by one on a detached HEAD that starts somewhere; return the tip."""
    repo.git("checkout", "-q", "--detach", start)
    for name in names:
        repo.commit(name, {name: f"{name}\n"})
    tip = repo.head()
    repo.git("checkout", "-q", "main")
    return Oid(tip)


def read(repo: Repo, *tips: Oid) -> Forks:
    """Ask how tips hang on main."""
    return read_forks(Git(str(repo.root)), target=Oid(repo.head("main")), tips=tips)


def test_branches_that_left_at_different_commits(repo: Repo) -> None:
    """Each branch has its fork point, and the line lists the fork points and the target."""
    old, new, top = (branch(repo, start, start) for start in ("main~2", "main~1", "main"))
    found = read(repo, old, new, top)
    line = [Oid(repo.head(name)) for name in ("main~2", "main~1", "main")]
    assert found.bases == dict(zip((old, new, top), line, strict=True))
    assert found.trunk == tuple(line)
    assert set(found.related.values()) == {frozenset()}


def test_only_bases_are_on_the_line(repo: Repo) -> None:
    """Commits of the target at which no branch forked are skipped."""
    old = branch(repo, "main~2", "a")
    assert read(repo, old).trunk == (Oid(repo.head("main~2")), Oid(repo.head("main")))


def test_a_commit_of_the_target_is_no_branch(repo: Repo) -> None:
    """A tip that the target contains has no commits of its own."""
    assert read(repo, Oid(repo.head("main~1")), Oid(repo.head("main"))).bases == {}


def test_a_branch_that_merged_the_target(repo: Repo) -> None:
    """Its base is the newest commit of the target that it has."""
    branch(repo, "main~2", "a")
    repo.git("checkout", "-q", "--detach", "main~2")
    repo.commit("a", {"a": "a\n"})
    repo.git("merge", "-q", "--no-edit", "main~1")
    tip = Oid(repo.commit("b", {"b": "b\n"}))
    assert read(repo, tip).bases == {tip: Oid(repo.head("main~1"))}


def test_a_branch_of_no_common_history(repo: Repo) -> None:
    """A branch with a root of its own has no simple base."""
    repo.git("checkout", "-q", "--orphan", "alone")
    tip = Oid(repo.commit("alone", {"x": "x\n"}))
    assert read(repo, tip).bases == {tip: None}


def test_a_branch_that_left_a_merged_side_branch(repo: Repo) -> None:
    """A base that is not on the target's own line counts as not simple."""
    side = branch(repo, "main~1", "side")
    repo.git("merge", "-q", "--no-ff", "--no-edit", side)
    tip = branch(repo, side, "more")
    assert read(repo, tip).bases == {tip: None}


def test_a_base_that_is_too_far_back(repo: Repo) -> None:
    """The line is followed so far and no further."""
    far = branch(repo, "main", "far")
    commit = "commit refs/heads/main\ncommitter A <a@x> {at} +0000\ndata 0\n\n"
    history = ["reset refs/heads/main\nfrom main^0\n"]
    history += [commit.format(at=1_800_000_000 + at) for at in range(forks.TRUNK_AT_MOST)]
    repo.git("fast-import", "--quiet", "--force", input="".join(history).encode())
    near = branch(repo, "main~9", "near")
    assert read(repo, far, near).bases == {far: None, near: Oid(repo.head("main~9"))}


def test_branches_with_commits_in_common_are_kin(repo: Repo) -> None:
    """A branch on top of another and one that merged it are relatives; others are not."""
    lower = branch(repo, "main", "lower")
    upper = branch(repo, lower, "upper")
    alone = branch(repo, "main", "alone")
    found = read(repo, lower, upper, alone)
    assert found.related == {
        lower: frozenset({upper}), upper: frozenset({lower}), alone: frozenset(),
    }  # fmt: skip


def test_a_missing_tip(repo: Repo) -> None:
    """A broken branch has no base and hides no other; a history with a lost commit is an error."""
    tip, missing = branch(repo, "main~1", "a"), Oid("1" * 40)
    assert read(repo, missing, tip).bases == {tip: Oid(repo.head("main~1"))}
    assert read(repo, missing).bases == {}
    middle = branch(repo, "main", "a", "b")
    lost = repo.git("rev-parse", f"{middle}~1")
    (repo.root / f".git/objects/{lost[:2]}/{lost[2:]}").unlink()
    with pytest.raises(GitFailed):
        read(repo, middle, tip)


def test_changes_between_many_commits(repo: Repo) -> None:
    """Every pair has its statuses and paths, a rename as both of its names, odd names unquoted."""
    base = Oid(repo.head("main"))
    repo.git("checkout", "-q", "--detach", "main")
    repo.write({"one": "other\n", "two": None, "sub/ünï\ncode": "two\n"})
    first = Oid(repo.commit("first"))
    second = branch(repo, "main", "A", "sub/D")
    third = branch(repo, "main")
    found = read_path_changes(Git(str(repo.root)), [(base, first), (base, second), (first, third)])
    assert found == {
        (base, first): (("M", "one"), ("A", "sub/ünï\ncode"), ("D", "two")),
        (base, second): (("A", "A"), ("A", "sub/D")),
        (first, third): (("M", "one"), ("D", "sub/ünï\ncode"), ("A", "two")),
    }
    assert read_path_changes(Git(str(repo.root)), []) == {}


def test_a_missing_commit_is_no_empty_change(repo: Repo) -> None:
    """git's silence about a commit is an error."""
    base = Oid(repo.head("main"))
    with pytest.raises(GitFailed):
        read_path_changes(Git(str(repo.root)), [(base, Oid("1" * 40))])
