"""What can be adopted: a branch, or a worktree made by hand, that nothing else is done to."""

import os
from dataclasses import dataclass

from gitworker.errors import NotFound, Refused
from gitworker.model.ids import Branch, Oid, Ref, ref_of
from gitworker.paths import read_seat
from gitworker.repo.checks import abort_command, open_operation
from gitworker.repo.refs import read_refs
from gitworker.repo.worktrees import Worktree, find_checkout, list_worktrees
from gitworker.session import Session
from gitworker.store.workers import find_worker_of_branch
from gitworker.workers.trashing import trash_root


@dataclass(frozen=True, slots=True)
class Found:
    """A branch with its tip, and the worktree that it is checked out in, if any."""

    ref: Ref
    tip: Oid
    worktree: Worktree | None

    @property
    def branch(self) -> Branch:
        """Return the branch's short name."""
        return Branch(self.ref.removeprefix("refs/heads/"))


def find_adoptable(session: Session, name: str) -> Found:
    """Return what a name means; raise NotFound for nothing, Refused for two things or no branch."""
    worktrees = list_worktrees(session.git)
    real = os.path.realpath(name)
    at_path = next((one for one in worktrees if os.path.realpath(one.path) == real), None)
    ref = ref_of(Branch(name.removeprefix("refs/heads/")))
    tip = None
    if not name.startswith("-") and "/../" not in f"/{name}/":
        tip = read_refs(session.git, [ref]).get(ref)
    if at_path is not None and tip is not None and at_path.branch != ref:
        raise Refused(
            f"{name} is a worktree and, elsewhere, a branch",
            f"git worker adopt {real} …   (or: refs/heads/{name})",
            code="ambiguous",
        )
    if at_path is not None:
        return _in_worktree(session, at_path, worktrees[0])
    if tip is None:
        raise NotFound(
            f"{name!r} is neither a branch nor a worktree of this repository",
            "git branch   (and: git worktree list)",
        )
    place = find_checkout(session.git, ref)
    if place is None:
        return Found(ref, tip, None)
    real = os.path.realpath(place)
    held = next((one for one in worktrees if os.path.realpath(one.path) == real), worktrees[0])
    return _in_worktree(session, held, worktrees[0], ref)


def _in_worktree(
    session: Session, worktree: Worktree, main: Worktree, ref: Ref | None = None
) -> Found:
    """Return the branch of a worktree that may be given to a worker; raise Refused for others."""
    path = worktree.path
    if worktree == main:
        raise Refused(
            f"{session.main_top} is the main checkout, which is nobody's seat",
            "git switch OTHER-BRANCH   (there; then adopt the branch)",
            code="main_checkout",
        )
    if not os.path.isdir(path) or worktree.prunable:
        raise Refused(f"the worktree {path} is not there", "git worktree list", code="no_worktree")
    busy = open_operation(worktree.admin_dir)
    if busy is not None:
        raise Refused(
            f"a {busy} is open in {path}", f"git -C {path} {abort_command(busy)}",
            code="operation_open",
        )  # fmt: skip
    seat = read_seat(worktree.admin_dir)
    if seat is not None:
        raise Refused(
            f"{path} is the worktree of {seat[0]} for {seat[1]}", f"git worker show {seat[0]}",
            code="taken",
        )  # fmt: skip
    if worktree.locked:
        raise Refused(f"{path} is locked", f"git worktree unlock {path}", code="worktree_locked")
    if worktree.branch is None or worktree.head is None or ref not in (None, worktree.branch):
        raise Refused(
            f"{path} is on no branch that has a commit", f"git -C {path} switch -c NEW-BRANCH",
            code="detached",
        )  # fmt: skip
    find_checkout(session.git, worktree.branch)  # raises where it is checked out twice
    return Found(worktree.branch, worktree.head, worktree)


def require_adoptable(session: Session, found: Found) -> None:
    """Refuse the target, a worker's branch, and a worktree that no trash could ever take."""
    if found.ref == session.target:
        raise Refused(
            f"{found.branch} is the target, which is nobody's branch",
            f"git switch -c NEW-BRANCH {found.branch}",
            code="is_target",
        )
    with session.store.read() as reader:
        holder = find_worker_of_branch(reader, found.branch)
    if holder is not None:
        raise Refused(
            f"{found.branch} is the branch of worker {holder.worker_id}",
            f"git worker show {holder.worker_id}",
            code="taken",
        )
    if found.worktree is not None:
        _check_device(session, found.worktree.path)


def _check_device(session: Session, path: str) -> None:
    """Refuse a worktree on another file system: removing it is a rename into the trash."""
    trash = trash_root(session)
    while not os.path.isdir(trash):
        trash = os.path.dirname(trash)
    if os.stat(path).st_dev != os.stat(trash).st_dev:
        raise Refused(
            f"{path} is on another file system than the workers' worktrees"
            f" ({session.worktree_root})",
            "git config worker.worktree.root DIR   (a directory on that file system)",
            code="other_file_system",
        )
