"""A target one commit behind for the fast-forward tests, and the state that must not change."""

from pathlib import Path

import pytest

from fixtures.repos import Repo, lines, tree_bytes
from gitworker.errors import GitWorkerError, Refused
from gitworker.model.ids import Oid, Ref
from gitworker.repo.checkout.fastforward import fast_forward
from gitworker.repo.plumbing.git import Git
from gitworker.repo.worktrees.worktree_list import find_checkout

MAIN = Ref("refs/heads/main")


def make_repo(tmp_path: Path) -> Repo:
    """Make main, checked out, one commit behind `new`, which adds, changes and deletes files."""
    repo = Repo.make(tmp_path / "repo")
    base = {".gitignore": "*.log\n", "f": lines(9), "g": lines(9), "gone": "1\n", "dir/x": "1\n"}
    repo.commit("base", base)
    repo.git("checkout", "-q", "-b", "new")
    changes = {"f": lines(9, {1: "new"}), "added": "1\n", "gone": None, "out.log": "new\n"}
    repo.write(changes | {"deep/er/y": "1\n"})
    repo.git("add", "--all", "--force")
    repo.git("commit", "-qm", "new")
    repo.git("checkout", "-q", "main")
    return repo


def forward(repo: Repo, worktree: Path | None = None) -> None:
    """Fast-forward main to new in the checkout that git reports."""
    git = Git(str(worktree or repo.root))
    fast_forward(
        git, ref=MAIN, old=Oid(repo.head("main")), new=Oid(repo.head("new")),
        worktree=find_checkout(git, MAIN), reason="landing: test",
    )  # fmt: skip


def facts(repo: Repo) -> tuple[object, ...]:
    """Return everything of a checkout that must not change when a move is refused."""
    files = tree_bytes(repo.root)
    own = {name: data for name, data in files.items() if not name.startswith(".git/")}
    index = repo.git("ls-files", "--stage")
    return (
        own,
        index,
        repo.git("for-each-ref"),
        repo.git("rev-parse", "--symbolic-full-name", "HEAD"),
    )


def assert_moved(repo: Repo, *, dirty: str = "") -> None:
    """Require that main and its checkout are at new; `dirty` is what status still reports."""
    assert repo.head("main") == repo.head("new")
    assert repo.git("status", "--porcelain").strip() == dirty.strip()
    assert (repo.root / "added").read_text() == "1\n"
    assert not (repo.root / "gone").exists()
    assert repo.git("reflog", "-1", "--format=%gs", "main").startswith("landing: test")


def assert_refused(repo: Repo, *named: str, error: type[GitWorkerError] = Refused) -> None:
    """Require a refusal that names paths and changes nothing."""
    before = facts(repo)
    with pytest.raises(error) as caught:
        forward(repo)
    assert all(name in caught.value.message for name in named)
    assert caught.value.hint
    assert facts(repo) == before
