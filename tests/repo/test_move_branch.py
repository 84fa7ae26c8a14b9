"""A worker's branch and checkout move together or not at all, and keep uncommitted changes."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.repos import Repo, lines, tree_bytes
from gitworker.errors import Conflict, Refused
from gitworker.model.ids import Oid, Ref
from gitworker.repo.checkout.move_branch import move_branch
from gitworker.repo.checkout.recover_move import find_unfinished, recover_move
from gitworker.repo.plumbing.git import Git
from tests.repo.killing import run_killed

BRANCH = Ref("refs/heads/auth/task")
POINTS = (
    "move-locked", "move-copied", "move-ref", "move-read", "move-renamed", "move-unlocked",
)  # fmt: skip
IMPORTS = """
import sys
from gitworker.repo.checkout.move_branch import move_branch
from gitworker.repo.plumbing.git import Git
from gitworker.repo.checkout.recover_move import recover_move
"""
MOVE, RECOVER = "move_branch", "recover_move"
ARGUMENTS = """(
    Git(sys.argv[1]), ref=sys.argv[2], old=sys.argv[3], new=sys.argv[4], worktree=sys.argv[5]
)
"""


class Checkout:
    """A worker's worktree with uncommitted work of every kind, and its branch's next commit."""

    def __init__(self, tmp_path: Path) -> None:
        self.main = Repo.make(tmp_path / "repo")
        base = {
            ".gitignore": "*.log\n",
            "f": lines(9),
            "g": lines(9),
            "gone/x": "1\n",
            "kept": "1\n",
        }
        self.main.commit("base", base)
        self.work = self.main.worktree(tmp_path / "work", "-b", "auth/task")
        self.old = Oid(self.work.commit("old", {"own": "1\n"}))
        self.main.git("checkout", "-q", "--detach", "auth/task")
        change = {"f": lines(9, {1: "new"}), "gone/x": None, "added/y": "1\n", "bin": b"\0\1" * 999}
        self.new = Oid(self.main.commit("new", change))
        self.admin = Path(self.work.git("rev-parse", "--absolute-git-dir"))
        self.work.write({"g": "dirty\n", "staged": "s\n", "untracked": "u\n", "my.log": "i\n"})
        self.work.git("add", "staged")
        self.status = self.work.git("status", "--porcelain", "--ignored")

    def move(self, ref: Ref = BRANCH) -> None:
        """Move the branch from old to new."""
        move_branch(
            Git(str(self.main.root)), ref=ref, old=self.old, new=self.new,
            worktree=str(self.work.root),
        )  # fmt: skip

    def recover(self) -> bool:
        """Recover the move."""
        return recover_move(
            Git(str(self.main.root)), ref=BRANCH, old=self.old, new=self.new,
            worktree=str(self.work.root),
        )  # fmt: skip

    def kill_at(self, point: str) -> None:
        """Run the move in a process that is killed at a crash point."""
        self.run_killed(point, MOVE)

    def run_killed(self, point: str, call: str) -> None:
        """Call a function on the move in a process that is killed at a crash point."""
        run_killed(
            point, f"{IMPORTS}{call}{ARGUMENTS}", str(self.main.root), BRANCH, self.old, self.new,
            str(self.work.root),
        )  # fmt: skip

    def assert_at_new(self) -> None:
        """Require the new state with all local work."""
        assert self.work.head("auth/task") == self.new
        assert self.work.git("status", "--porcelain", "--ignored") == self.status
        assert self.work.git("diff", "--cached", "--name-only") == "staged"
        assert (self.work.root / "f").read_text() == lines(9, {1: "new"})
        assert not (self.work.root / "gone").exists()
        self.assert_tidy()

    def assert_at_old(self) -> None:
        """Require the old state with all local work."""
        assert self.work.head("auth/task") == self.old
        assert self.work.git("status", "--porcelain", "--ignored") == self.status
        assert (self.work.root / "f").read_text() == lines(9)
        self.assert_tidy()

    def assert_tidy(self) -> None:
        """Require that no lock or private index is left."""
        assert not (self.admin / "index.lock").exists()
        assert not (self.admin / "gitworker-index").exists()


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A worktree ready to move."""
    return Checkout(tmp_path)


def test_the_branch_moves_with_its_checkout(checkout: Checkout) -> None:
    """Ref, index and files are at the new commit; local work is all there."""
    checkout.move()
    checkout.assert_at_new()


def test_without_a_worktree_the_ref_moves_alone(checkout: Checkout) -> None:
    """A branch whose worktree was deleted still moves by compare-and-set."""
    git = Git(str(checkout.main.root))
    move_branch(git, ref=BRANCH, old=checkout.old, new=checkout.new, worktree=None)
    assert checkout.main.head("auth/task") == checkout.new
    with pytest.raises(Conflict):
        move_branch(git, ref=BRANCH, old=checkout.old, new=checkout.new, worktree=None)


def test_a_new_index_is_as_young_as_it_has_to_be(checkout: Checkout) -> None:
    """A change made in the tick of the last index write is still seen after the move."""
    for number in range(20):
        checkout.work.write({"kept": f"{number % 5 + 2}\n"})
        checkout.work.git("add", "kept")
        checkout.work.write({"kept": "9\n"})
        checkout.move()
        assert "MM kept" in checkout.work.git("status", "--porcelain")
        checkout.old, checkout.new = checkout.new, checkout.old


OBSTACLES: dict[str, tuple[Callable[[Checkout], object], str]] = {
    "dirty": (lambda checkout: checkout.work.write({"f": "mine\n"}), "f"),
    "staged": (
        lambda checkout: (checkout.work.write({"f": "m\n"}), checkout.work.git("add", "f")),
        "f",
    ),
    "dirty where deleted": (lambda checkout: checkout.work.write({"gone/x": "mine\n"}), "gone/x"),
    "untracked": (lambda checkout: checkout.work.write({"added/y": "mine\n"}), "added/y"),
    "untracked parent": (lambda checkout: checkout.work.write({"added": "mine\n"}), "added"),
    "ignored": (
        lambda checkout: (
            (checkout.main.root / ".git/info/exclude").write_text("bin\n"),
            checkout.work.write({"bin": "mine\n"}),
        ),
        "bin",
    ),
}


@pytest.mark.parametrize("name", sorted(OBSTACLES))
def test_an_overlap_is_refused_and_kept(checkout: Checkout, name: str) -> None:
    """Paths that would be overwritten are named; ref, index and files are unchanged."""
    make, path = OBSTACLES[name]
    make(checkout)
    before = tree_bytes(checkout.work.root)
    index = checkout.work.git("ls-files", "--stage")
    with pytest.raises(Refused) as caught:
        checkout.move()
    assert path in caught.value.message
    assert checkout.work.head("auth/task") == checkout.old
    assert tree_bytes(checkout.work.root) == before
    assert checkout.work.git("ls-files", "--stage") == index
    checkout.assert_tidy()


@pytest.mark.parametrize("operation", ["rebase-merge", "MERGE_HEAD", "BISECT_LOG"])
def test_an_open_operation_is_refused(checkout: Checkout, operation: str) -> None:
    """A branch does not move below a rebase, merge or bisect."""
    (checkout.admin / operation).write_text(f"{checkout.new}\n")
    with pytest.raises(Refused):
        checkout.move()
    assert checkout.work.head("auth/task") == checkout.old


def test_another_branch_checked_out_is_a_conflict(checkout: Checkout) -> None:
    """The worktree has to be on the branch."""
    checkout.work.git("checkout", "-q", "-b", "elsewhere")
    with pytest.raises(Conflict):
        checkout.move()
    assert checkout.work.head("auth/task") == checkout.old


def test_anothers_lock_is_a_conflict_and_stays(checkout: Checkout) -> None:
    """A git that is at work keeps its lock."""
    (checkout.admin / "index.lock").write_text("")
    with pytest.raises(Conflict):
        checkout.move()
    assert not checkout.recover()
    assert (checkout.admin / "index.lock").exists()
    (checkout.admin / "index.lock").unlink()
    checkout.assert_at_old()


def test_a_commit_made_meanwhile_is_kept(checkout: Checkout) -> None:
    """A tip that is no longer the expected one is not moved."""
    checkout.work.git("commit", "-qm", "mine")
    mine = checkout.work.head()
    with pytest.raises(Conflict):
        checkout.move()
    assert checkout.work.head("auth/task") == mine
    checkout.assert_tidy()


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_move_is_brought_to_an_end(checkout: Checkout, point: str) -> None:
    """Killed at any point, recovery finishes or takes back, and twice is as good as once."""
    checkout.kill_at(point)
    began = POINTS.index(point) >= POINTS.index("move-ref")
    if point != "move-unlocked":
        assert checkout.work.run("commit", "-qm", "slips in").returncode != 0
        assert find_unfinished(str(checkout.admin)) == (BRANCH, checkout.old, checkout.new)
        with pytest.raises(Conflict):
            checkout.move()
    for _ in range(2):
        assert checkout.recover() is began
        (checkout.assert_at_new if began else checkout.assert_at_old)()
    assert find_unfinished(str(checkout.admin)) is None
    if not began:
        checkout.move()
        checkout.assert_at_new()


def test_a_killed_refusal_is_taken_back(checkout: Checkout) -> None:
    """Killed between git's refusal and the ref's way back, the branch is at the old tip again."""
    checkout.work.write({"f": "mine\n"})
    checkout.kill_at("move-refused")
    assert checkout.work.head("auth/task") == checkout.new
    assert checkout.recover() is False
    assert checkout.work.head("auth/task") == checkout.old
    assert (checkout.work.root / "f").read_text() == "mine\n"
    checkout.assert_tidy()


def test_staged_changes_at_every_path_are_not_a_moved_index(checkout: Checkout) -> None:
    """After a kill the move is refused as without one, and reverses no change of the target."""
    checkout.main.git("checkout", "-q", "--detach", "auth/task")
    checkout.new = Oid(checkout.main.commit("new", {"f": lines(9, {1: "new"})}))
    checkout.work.write({"f": lines(9, {5: "own"})})
    checkout.work.git("add", "f")
    before = checkout.work.git("diff", "--cached")
    checkout.kill_at("move-ref")
    assert checkout.recover() is False
    assert checkout.work.head("auth/task") == checkout.old
    assert checkout.work.git("diff", "--cached") == before
    checkout.assert_tidy()


def test_a_killed_recovery_is_recovered(checkout: Checkout) -> None:
    """Recovery itself can be killed."""
    checkout.kill_at("move-ref")
    checkout.run_killed("recover-settled", RECOVER)
    assert checkout.recover() is True
    checkout.assert_at_new()


@pytest.mark.parametrize("moved", [("f",), ("added/y",), ("gone/x",), ("f", "added/y", "bin")])
def test_a_checkout_that_died_halfway_is_finished(
    checkout: Checkout, moved: tuple[str, ...]
) -> None:
    """Files that git had moved already stay moved, the rest follow."""
    checkout.kill_at("move-ref")
    for name in moved:
        source = checkout.main.root / name
        if source.exists():
            (checkout.work.root / name).parent.mkdir(exist_ok=True)
            (checkout.work.root / name).write_bytes(source.read_bytes())
        else:
            (checkout.work.root / name).unlink()
            (checkout.work.root / name).parent.rmdir()
    (checkout.admin / "gitworker-index.lock").write_text("")
    assert checkout.recover() is True
    checkout.assert_at_new()


def test_a_file_that_is_neither_old_nor_new_is_kept(checkout: Checkout) -> None:
    """In a checkout that died halfway unknown content stays, and the branch is moved back."""
    checkout.kill_at("move-ref")
    checkout.work.write({"added/y": "1\n", "f": "torn"})
    assert checkout.recover() is False
    assert (checkout.work.root / "f").read_text() == "torn"
    assert not (checkout.work.root / "added").exists()
    assert checkout.work.head("auth/task") == checkout.old
    assert "f" in checkout.work.git("diff", "--name-only").split()
    checkout.assert_tidy()


@pytest.mark.parametrize("left", ["gitworker-index", "index.gitworker-back"])
@pytest.mark.parametrize("content", ["new", "old", "garbage", "lock"])
def test_no_private_index_is_believed(checkout: Checkout, left: str, content: str) -> None:
    """Whatever a failed recovery left beside the index, files and index come to the new commit."""
    checkout.kill_at("move-ref")
    if content in ("new", "old"):
        commit = checkout.new if content == "new" else checkout.old
        index = {**os.environ, "GIT_INDEX_FILE": str(checkout.admin / left)}
        checkout.work.git("read-tree", commit, env=index)
    else:
        (checkout.admin / (left if content == "garbage" else f"{left}.lock")).write_text("DIRC")
    assert checkout.recover() is True
    checkout.assert_at_new()


def test_recovery_waits_for_a_mover_that_lives(checkout: Checkout) -> None:
    """While the mover or its git is alive, recovery is a conflict and touches nothing."""
    import fcntl

    checkout.kill_at("move-ref")
    with open(checkout.admin / "gitworker-move", "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(Conflict):
            checkout.recover()
    assert (checkout.admin / "index.lock").exists()
    assert checkout.recover() is True


def test_the_flock_outlives_a_killed_mover_in_its_git(checkout: Checkout) -> None:
    """read-tree inherits the lock: a filter that it runs finds the journal locked."""
    import fcntl

    seen = checkout.main.root.parent / "seen"
    checkout.main.git(
        "config", "filter.slow.smudge",
        f"flock -n {checkout.admin}/gitworker-move true && echo free >{seen} || echo held >{seen};"
        " cat",
    )  # fmt: skip
    (checkout.main.root / ".git/info/attributes").write_text("added/y filter=slow\n")
    checkout.move()
    assert seen.read_text() == "held\n"
    with open(checkout.admin / "gitworker-move", "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_moving_back_and_forth_is_exact(checkout: Checkout) -> None:
    """A move and its reverse leave every byte as it was."""
    before = tree_bytes(checkout.work.root)
    checkout.move()
    checkout.old, checkout.new = checkout.new, checkout.old
    checkout.move()
    assert tree_bytes(checkout.work.root) == before
    assert checkout.work.git("status", "--porcelain", "--ignored") == checkout.status


def test_a_split_index_moves_too(checkout: Checkout) -> None:
    """An index that shares its entries with another file is copied like any."""
    checkout.work.git("update-index", "--split-index")
    checkout.move()
    checkout.assert_at_new()
