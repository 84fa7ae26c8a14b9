"""A fast-forward runs few git commands on a checkout, and they are sufficient."""

from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import Refused
from gitworker.model.ids import Oid
from gitworker.repo.checkout.fastforward import fast_forward
from gitworker.repo.plumbing.git import Git, GitFailed
from tests.repo.forwarding import MAIN, assert_moved, assert_refused, facts, forward, make_repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Main is checked out one commit behind `new`."""
    return make_repo(tmp_path)


def test_a_deletion_of_the_users_is_not_undone(repo: Repo) -> None:
    """A file that the user deleted and the move would bring back is an overlap."""
    (repo.root / "f").unlink()
    assert_refused(repo, "f")


def test_a_change_staged_as_it_lands_is_an_overlap(repo: Repo) -> None:
    """If the user has staged the very change that lands, which git would accept, nothing moves."""
    repo.git("checkout", "-q", "new", "--", "f")
    assert_refused(repo, "f")


@pytest.mark.parametrize("name", [":(glob)x", "*", "-f", "a b", "é", "sub/x"])
def test_a_path_is_no_pattern(repo: Repo, name: str) -> None:
    """Paths with a meaning to git are taken literally, in moves and in refusals."""
    repo.git("checkout", "-q", "new")
    repo.commit("odd", {name: "odd\n"})
    repo.git("checkout", "-q", "main")
    repo.write({"g": "dirty\n"})
    forward(repo)
    assert_moved(repo, dirty=" M g")
    repo.git("checkout", "-q", "-f", "new")
    repo.git("commit", "-q", "--allow-empty", "-m", "newer")
    repo.commit("newest", {name: "odder\n"})
    repo.git("checkout", "-q", "main")
    repo.write({name: "mine\n"})
    assert_refused(repo, name)


def test_a_submodule_that_becomes_a_directory_lands(repo: Repo) -> None:
    """Paths below a directory that is still a submodule are queried without an error."""
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    repo.git("commit", "-qm", "sub")
    (repo.root / "sub").mkdir(exist_ok=True)
    repo.git("branch", "-qf", "new", "main")
    repo.git("checkout", "-q", "new")
    (repo.root / "sub").rmdir()
    repo.commit("no sub", {"sub/x": "x\n", "f": "1\n"})
    repo.git("checkout", "-q", "main")
    forward(repo)
    assert repo.head("main") == repo.head("new")
    assert repo.git("status", "--porcelain") == ""


def test_many_paths_land_and_are_refused(repo: Repo) -> None:
    """More paths than a command line holds are compared all the same."""
    names = [f"{'long' * 20}/{'name' * 20}-{number}" for number in range(700)]
    repo.git("checkout", "-q", "new")
    repo.commit("many", dict.fromkeys(names, "1\n"))
    repo.git("checkout", "-q", "main")
    repo.write({"f": "mine\n"})
    assert_refused(repo, "f")
    repo.git("checkout", "-q", "f")
    forward(repo)
    assert_moved(repo)


def test_a_refusal_leaves_the_users_way_back(repo: Repo) -> None:
    """ORIG_HEAD keeps the value of the user's last reset, since git's merge is not even started."""
    repo.git("update-ref", "ORIG_HEAD", "new")
    repo.write({"f": "mine\n"})
    assert_refused(repo, "f")
    assert repo.head("ORIG_HEAD") == repo.head("new")


def test_three_processes_move_a_checkout(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only three processes start: the changes, the dirty ones among them, and the merge."""
    old, new = Oid(repo.head("main")), Oid(repo.head("new"))
    repo.git("pack-refs", "--all")
    monkeypatch.setenv("GITWORKER_TRACE", str(tmp_path / "trace"))
    fast_forward(
        Git(str(repo.root)), ref=MAIN, old=old, new=new, worktree=str(repo.root),
        reason="landing: test",
    )  # fmt: skip
    monkeypatch.delenv("GITWORKER_TRACE")
    assert len((tmp_path / "trace").read_text().splitlines()) == 3
    assert_moved(repo)


@pytest.mark.parametrize("how", ["link", "alias", "reftable"])
def test_a_head_that_only_git_can_read_is_read_by_git(repo: Repo, how: str) -> None:
    """HEAD as a symbolic link, a branch that is another's name, and another ref backend."""
    if how == "link":
        repo.git("config", "core.preferSymlinkRefs", "true")
        repo.git("symbolic-ref", "HEAD", "refs/heads/main")
        assert (repo.root / ".git/HEAD").is_symlink()
    elif how == "alias":
        repo.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
        repo.git("symbolic-ref", "HEAD", "refs/heads/alias")
    else:
        (repo.root / ".git/reftable").mkdir()
    fast_forward(
        Git(str(repo.root)), ref=MAIN, old=Oid(repo.head("main")), new=Oid(repo.head("new")),
        worktree=str(repo.root), reason="landing: test",
    )  # fmt: skip
    assert_moved(repo)


def test_a_commit_that_is_not_there_moves_nothing(repo: Repo) -> None:
    """An id that names no commit is an error of git's."""
    before = facts(repo)
    with pytest.raises(GitFailed):
        fast_forward(
            Git(str(repo.root)), ref=MAIN, old=Oid(repo.head("main")), new=Oid("1" * 40),
            worktree=str(repo.root), reason="landing: test",
        )  # fmt: skip
    assert facts(repo) == before


@pytest.mark.parametrize("state", ["clean", "dirty", "untracked", "behind"])
def test_not_descending_is_reported_before_anything_else(repo: Repo, state: str) -> None:
    """A commit that cannot be fast-forwarded is refused as such, whatever else blocks the move."""
    if state == "behind":
        repo.git("merge", "-q", "--ff-only", "new")
        repo.git("branch", "-qf", "new", "main~1")
    else:
        repo.commit("own", {"own": "1\n"})
    if state == "dirty":
        repo.write({"f": "mine\n"})
    elif state == "untracked":
        repo.write({"added": "mine\n"})
    before = facts(repo)
    with pytest.raises(Refused) as caught:
        forward(repo)
    assert caught.value.code == "not_fast_forward"
    assert facts(repo) == before
