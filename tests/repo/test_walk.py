"""Reading history on real repositories: plumbing and pygit2 tell the same."""

from pathlib import Path

import pytest

from gitworker.model.ids import Oid, Ref
from gitworker.repo.git import Git, GitFailed
from gitworker.repo.walk import (
    COUNTED_AT_MOST,
    NAMES_AT_MOST,
    CommitLine,
    count_divergence,
    list_changed_files,
    list_commits,
    read_diff,
    read_parents,
    read_tips,
    walk_by_plumbing,
    walk_by_pygit2,
)
from tests.conftest import git

MAIN = Ref("refs/heads/main")
TOPIC = Ref("refs/heads/auth/x")
COUNTING_SINCE = (2, 41)


def oid(root: Path, revision: str) -> Oid:
    """Return a commit's id."""
    return Oid(git(root, "rev-parse", revision))


@pytest.fixture
def forked(repository: Path) -> Path:
    """A repository whose branch auth/x has two commits that main lacks, and main one."""
    git(repository, "switch", "-qc", "auth/x")
    for number in (1, 2):
        (repository / f"new {number}").write_text("1\n")
        git(repository, "add", ".")
        git(repository, "commit", "-qm", f"Add {number}")
    git(repository, "switch", "-q", "main")
    git(repository, "commit", "-qm", "Move on", "--allow-empty")
    return repository


def test_tips(forked: Path) -> None:
    """Tips come with subjects, and counted where git can count; what does not exist is absent."""
    door = Git(str(forked))
    tips = read_tips(door, [MAIN, TOPIC, Ref("refs/heads/none")], against=MAIN)
    assert {ref: (tip.oid, tip.subject) for ref, tip in tips.items()} == {
        MAIN: (oid(forked, "main"), "Move on"),
        TOPIC: (oid(forked, "auth/x"), "Add 2"),
    }
    expected = (2, 1) if door.version() >= COUNTING_SINCE else (None, None)
    assert (tips[TOPIC].ahead, tips[TOPIC].behind) == expected


def test_tips_without_the_target(forked: Path) -> None:
    """Where there is nothing to count against, tips come without counts."""
    tips = read_tips(Git(str(forked)), [TOPIC], against=Ref("refs/heads/none"))
    assert tips[TOPIC].subject == "Add 2"
    assert tips[TOPIC].ahead is None


def test_many_tips(forked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many branches cost one process, and branches that nobody asked for stay out."""
    names = [Ref(f"refs/heads/w/{number}") for number in range(NAMES_AT_MOST)]
    tip = oid(forked, "main")
    orders = "".join(f"create {name} {tip}\n" for name in names)
    git(forked, "update-ref", "--stdin", input=orders)
    trace = tmp_path / "trace"
    monkeypatch.setenv("GITWORKER_TRACE", str(trace))
    tips = read_tips(Git(str(forked)), [MAIN, *names], against=MAIN)
    assert set(tips) == {MAIN, *names}
    assert len(trace.read_text().splitlines()) == 1
    assert len(names) > COUNTED_AT_MOST
    assert tips[MAIN].ahead is None


def test_divergence_commits_and_files(forked: Path) -> None:
    """What would land is counted and listed, newest first, from where the branch left."""
    door = Git(str(forked))
    main, topic = oid(forked, "main"), oid(forked, "auth/x")
    assert count_divergence(door, ours=topic, theirs=main) == (2, 1)
    assert list_commits(door, base=main, tip=topic, limit=9) == (
        CommitLine(topic, "Ada Tester", "Add 2"),
        CommitLine(oid(forked, "auth/x~1"), "Ada Tester", "Add 1"),
    )
    assert len(list_commits(door, base=main, tip=topic, limit=1)) == 1
    assert list_commits(door, base=topic, tip=topic, limit=1) == ()
    assert list_changed_files(door, base=MAIN, tip=TOPIC) == ("new 1", "new 2")


def test_diff(forked: Path) -> None:
    """The diff is git's own, with its options."""
    door = Git(str(forked))
    plain = read_diff(door, base=MAIN, tip=TOPIC)
    assert plain == git(forked, "diff", "main...auth/x") + "\n"
    assert "2 files changed" in read_diff(door, base=MAIN, tip=TOPIC, options=["--stat=60"])
    assert "\x1b[" in read_diff(door, base=MAIN, tip=TOPIC, options=["--color=always"])


def test_unrelated_histories(forked: Path) -> None:
    """A branch without a common commit has no list of changed files."""
    git(forked, "switch", "-q", "--orphan", "alone")
    git(forked, "commit", "-qm", "Alone", "--allow-empty")
    assert list_changed_files(Git(str(forked)), base=MAIN, tip=Ref("refs/heads/alone")) == ()


def test_both_walks_agree(forked: Path) -> None:
    """pygit2 and plumbing tell the same parents, with and without a start, merges included."""
    door = Git(str(forked))
    start = oid(forked, "main~1")
    git(forked, "merge", "-qm", "Merge", "auth/x")
    tip = oid(forked, "main")
    for since in (None, start, Oid("f" * 40)):
        told = walk_by_pygit2(door, tip=tip, since=since)
        assert told == walk_by_plumbing(door, tip=tip, since=since)
        assert told == read_parents(door, tip=tip, since=since)
        assert told is not None
        assert told[tip] == (oid(forked, "main~1"), oid(forked, "auth/x"))
        assert (start in told) is (since != start)


def test_walk_where_pygit2_cannot(tmp_path: Path) -> None:
    """A sha256 repository is walked by plumbing."""
    git(tmp_path, "init", "-q", "--object-format=sha256", "new")
    root = tmp_path / "new"
    git(root, "commit", "-qm", "Start", "--allow-empty")
    door, tip = Git(str(root)), oid(root, "main")
    assert walk_by_pygit2(door, tip=tip, since=None) is None
    assert read_parents(door, tip=tip, since=None) == {tip: ()}


def test_walk_of_nothing(repository: Path) -> None:
    """A tip that does not exist is an error, whoever walks."""
    door = Git(str(repository))
    with pytest.raises(GitFailed, match="git cannot read the history"):
        read_parents(door, tip=Oid("f" * 40), since=oid(repository, "main"))
