"""Reading history on real repositories: plumbing and pygit2 give the same result."""

from pathlib import Path

import pytest

from gitworker.model.ids import Oid, Ref
from gitworker.repo.history.walk import (
    COUNTED_AT_MOST,
    CommitLine,
    Tip,
    count_divergence,
    list_changed_files,
    list_commits,
    read_diff,
    read_parents,
    read_subjects,
    read_tips,
    walk_by_plumbing,
    walk_by_pygit2,
)
from gitworker.repo.plumbing.git import Git, GitFailed
from tests.conftest import git

MAIN = Ref("refs/heads/main")
TOPIC = Ref("refs/heads/auth/x")
OLD = Ref("refs/heads/old")
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


def branches(root: Path, *refs: Ref) -> dict[Ref, Oid]:
    """Return branches with their tips."""
    return {ref: oid(root, ref) for ref in refs}


def test_tips(forked: Path) -> None:
    """Tips come with their subjects and counts, by every supported git."""
    git(forked, "branch", "old", "main~1")
    refs = branches(forked, MAIN, TOPIC, OLD)
    tips = read_tips(Git(str(forked)), refs, against=MAIN, named=set())
    assert tips == {
        MAIN: Tip(refs[MAIN], "Move on", 0, 0),
        TOPIC: Tip(refs[TOPIC], "Add 2", 2, 1),
        OLD: Tip(refs[OLD], "Start", 0, 1),
    }


@pytest.mark.parametrize("name", ["branch.auth/x.remote", "remote.pushDefault"])
def test_counts_do_not_follow_the_upstream(forked: Path, name: str) -> None:
    """The upstream and the default remote that the user has set do not change the counts."""
    git(forked, "config", "remote.origin.url", "/none")
    git(forked, "config", name, "origin")
    git(forked, "config", "branch.auth/x.merge", "refs/heads/else")
    tips = read_tips(Git(str(forked)), branches(forked, TOPIC), against=MAIN, named=set())
    assert (tips[TOPIC].ahead, tips[TOPIC].behind) == (2, 1)


def test_counts_of_a_branch_with_its_own_push_remote(forked: Path) -> None:
    """An old git does not count a branch that the user's settings push elsewhere."""
    git(forked, "config", "branch.auth/x.pushRemote", "else")
    door = Git(str(forked))
    tip = read_tips(door, branches(forked, TOPIC), against=MAIN, named=set())[TOPIC]
    expected = (2, 1) if door.version() >= COUNTING_SINCE else (None, None)
    assert ((tip.ahead, tip.behind), tip.subject) == (expected, "Add 2")


def test_tips_without_the_target(forked: Path) -> None:
    """Without a commit to count against, tips come without counts."""
    refs = branches(forked, TOPIC)
    none = Ref("refs/heads/none")
    tips = read_tips(Git(str(forked)), refs, against=none, named=set(refs.values()))
    assert tips[TOPIC] == Tip(refs[TOPIC], "Add 2", None, None)


def test_many_tips(forked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many branches cost one process for their subjects, and none without any."""
    refs = {Ref(f"refs/heads/w/{number}"): oid(forked, "main") for number in range(60)}
    assert len(refs) > COUNTED_AT_MOST
    trace = tmp_path / "trace"
    trace.touch()
    monkeypatch.setenv("GITWORKER_TRACE", str(trace))
    bare = read_tips(Git(str(forked)), refs, against=MAIN, named=set())
    assert (set(bare), trace.read_text()) == (set(refs), "")
    named = read_tips(Git(str(forked)), refs, against=MAIN, named=set(refs.values()))
    assert {tip.subject for tip in named.values()} == {"Move on"}
    assert len(trace.read_text().splitlines()) == 1


def test_a_subject_of_many_lines(forked: Path) -> None:
    """A subject that git folds out of several lines, and one in another encoding, are one line."""
    message = b"T\xe4st\nof it\n\nbody\n"
    git(forked, "-c", "i18n.commitEncoding=latin-1", "commit", "-q", "--allow-empty", "-F", "-",
        input=message.decode("latin-1"), encoding="latin-1")  # fmt: skip
    tip = oid(forked, "main")
    assert read_subjects(Git(str(forked)), {tip}) == {tip: "Täst of it"}


def test_subjects_beside_a_missing_commit(forked: Path) -> None:
    """A commit that is no longer in the repository does not hide the subjects of others."""
    tip, missing = Oid(git(forked, "rev-parse", "main")), Oid("1" * 40)
    assert set(read_subjects(Git(str(forked)), {tip, missing})) == {tip}
    assert read_subjects(Git(str(forked)), {missing}) == {}


def test_divergence_commits_and_files(forked: Path) -> None:
    """The commits that would land are counted and listed, newest first, from the fork point."""
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
    """pygit2 and plumbing give the same parents, with and without a start, merges included."""
    door = Git(str(forked))
    start = oid(forked, "main~1")
    git(forked, "merge", "-qm", "Merge", "auth/x")
    tip = oid(forked, "main")
    for since in (None, start, Oid("f" * 40)):
        parents = walk_by_pygit2(door, tip=tip, since=since)
        assert parents == walk_by_plumbing(door, tip=tip, since=since)
        assert parents == read_parents(door, tip=tip, since=since)
        assert parents is not None
        assert parents[tip] == (oid(forked, "main~1"), oid(forked, "auth/x"))
        assert (start in parents) is (since != start)


def test_walk_if_pygit2_fails(tmp_path: Path) -> None:
    """A sha256 repository is walked by plumbing."""
    git(tmp_path, "init", "-q", "--object-format=sha256", "new")
    root = tmp_path / "new"
    git(root, "commit", "-qm", "Start", "--allow-empty")
    door, tip = Git(str(root)), oid(root, "main")
    assert walk_by_pygit2(door, tip=tip, since=None) is None
    assert read_parents(door, tip=tip, since=None) == {tip: ()}


def test_walk_of_nothing(repository: Path) -> None:
    """A tip that does not exist is an error with either reader."""
    door = Git(str(repository))
    with pytest.raises(GitFailed, match="git cannot read the history"):
        read_parents(door, tip=Oid("f" * 40), since=oid(repository, "main"))
