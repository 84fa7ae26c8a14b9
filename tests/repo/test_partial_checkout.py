"""A checkout that stops half-way is restored file by file, and files that cannot be are named."""

from pathlib import Path

import pytest

from fixtures.repos import Repo, tree_bytes
from gitworker.errors import Conflict, GitWorkerError, Refused
from gitworker.model.ids import Oid
from gitworker.repo.checkout.fastforward import settle_checkout
from gitworker.repo.plumbing.git import Git
from tests.repo.forwarding import MAIN, assert_moved, facts, forward, make_repo
from tests.repo.test_move_branch import Checkout


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Main is checked out one commit behind `new`."""
    return make_repo(tmp_path)


def stop_at(repo: Repo, tmp_path: Path, *paths: str) -> Path:
    """Let a filter refuse to write these files while the returned path exists."""
    broken = tmp_path / "broken"
    attributes = "".join(f"{path} filter=net\n" for path in paths)
    (repo.root / ".git" / "info").mkdir(exist_ok=True)
    (repo.root / ".git" / "info" / "attributes").write_text(attributes)
    repo.git("config", "filter.net.smudge", f"test ! -e {broken} && cat")
    repo.git("config", "filter.net.clean", "cat")
    repo.git("config", "filter.net.required", "true")
    broken.touch()
    return broken


def test_a_checkout_that_fails_halfway_is_put_back(repo: Repo, tmp_path: Path) -> None:
    """If git fails in the middle of the files, all of them are restored."""
    stop_at(repo, tmp_path, "deep/er/y")
    repo.write({"g": "dirty\n", "untracked": "u\n"})
    before = tree_bytes(repo.root)
    with pytest.raises(Refused, match="which is unchanged"):
        forward(repo)
    after = tree_bytes(repo.root)
    own = {name: data for name, data in before.items() if not name.startswith(".git/")}
    assert {name: data for name, data in after.items() if not name.startswith(".git/")} == own
    assert repo.git("status", "--porcelain").split() == ["M", "g", "??", "untracked"]


def test_a_file_that_cannot_be_restored_is_named(repo: Repo, tmp_path: Path) -> None:
    """A file that can be written neither new nor old is reported, and restored once possible."""
    broken = stop_at(repo, tmp_path, "f")
    with pytest.raises(Conflict, match="could not be put back: f") as caught:
        forward(repo)
    assert caught.value.code == "checkout_broken"
    assert repo.git("status", "--porcelain") == "D f"
    settle = {"ref": MAIN, "new": Oid(repo.head("new")), "since_ms": 0}
    with pytest.raises(Conflict, match="could not be put back: f"):
        settle_checkout(Git(str(repo.root)), **settle)  # type: ignore[arg-type]
    broken.unlink()
    settle_checkout(Git(str(repo.root)), **settle)  # type: ignore[arg-type]
    assert repo.git("status", "--porcelain") == ""
    forward(repo)
    assert_moved(repo)


@pytest.mark.parametrize("index", ["old", "new"])
def test_the_files_of_a_killed_git_are_restored(repo: Repo, index: str) -> None:
    """Files that have arrived, are cut short or missing go back; a user's own older ones do not."""
    old, new = repo.head("main"), repo.head("new")
    settle = {"ref": MAIN, "new": Oid(new)}
    git = Git(str(repo.root))
    repo.git("checkout", "-q", "new")
    if index == "old":
        repo.git("symbolic-ref", "HEAD", "refs/heads/main")
        repo.git("read-tree", "main")
        (repo.root / "added").write_text("")  # cut short
        (repo.root / "f").unlink()
    else:
        repo.git("symbolic-ref", "HEAD", "refs/heads/main")
    before = facts(repo)
    settle_checkout(git, **settle, since_ms=2**50)  # type: ignore[arg-type]
    assert facts(repo) == before
    (repo.root / ".git" / "index.lock").touch()
    if index == "old":
        with pytest.raises(Conflict, match=r"partial checkout.*index\.lock") as caught:
            settle_checkout(git, **settle, since_ms=0)  # type: ignore[arg-type]
        assert caught.value.code == "index_locked"
    (repo.root / ".git" / "index.lock").unlink()
    settle_checkout(git, **settle, since_ms=0)  # type: ignore[arg-type]
    assert repo.git("status", "--porcelain") == ""
    assert repo.head("main") == old
    forward(repo)
    assert_moved(repo)


def test_a_worktree_is_put_back(tmp_path: Path) -> None:
    """If a worker's worktree cannot follow, nothing changes and the branch does not move."""
    checkout = Checkout(tmp_path)
    stop_at(checkout.main, tmp_path, "added/y")
    with pytest.raises(GitWorkerError):
        checkout.move()
    checkout.assert_at_old()
    assert not (checkout.work.root / "added").exists()
    (tmp_path / "broken").unlink()
    checkout.move()
    checkout.assert_at_new()


def test_a_worktree_that_cannot_be_put_back_stays_locked(tmp_path: Path) -> None:
    """A file that can be written neither way keeps the agent from committing its loss."""
    checkout = Checkout(tmp_path)
    broken = stop_at(checkout.main, tmp_path, "f")
    with pytest.raises(Conflict, match="could not be put back: f") as caught:
        checkout.move()
    assert caught.value.code == "checkout_broken"
    for _ in range(2):
        with pytest.raises(GitWorkerError):
            checkout.recover()
        assert (checkout.admin / "index.lock").exists()
    broken.unlink()
    assert checkout.recover()
    checkout.assert_at_new()
