"""Find the branch or worktree that is to be adopted, and refuse one that cannot be."""

import os
from dataclasses import dataclass

from gitworker.errors import NotFound, Refused
from gitworker.model.ids import Branch, Oid, Ref
from gitworker.model.ref_names import BRANCHES, WORKSTREAMS, ref_of, short_name
from gitworker.paths import read_worktree_owner
from gitworker.repo.hooks.shims import CONFIG_HOOKS_SINCE
from gitworker.repo.hooks.user_hooks import find_own_hooks
from gitworker.repo.plumbing.refs import read_refs
from gitworker.repo.status.checkout_status import end_command, open_operation
from gitworker.repo.worktrees.worktree_list import Worktree, find_checkout, list_worktrees
from gitworker.rules_text import quoted
from gitworker.session import Session
from gitworker.store.workers import find_worker_of_branch
from gitworker.worktrees.worktree_root import find_barrier

CLAUDES_WORKTREES = "/.claude/worktrees"


@dataclass(frozen=True, slots=True)
class AdoptableBranch:
    """A branch with its tip, and the worktree that it is checked out in, if any."""

    ref: Ref
    tip: Oid
    worktree: Worktree | None

    @property
    def branch(self) -> Branch:
        """Return the branch's short name."""
        return short_name(self.ref)


def find_adoptable(session: Session, name: str) -> AdoptableBranch:
    """Return the branch that a name or a path means, with its worktree.

    Raises NotFound for an unknown name, and Refused if it is ambiguous or cannot be adopted.
    """
    worktrees = list_worktrees(session.git)
    real = os.path.realpath(name)
    at_path = next((one for one in worktrees if os.path.realpath(one.path) == real), None)
    ref = ref_of(short_name(name))
    tip = None
    if not name.startswith("-") and "/../" not in f"/{name}/":
        tip = read_refs(session.git, [ref]).get(ref)
    if at_path is not None and tip is not None and at_path.branch != ref:
        raise Refused(
            f"{name} is the path of a worktree and also another branch",
            f"git worker adopt {quoted(real)} <worker> <task>   # or: {BRANCHES}{name}",
            code="ambiguous",
        )
    if at_path is not None:
        return _in_worktree(session, at_path, worktrees[0])
    if tip is None:
        raise NotFound(
            f"{name!r} is neither a branch nor a worktree of this repository",
            "git branch   # and: git worktree list",
        )
    place = find_checkout(session.git, ref)
    if place is None:
        return AdoptableBranch(ref, tip, None)
    real = os.path.realpath(place)
    held = next((one for one in worktrees if os.path.realpath(one.path) == real), worktrees[0])
    return _in_worktree(session, held, worktrees[0], ref)


def _in_worktree(
    session: Session, worktree: Worktree, main: Worktree, ref: Ref | None = None
) -> AdoptableBranch:
    """Return the branch of a worktree; raise Refused if it cannot be given to a worker."""
    path = worktree.path
    if worktree == main:
        raise Refused(
            f"{session.main_top} is the main checkout and cannot belong to a worker",
            "git switch <other-branch>   # there; then adopt the branch",
            code="main_checkout",
        )
    if not os.path.isdir(path) or worktree.prunable:
        raise Refused(f"worktree {path} does not exist", "git worktree list", code="no_worktree")
    busy = open_operation(worktree.admin_dir)
    if busy is not None:
        raise Refused(
            f"a {busy} is open in {path}", f"git -C {quoted(path)} {end_command(busy)}",
            code="operation_open",
        )  # fmt: skip
    owner = read_worktree_owner(worktree.admin_dir)
    if owner is not None:
        worker, task = owner
        raise Refused(
            f"{path} is the worktree of {worker} for {task}", f"git worker show {worker}",
            code="taken",
        )  # fmt: skip
    if worktree.locked and not _is_claudes(path):
        raise Refused(
            f"{path} is locked", f"git worktree unlock {quoted(path)}", code="worktree_locked"
        )
    if worktree.branch is None or worktree.head is None or ref not in (None, worktree.branch):
        raise Refused(
            f"{path} is not on a branch with commits",
            f"git -C {quoted(path)} switch -c <new-branch>",
            code="detached",
        )  # fmt: skip
    find_checkout(session.git, worktree.branch)  # raises if it is checked out twice
    return AdoptableBranch(worktree.branch, worktree.head, worktree)


def _is_claudes(path: str) -> bool:
    """Return whether Claude Code made a worktree: it locks its own, and such a lock stays."""
    return os.path.dirname(path).endswith(CLAUDES_WORKTREES)


def require_adoptable(session: Session, found: AdoptableBranch) -> None:
    """Refuse the target, a worker's branch, and a worktree that cannot be moved to the trash."""
    is_target = found.ref == session.aimed_at(None).target
    if is_target or found.ref.startswith(WORKSTREAMS):
        role = "target branch" if is_target else "branch of a workstream"
        raise Refused(
            f"{found.branch} is the {role} and cannot belong to a worker",
            f"git branch '<new-branch>' {found.branch}   # then adopt that",
            code="is_target",
        )
    if found.branch == "HEAD" or found.branch.startswith("-"):
        raise Refused(
            f"git has a branch {found.branch}, but cannot create a branch of that name again",
            f"git branch -m -- {found.branch} <new-name>",
            code="bad_name",
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
        _check_place(session, found.worktree)


def _check_place(session: Session, worktree: Worktree) -> None:
    """Refuse a worktree that cannot be moved to the trash alone, or whose hooks would be lost.

    A worktree that contains another one takes it along.
    """
    path = worktree.path
    main, *others = list_worktrees(session.git)
    for other in others:
        if path.startswith(f"{other.path}/") and os.path.isdir(other.path):
            raise _nested(path, other.path)
    for other in (main, *others):
        if other.path.startswith(f"{path}/") and os.path.isdir(other.path):
            raise _nested(other.path, path)
    why = find_barrier(session, os.path.dirname(path)) or find_barrier(session, path)
    if why is not None:
        raise Refused(
            f"{path} cannot be moved to the trash, since a rename between it and the repository"
            f" fails ({why})",
            f"git -C {quoted(path)} switch --detach"
            "   # it stays yours; then adopt the branch alone",
            code="other_file_system",
        )
    own = find_own_hooks(session.git, worktree.path, worktree.admin_dir)
    if own is not None and session.git.version() < CONFIG_HOOKS_SINCE:
        raise Refused(
            f"{path} has hooks of its own ({own}), which this git cannot run beside ours",
            f"git -C {quoted(path)} config --worktree --unset core.hooksPath   # git 2.54 can",
            code="own_hooks",
        )


def _nested(inner: str, outer: str) -> Refused:
    return Refused(
        f"worktree {inner} is inside {outer} and would be removed with it",
        f"git worktree move {quoted(inner)} <directory>",
        code="nested",
    )
