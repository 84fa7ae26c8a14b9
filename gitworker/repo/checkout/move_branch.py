"""Move a worker's branch together with its checkout, so that no commit can come in between.

The worktree's `index.lock` is held from before the ref moves until the checkout has followed: an
agent's `git commit` in that gap would silently revert the changes of the target. The lock is a hard
link to the file `gitworker-move`. Its content names the move, and its flock shows whether the mover
(or the git that it started) is alive. Another program's lock is never removed.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from gitworker.clock import sleep
from gitworker.crashpoint import crash_point
from gitworker.errors import Conflict, GitWorkerError, Naming, Refused
from gitworker.model.ids import Oid, Ref
from gitworker.paths import open_regular
from gitworker.repo.checkout.partial_checkout import (
    PartialCheckout,
    has_begun,
    put_back,
    renew_entries,
)
from gitworker.repo.plumbing.disk import copy_index
from gitworker.repo.plumbing.git import Git, GitFailed
from gitworker.repo.plumbing.refs import find_head_ref, move_ref
from gitworker.repo.status.checkout_status import (
    name_paths,
    read_status,
)
from gitworker.repo.status.path_changes import changes_between, find_collisions
from gitworker.repo.worktrees.ownership import require_checkout
from gitworker.repo.worktrees.trouble import require_no_operation
from gitworker.rules_text import quoted

MARKER = "gitworker move"
DETACHED = Ref("HEAD")
NEVER_MS = 2**60  # later than every file: no file counts as moved
PAUSES_S = (0.02, 0.05, 0.1, 0.2, 0.3, 0.3)


class BranchMove(NamedTuple):
    """A branch's move from `old` to `new`; `admin_dir` is the worktree's own git directory."""

    ref: Ref
    old: Oid
    new: Oid
    worktree: str
    admin_dir: str

    @property
    def marker(self) -> bytes:
        """Return the text that identifies a lock as gitworker's and as this move's."""
        return f"{MARKER}\n{self.old} {self.new} {self.ref}\n".encode()

    @property
    def journal(self) -> str:
        """Return the path of the file that the lock is a hard link to."""
        return f"{self.admin_dir}/gitworker-move"

    @property
    def lock(self) -> str:
        """Return the path of git's lock of the index."""
        return f"{self.admin_dir}/index.lock"

    @property
    def index_file(self) -> str:
        """Return the path of the worktree's index."""
        return f"{self.admin_dir}/index"

    @property
    def private_index(self) -> str:
        """Return the path of the index that the move prepares."""
        return f"{self.admin_dir}/gitworker-index"

    def checkout(self) -> PartialCheckout:
        """Return the move as a partial checkout; the time of the journal file is its start."""
        try:
            with open(self.journal, "rb", opener=open_regular) as file:
                is_this = file.read() == self.marker
                began_ms = os.fstat(file.fileno()).st_mtime_ns // 1_000_000
        except FileNotFoundError:
            is_this = False
        return PartialCheckout(
            self.worktree, self.index_file, self.old, self.new, began_ms if is_this else NEVER_MS
        )


def move_branch(
    git: Git,
    *,
    ref: Ref,
    old: Oid,
    new: Oid,
    worktree: str | None,
    admin_dir: str | None = None,
    reason: str = "gitworker: follow",
) -> None:
    """Move a branch by compare-and-set, together with its checkout; keep every uncommitted byte.

    Without a worktree only the ref moves. `ref` HEAD means a detached HEAD. Raises Refused, with
    nothing changed, if local changes or untracked or ignored files are in the way or an operation
    is open. Raises Conflict if the branch is at another commit or the index stays locked. After a
    crash `recover_move` finishes the move or takes it back.
    """
    if worktree is None:
        move_ref(git, ref, old=old, new=new, reason=reason)
        return
    admin_dir = require_checkout(git, worktree, admin_dir)
    move = BranchMove(ref, old, new, worktree, admin_dir)
    here = git.at(worktree)
    with _index_locked(move) as lock:
        crash_point("move-locked")
        _check(here, move)
        _carry_out(here, move, reason=reason, lock=lock)
    crash_point("move-unlocked")


def hold_journal(move: BranchMove) -> int:
    """Open and flock the journal file; raise Conflict if a move is running in this worktree."""
    descriptor = os.open(move.journal, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    for pause_s in (*PAUSES_S, None):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except OSError:
            if pause_s is None:
                os.close(descriptor)
                raise Conflict(
                    f"another command is moving the branch in {move.worktree}",
                    "git worker status",
                    code="locked",
                ) from None
            sleep(pause_s)
    raise AssertionError("unreachable")


def write_marker(move: BranchMove, descriptor: int) -> None:
    """Write into the journal file, which is held, that the move begins now."""
    with Naming(move.journal):
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, move.marker, 0)
        os.fsync(descriptor)


def is_ours(lock: str) -> bool:
    """Return whether gitworker made a lock file, by its content."""
    try:
        with open(lock, "rb", opener=open_regular) as file:
            return file.read(len(MARKER)) == MARKER.encode()
    except OSError:
        return False


def read_tree(here: Git, *, old: Oid, new: Oid, index: str | None = None) -> None:
    """Move the checkout and an index file from `old` to `new`; raise GitFailed.

    Without `index` the worktree's own index is moved. Other local changes are kept; an overlap is
    refused before anything changes. A file that was only touched, copied or rewritten with the same
    bytes is not an overlap. git judges it by its times, so after a refusal the index is refreshed
    and git tries once more.
    """
    env = {} if index is None else {"GIT_INDEX_FILE": index}
    words = ("read-tree", "-m", "-u", "--no-recurse-submodules", old, new)
    try:
        here.run(*words, env=env)
    except GitFailed as failure:
        if has_begun(failure.detail):
            raise
        here.run("update-index", "-q", "--refresh", env=env, ok=(0, 1, 128))
        here.run(*words, env=env)


def put_files_back(here: Git, move: BranchMove) -> None:
    """Restore the files that a move has touched to the state in the index, and refresh the index.

    The caller holds the index lock. Raises Conflict if a file cannot be written; the lock then
    stays for `recover_move`.
    """
    left = put_back(here, move.checkout())
    if left.missing:
        raise Conflict(
            f"git stopped while it moved the files of {move.worktree}, and these could not be put"
            f" back: {name_paths(left.missing)}",
            "git worker recover",
            code="checkout_broken",
            detail="\n".join(left.missing),
        )
    prepare_index(move)
    renew_entries(here, left.written, index=move.private_index)
    os.replace(move.private_index, move.index_file)


def prepare_index(move: BranchMove) -> None:
    """Make the private index a copy of the worktree's own; an older private index is replaced."""
    remove_file(f"{move.private_index}.lock")  # left by a git that died with its machine
    copy_index(move.index_file, move.private_index)


def remove_file(path: str) -> None:
    """Remove a file; do nothing if it is absent."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


class _Lock:
    """The held index lock; with `keep` an error leaves it for `recover_move`."""

    __slots__ = ("descriptor", "keep")

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.keep = False


@contextmanager
def _index_locked(move: BranchMove) -> Iterator[_Lock]:
    """Hold the index lock with gitworker's content.

    Raises Conflict if it stays taken for about a second, or belongs to an unfinished move.
    """
    descriptor = hold_journal(move)
    try:
        if is_ours(move.lock):
            raise Conflict(
                f"an interrupted move of the branch in {move.worktree} must be repaired first",
                "git worker doctor",
                code="unfinished_move",
            )
        write_marker(move, descriptor)
        _link(move)
        lock = _Lock(descriptor)
        try:
            yield lock
        finally:
            if not lock.keep:
                remove_file(move.private_index)
                os.unlink(move.lock)
    finally:
        os.close(descriptor)


def _link(move: BranchMove) -> None:
    """Link the journal file as index lock: atomic, with its content, never over another lock."""
    for pause_s in (*PAUSES_S, None):
        try:
            os.link(move.journal, move.lock)
            return
        except FileExistsError:
            if pause_s is None:
                raise Conflict(
                    f"another git process holds {move.lock}",
                    f"ls -l {quoted(move.lock)}",
                    code="index_locked",
                ) from None
            sleep(pause_s)


def _check(here: Git, move: BranchMove) -> None:
    require_no_operation(move.worktree, move.admin_dir)
    head = find_head_ref(here)
    if (head or DETACHED) != move.ref:
        raise Conflict(
            f"{move.worktree} is on {head or 'a detached HEAD'}, not on {move.ref}",
            f"git -C {quoted(move.worktree)} status",
            code="not_on_branch",
        )
    blocked = find_collisions(move.worktree, changes_between(here, move.old, move.new))
    if blocked:
        raise Refused(
            f"files that git does not track in {move.worktree} would be overwritten:"
            f" {name_paths(blocked)}",
            f"git -C {quoted(move.worktree)} status --ignored",
            code="would_overwrite",
            detail="\n".join(blocked),
        )


def _carry_out(here: Git, move: BranchMove, *, reason: str, lock: _Lock) -> None:
    prepare_index(move)
    crash_point("move-copied")
    lock.keep = True
    try:
        move_ref(here, move.ref, old=move.old, new=move.new, reason=reason)
    except Conflict:
        lock.keep = False
        raise
    crash_point("move-ref")
    try:
        mover = here.holding(lock.descriptor)
        read_tree(mover, old=move.old, new=move.new, index=move.private_index)
    except GitFailed as failure:
        crash_point("move-refused")
        if has_begun(failure.detail):
            put_files_back(here, move)
        move_ref(here, move.ref, old=move.new, new=move.old, reason=f"{reason} (taken back)")
        lock.keep = False
        raise _refusal(here, move, failure) from failure
    crash_point("move-read")
    os.replace(move.private_index, move.index_file)
    lock.keep = False
    crash_point("move-renamed")


def _refusal(here: Git, move: BranchMove, failure: GitFailed) -> GitWorkerError:
    dirty = set(read_status(here, untracked=False).paths)
    changed = {change.path for change in changes_between(here, move.old, move.new)}
    overlap = dirty & changed
    if not overlap:
        return failure
    return Refused(
        f"uncommitted changes in {move.worktree} would be overwritten: {name_paths(overlap)}",
        f"git -C {quoted(move.worktree)} commit --all",
        code="would_overwrite",
        detail="\n".join(sorted(overlap)),
    )
