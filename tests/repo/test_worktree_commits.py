"""Commits reachable only from a worktree's git directory are found; commits with a ref are not."""

from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.repo.plumbing.git import Git
from gitworker.repo.rescue.worktree_commits import find_worktree_only_commits, has_abandoned_commits
from tests.kinds import builders


@pytest.fixture
def work(tmp_path: Path) -> Repo:
    """A linked worktree on a branch of its own."""
    repo = Repo.make(tmp_path / "repo")
    repo.commit("base", {"f": "1\n"})
    return repo.worktree(tmp_path / "work", "-b", "auth/task")


def loose(work: Repo, *, log: bool = False) -> list[str]:
    """Return the commits found there, searched from the main checkout."""
    admin = work.git("rev-parse", "--absolute-git-dir")
    return [*find_worktree_only_commits(Git(str(work.root.parent / "repo")), admin, log=log)]


@pytest.fixture
def tabled(tmp_path: Path) -> Repo:
    """The same in a repository whose refs and logs are in reftables."""
    if builders.git_version() < (2, 45):
        pytest.skip("reftable needs git 2.45")
    repo = Repo.make(tmp_path / "repo", "--ref-format=reftable")
    repo.commit("base", {"f": "1\n"})
    return repo.worktree(tmp_path / "work", "-b", "auth/task")


def lone(work: Repo, message: str = "lone") -> str:
    """Return a commit that nothing leads to."""
    return work.git("commit-tree", "-p", "HEAD", "-m", message, "HEAD^{tree}")


def test_a_tidy_worktree_has_none(work: Repo) -> None:
    """Commits of the branch, in the log of HEAD too, are led to by it."""
    work.commit("one", {"f": "2\n"})
    work.commit("two", {"f": "3\n"})
    assert loose(work, log=True) == []


@pytest.mark.parametrize("name", ["MERGE_HEAD", "rebase-apply/autostash", "rebase-merge/autostash"])
def test_commits_that_an_operation_names(work: Repo, name: str) -> None:
    """A file of git's that names a commit counts until some ref leads to it."""
    commit = lone(work)
    path = Path(work.git("rev-parse", "--absolute-git-dir")) / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{commit}\n")
    assert loose(work) == [commit]
    work.git("branch", "kept", commit)
    assert loose(work) == []


def test_refs_of_the_worktree_alone(work: Repo) -> None:
    """A ref in refs/worktree/ is deleted with its worktree, so it keeps nothing."""
    commit = lone(work)
    work.git("update-ref", "refs/worktree/mine", commit)
    assert loose(work) == [commit]


def test_the_log_of_head(work: Repo) -> None:
    """An amended commit is in the log; of commits on top of each other the last one counts."""
    work.commit("one", {"f": "2\n"})
    last = work.commit("two", {"f": "3\n"})
    work.git("reset", "-q", "--hard", "HEAD~2")
    assert loose(work) == []
    assert loose(work, log=True) == [last]


def test_refs_and_log_in_reftables(tabled: Repo) -> None:
    """Git is asked for commits that no file names: worktree refs, an operation's refs, the log."""
    first = tabled.commit("one", {"f": "2\n"})
    tabled.git("commit", "-q", "--amend", "-m", "other")
    assert turned_back(tabled)
    assert loose(tabled) == []
    assert loose(tabled, log=True) == [first]
    mine, stash = lone(tabled), lone(tabled, "stash")
    tabled.git("update-ref", "refs/worktree/mine", mine)
    tabled.git("update-ref", "CHERRY_PICK_HEAD", stash)
    assert sorted(loose(tabled)) == sorted([mine, stash])
    assert sorted(loose(tabled, log=True)) == sorted([first, mine, stash])


def test_a_pruned_commit_is_skipped(work: Repo) -> None:
    """A commit that was pruned cannot be kept; a worktree without a log has no commits."""
    admin = Path(work.git("rev-parse", "--absolute-git-dir"))
    (admin / "MERGE_HEAD").write_text("1" * 40 + "\n")
    (admin / "logs" / "HEAD").unlink()
    assert loose(work, log=True) == []
    (admin / "MERGE_HEAD").unlink()
    assert loose(work) == []


def turned_back(work: Repo) -> bool:
    """Return the entries in the log of HEAD."""
    return has_abandoned_commits(work.git("rev-parse", "--absolute-git-dir"))


def test_a_head_that_only_went_forward_has_not_turned_back(work: Repo) -> None:
    """Commits of every kind on top of each other, moves of ours, and moves before the first one."""
    work.git("checkout", "-q", "--detach")
    work.git("checkout", "-q", "auth/task")
    work.git("reset", "-q", "--hard")
    first = work.commit("one", {"f": "2\n"})
    work.git("revert", "--no-edit", "HEAD")
    work.git("cherry-pick", "--allow-empty", first)
    side = work.git("commit-tree", "-p", "HEAD~1", "-m", "side", "HEAD~1^{tree}")
    work.git("merge", "-q", "-m", "both", side)
    work.git("update-ref", "-m", "gitworker: follow", "HEAD", side)
    work.commit("two", {"g": "1\n"})
    assert not turned_back(work)


@pytest.mark.parametrize(
    "command",
    [
        ["commit", "-q", "--amend", "-m", "other"],
        ["reset", "-q", "--hard", "HEAD~1"],
        ["checkout", "-q", "--detach", "HEAD~1"],
        ["rebase", "-q", "--force-rebase", "HEAD~1"],
        ["update-ref", "-m", "mine", "HEAD", "HEAD~1"],
    ],
)
def test_a_head_that_left_a_commit_has_turned_back(work: Repo, command: list[str]) -> None:
    """After an amend, a reset, a switch, a rebase or an unknown move the log has to be read."""
    work.commit("one", {"f": "2\n"})
    assert not turned_back(work)
    work.run(*command)
    work.commit("two", {"g": "1\n"})
    assert turned_back(work)


def test_a_log_with_a_gap_is_no_straight_one(work: Repo) -> None:
    """If a commit's predecessor is not the last entry, another process moved HEAD without a log."""
    work.commit("one", {"f": "2\n"})
    work.git("-c", "core.logAllRefUpdates=false", "reset", "-q", "--soft", "HEAD~1")
    admin = Path(work.git("rev-parse", "--absolute-git-dir"))
    log = admin / "logs" / "HEAD"
    log.write_text("".join(line for line in log.open() if "reset" not in line))
    work.commit("two", {"g": "1\n"})
    assert turned_back(work)
    log.unlink()
    assert not turned_back(work)
