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


class Seat:
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
def seat(tmp_path: Path) -> Seat:
    """A worktree ready to move."""
    return Seat(tmp_path)


def test_the_branch_moves_with_its_checkout(seat: Seat) -> None:
    """Ref, index and files are at the new commit; local work is all there."""
    seat.move()
    seat.assert_at_new()


def test_without_a_worktree_the_ref_moves_alone(seat: Seat) -> None:
    """A branch whose worktree was deleted still moves by compare-and-set."""
    git = Git(str(seat.main.root))
    move_branch(git, ref=BRANCH, old=seat.old, new=seat.new, worktree=None)
    assert seat.main.head("auth/task") == seat.new
    with pytest.raises(Conflict):
        move_branch(git, ref=BRANCH, old=seat.old, new=seat.new, worktree=None)


def test_a_new_index_is_as_young_as_it_has_to_be(seat: Seat) -> None:
    """A change made in the tick of the last index write is still seen after the move."""
    for number in range(20):
        seat.work.write({"kept": f"{number % 5 + 2}\n"})
        seat.work.git("add", "kept")
        seat.work.write({"kept": "9\n"})
        seat.move()
        assert "MM kept" in seat.work.git("status", "--porcelain")
        seat.old, seat.new = seat.new, seat.old


OBSTACLES: dict[str, tuple[Callable[[Seat], object], str]] = {
    "dirty": (lambda seat: seat.work.write({"f": "mine\n"}), "f"),
    "staged": (lambda seat: (seat.work.write({"f": "m\n"}), seat.work.git("add", "f")), "f"),
    "dirty where deleted": (lambda seat: seat.work.write({"gone/x": "mine\n"}), "gone/x"),
    "untracked": (lambda seat: seat.work.write({"added/y": "mine\n"}), "added/y"),
    "untracked parent": (lambda seat: seat.work.write({"added": "mine\n"}), "added"),
    "ignored": (
        lambda seat: (
            (seat.main.root / ".git/info/exclude").write_text("bin\n"),
            seat.work.write({"bin": "mine\n"}),
        ),
        "bin",
    ),
}


@pytest.mark.parametrize("name", sorted(OBSTACLES))
def test_an_overlap_is_refused_and_kept(seat: Seat, name: str) -> None:
    """Paths that would be overwritten are named; ref, index and files are unchanged."""
    make, path = OBSTACLES[name]
    make(seat)
    before = tree_bytes(seat.work.root)
    index = seat.work.git("ls-files", "--stage")
    with pytest.raises(Refused) as caught:
        seat.move()
    assert path in caught.value.message
    assert seat.work.head("auth/task") == seat.old
    assert tree_bytes(seat.work.root) == before
    assert seat.work.git("ls-files", "--stage") == index
    seat.assert_tidy()


@pytest.mark.parametrize("operation", ["rebase-merge", "MERGE_HEAD", "BISECT_LOG"])
def test_an_open_operation_is_refused(seat: Seat, operation: str) -> None:
    """A branch does not move below a rebase, merge or bisect."""
    (seat.admin / operation).write_text(f"{seat.new}\n")
    with pytest.raises(Refused):
        seat.move()
    assert seat.work.head("auth/task") == seat.old


def test_another_branch_checked_out_is_a_conflict(seat: Seat) -> None:
    """The worktree has to be on the branch."""
    seat.work.git("checkout", "-q", "-b", "elsewhere")
    with pytest.raises(Conflict):
        seat.move()
    assert seat.work.head("auth/task") == seat.old


def test_anothers_lock_is_a_conflict_and_stays(seat: Seat) -> None:
    """A git that is at work keeps its lock."""
    (seat.admin / "index.lock").write_text("")
    with pytest.raises(Conflict):
        seat.move()
    assert not seat.recover()
    assert (seat.admin / "index.lock").exists()
    (seat.admin / "index.lock").unlink()
    seat.assert_at_old()


def test_a_commit_made_meanwhile_is_kept(seat: Seat) -> None:
    """A tip that is no longer the expected one is not moved."""
    seat.work.git("commit", "-qm", "mine")
    mine = seat.work.head()
    with pytest.raises(Conflict):
        seat.move()
    assert seat.work.head("auth/task") == mine
    seat.assert_tidy()


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_move_is_brought_to_an_end(seat: Seat, point: str) -> None:
    """Killed at any point, recovery finishes or takes back, and twice is as good as once."""
    seat.kill_at(point)
    began = POINTS.index(point) >= POINTS.index("move-ref")
    if point != "move-unlocked":
        assert seat.work.run("commit", "-qm", "slips in").returncode != 0
        assert find_unfinished(str(seat.admin)) == (BRANCH, seat.old, seat.new)
        with pytest.raises(Conflict):
            seat.move()
    for _ in range(2):
        assert seat.recover() is began
        (seat.assert_at_new if began else seat.assert_at_old)()
    assert find_unfinished(str(seat.admin)) is None
    if not began:
        seat.move()
        seat.assert_at_new()


def test_a_killed_refusal_is_taken_back(seat: Seat) -> None:
    """Killed between git's refusal and the ref's way back, the branch is at the old tip again."""
    seat.work.write({"f": "mine\n"})
    seat.kill_at("move-refused")
    assert seat.work.head("auth/task") == seat.new
    assert seat.recover() is False
    assert seat.work.head("auth/task") == seat.old
    assert (seat.work.root / "f").read_text() == "mine\n"
    seat.assert_tidy()


def test_a_killed_recovery_is_recovered(seat: Seat) -> None:
    """Recovery itself can be killed."""
    seat.kill_at("move-ref")
    seat.run_killed("recover-settled", RECOVER)
    assert seat.recover() is True
    seat.assert_at_new()


@pytest.mark.parametrize("moved", [("f",), ("added/y",), ("gone/x",), ("f", "added/y", "bin")])
def test_a_checkout_that_died_halfway_is_finished(seat: Seat, moved: tuple[str, ...]) -> None:
    """Files that git had moved already stay moved, the rest follow."""
    seat.kill_at("move-ref")
    for name in moved:
        source = seat.main.root / name
        if source.exists():
            (seat.work.root / name).parent.mkdir(exist_ok=True)
            (seat.work.root / name).write_bytes(source.read_bytes())
        else:
            (seat.work.root / name).unlink()
            (seat.work.root / name).parent.rmdir()
    (seat.admin / "gitworker-index.lock").write_text("")
    assert seat.recover() is True
    seat.assert_at_new()


def test_a_file_that_is_neither_old_nor_new_is_kept(seat: Seat) -> None:
    """In a checkout that died halfway unknown content stays, and the branch is moved back."""
    seat.kill_at("move-ref")
    seat.work.write({"added/y": "1\n", "f": "torn"})
    assert seat.recover() is False
    assert (seat.work.root / "f").read_text() == "torn"
    assert not (seat.work.root / "added").exists()
    assert seat.work.head("auth/task") == seat.old
    assert "f" in seat.work.git("diff", "--name-only").split()
    seat.assert_tidy()


@pytest.mark.parametrize("left", ["gitworker-index", "index.gitworker-back"])
@pytest.mark.parametrize("content", ["new", "old", "garbage", "lock"])
def test_no_private_index_is_believed(seat: Seat, left: str, content: str) -> None:
    """Whatever a failed recovery left beside the index, files and index come to the new commit."""
    seat.kill_at("move-ref")
    if content in ("new", "old"):
        commit = seat.new if content == "new" else seat.old
        index = {**os.environ, "GIT_INDEX_FILE": str(seat.admin / left)}
        seat.work.git("read-tree", commit, env=index)
    else:
        (seat.admin / (left if content == "garbage" else f"{left}.lock")).write_text("DIRC")
    assert seat.recover() is True
    seat.assert_at_new()


def test_recovery_waits_for_a_mover_that_lives(seat: Seat) -> None:
    """While the mover or its git is alive, recovery is a conflict and touches nothing."""
    import fcntl

    seat.kill_at("move-ref")
    with open(seat.admin / "gitworker-move", "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(Conflict):
            seat.recover()
    assert (seat.admin / "index.lock").exists()
    assert seat.recover() is True


def test_the_flock_outlives_a_killed_mover_in_its_git(seat: Seat) -> None:
    """read-tree inherits the lock: a filter that it runs finds the journal locked."""
    import fcntl

    told = seat.main.root.parent / "told"
    seat.main.git(
        "config", "filter.slow.smudge",
        f"flock -n {seat.admin}/gitworker-move true && echo free >{told} || echo held >{told}; cat",
    )  # fmt: skip
    (seat.main.root / ".git/info/attributes").write_text("added/y filter=slow\n")
    seat.move()
    assert told.read_text() == "held\n"
    with open(seat.admin / "gitworker-move", "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_moving_back_and_forth_is_exact(seat: Seat) -> None:
    """A move and its reverse leave every byte as it was."""
    before = tree_bytes(seat.work.root)
    seat.move()
    seat.old, seat.new = seat.new, seat.old
    seat.move()
    assert tree_bytes(seat.work.root) == before
    assert seat.work.git("status", "--porcelain", "--ignored") == seat.status


def test_a_split_index_moves_too(seat: Seat) -> None:
    """An index that shares its entries with another file is copied like any."""
    seat.work.git("update-index", "--split-index")
    seat.move()
    seat.assert_at_new()
