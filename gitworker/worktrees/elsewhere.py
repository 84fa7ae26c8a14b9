"""Workers of other machines: their branches travel through the git remote.

A machine pushes a branch when its work is handed in. Another one that reviews, verifies or lands it
fetches the branch first; its own copy of the branch follows the remote's.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from gitworker import clock
from gitworker.errors import Conflict, GitWorkerError, NotFound, Refused
from gitworker.lifecycle.rules import is_landed
from gitworker.liveness.processes import occupants_of
from gitworker.model.ids import Oid, Ref, TaskId
from gitworker.model.ref_names import BRANCHES, branch_of, ref_of
from gitworker.paths import read_worktree_owner
from gitworker.repo.history.reachable import find_missing
from gitworker.repo.plumbing.refs import (
    create_ref,
    delete_branch,
    find_head_ref,
    find_tip,
    is_ancestor,
    move_ref,
    read_refs,
)
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.repo.rescue.rescue_refs import rescue
from gitworker.repo.status.checkout_status import read_status
from gitworker.repo.worktrees.ownership import OwnershipClaim, require_owned
from gitworker.repo.worktrees.worktree_list import find_checkout, linked_admins
from gitworker.session import Session
from gitworker.store.records.tips import find_tip as find_published
from gitworker.store.records.tips import set_tip
from gitworker.store.reviewing.rounds import find_newest_round
from gitworker.store.workers import Worker, find_worker, set_worktree
from gitworker.worktrees.occupied import refuse_move
from gitworker.worktrees.trashing import set_aside

FETCHED = "gitworker: fetch "  # in the reflog of a branch that is a copy
FLEET_REMOTE = "git config worker.merge.remote <name>"


def bring_branches(session: Session, workers: Iterable[Worker]) -> None:
    """Fetch the branches of those workers whose worktrees are on other machines.

    Raises Refused without a remote, NotFound if the other machine has not pushed the branch yet,
    TransferFailed if the remote cannot be read, Conflict for a branch of the same name here.
    """
    for worker in workers:
        if worker.elsewhere is not None and worker.branch:
            _bring(session, worker)


def bring_handed_in(session: Session, worker: Worker) -> None:
    """Fetch what a worker of another machine has handed in, unless it is here already.

    Raises the errors of `bring_branches`.
    """
    if worker.elsewhere is None or not worker.branch:
        return
    with session.store.read() as reader:
        newest = find_newest_round(reader, worker.worker_id, worker.task_id)
    here = find_tip(session.git, session.repository.common_dir, worker.ref)
    if newest is not None and (here is None or find_missing(session.git, {newest.tip})):
        _bring(session, worker)


def _bring(session: Session, worker: Worker) -> None:
    name, branch = worker.worker_id, worker.branch or ""
    remote = session.settings.merge_remote
    if not remote:
        raise Refused(
            f"the worktree of {name} is on {worker.elsewhere}, and no remote is set to fetch"
            f" {branch} from",
            FLEET_REMOTE,
            code="no_remote",
        )
    from gitworker.repo.remote.fetch import fetch_branch  # GitPython, for such a worker only

    limit_s = session.settings.merge_remote_timeout_s
    git = session.git.at(session.main_top)
    try:
        tip = fetch_branch(
            git, remote=remote, branch=branch, report=session.transfer_report, limit_s=limit_s
        )
    except NotFound as error:
        raise NotFound(
            f"{worker.elsewhere} has not pushed {branch} to {remote} yet",
            f"git worker show {name}   # it is pushed when the work is handed in",
            code="not_pushed",
        ) from error
    with suppress(GitWorkerError, OSError):
        leave_former_place(session, worker)
    with hold(f"{session.paths.locks}/copies", name="copies"):  # the job that follows does it, too
        _follow(session, worker, tip)


def _follow(session: Session, worker: Worker, tip: Oid) -> None:
    """Move this machine's copy of the branch to the remote's tip, unless somebody works on it."""
    old = find_tip(session.git, session.repository.common_dir, worker.ref)
    if old == tip:
        return
    reason = f"{FETCHED}{worker.branch} of {worker.elsewhere}"
    if old is None:
        create_ref(session.git, worker.ref, tip, reason=reason)
    else:
        _require_copy(session, worker, old)
        move_ref(session.git, worker.ref, old=old, new=tip, reason=reason)
    with session.store.write_own(durable=False) as writer:  # its commits were published there
        set_tip(writer, worker.ref, tip, now=clock.now_ms())


def _require_copy(session: Session, worker: Worker, old: Oid) -> None:
    """Raise Conflict if the branch here was not fetched before: a person made it, or moved it."""
    with session.store.read() as reader:
        known = find_published(reader, worker.ref)
    place = None
    with suppress(NotFound):
        place = find_checkout(session.git, worker.ref)
    # Without a record, the command that fetched it was killed before it could write one.
    if place is not None or (known != old and not _was_fetched(session, worker.ref)):
        raise Conflict(
            f"{worker.branch} here is not the branch of {worker.worker_id} on {worker.elsewhere}",
            f"git worker fsck   # {place} has work that {worker.elsewhere} does not have"
            if place
            else f"git branch -m {worker.branch} <new-name>",
            code="branch_taken",
        )


def leave_freed_place(session: Session, worker: Worker) -> None:
    """Remove the worktree here of a worker that another machine has freed; its work is rescued.

    Raises Refused while a process works there, or if the place is not this repository's own.
    """
    place, admin_dir = worker.worktree, worker.admin_dir
    if worker.task_id is not None or place is None or admin_dir is None:
        return
    owner = read_worktree_owner(admin_dir)
    if owner is None or owner[0] != worker.worker_id:
        return
    task = TaskId(owner[1])
    with hold(session.worktree_lock, name="worktree"):
        if not _is_unchanged(session, worker):
            return  # it has a task again, perhaps at the same place
        if os.path.isdir(place):
            require_owned(OwnershipClaim(session.repository.common_dir, place, admin_dir))
            refuse_move(session, place, admin_dir)
            here, own = session.git.at(place), ref_of(branch_of(worker.worker_id, task))
            branch, tip = find_head_ref(here), here.require_oid("HEAD")
            rescue(session.git, worker=worker.worker_id, task=task, tip=tip, worktree=place)
            set_aside(session, place, f"{worker.worker_id}-{task}")
            if branch == own:  # another one is a person's
                delete_branch(session.git, own, tip)
        if os.path.isdir(admin_dir):
            set_aside(session, admin_dir, f"{worker.worker_id}-{task}")
        with session.store.write_own() as writer:
            set_worktree(writer, worker.worker_id, None, admin_dir=None)


def _is_unchanged(session: Session, worker: Worker) -> bool:
    """Return whether a worker still has the task, the place and the machine that were read."""
    with session.store.read() as reader:
        now = find_worker(reader, worker.worker_id)
    return now is not None and _stay_of(now) == _stay_of(worker)


def _stay_of(worker: Worker) -> tuple[str | None, ...]:
    return worker.task_id, worker.worktree, worker.admin_dir, worker.elsewhere


def drop_copies(session: Session, worker: Worker) -> None:
    """Delete this machine's copies of a worker's branches, after its work has landed or was ended.

    A branch that a person has made or moved stays, and so does one that is checked out.
    """
    if worker.task_id is not None and not is_landed(worker.state):
        return
    wanted = [f"{BRANCHES}{worker.worker_id}/", *([worker.ref] if worker.branch else [])]
    for ref, tip in read_refs(session.git, wanted).items():
        is_free = find_checkout(session.git, ref, alone=False) is None
        if is_free and _was_fetched(session, ref):
            delete_branch(session.git, ref, tip)


def _was_fetched(session: Session, ref: Ref) -> bool:
    """Return whether the reflog says that the last move of a branch was ours."""
    last = session.git.run("reflog", "-1", "--format=%gs", ref).text
    return last.startswith(FETCHED)


def leave_former_place(session: Session, worker: Worker) -> None:
    """Remove the worktree here of a worker that another machine has taken over.

    It stays while a process works there, or if it has anything that the branch on the remote lacks.
    """
    mark = (worker.worker_id, worker.task)
    found = linked_admins(session.repository.common_dir).items()
    places = [(place, admin) for place, admin in found if read_worktree_owner(admin) == mark]
    if not places or not session.settings.merge_remote:
        return
    from gitworker.branches.remote import Remote  # both import GitPython, for such a worker only
    from gitworker.repo.remote.fetch import fetch_branch

    (place, admin_dir), *_ = places
    tip = _idle_tip(session, place)
    if tip is None:
        return
    git, remote = session.git.at(session.main_top), session.settings.merge_remote
    try:  # without the lock: a network may take long
        pushed = fetch_branch(git, remote=remote, branch=worker.branch or "")
        is_there = is_ancestor(session.git, tip, pushed)
    except NotFound:  # it has landed, and was deleted there
        is_there = Remote(session, remote).has_patches_of(tip)
    if not is_there:
        return
    with hold(session.worktree_lock, name="worktree"):
        if _is_unchanged(session, worker) and _idle_tip(session, place) == tip:
            for left in (place, admin_dir):
                set_aside(session, left, f"{worker.worker_id}-{worker.task}")


def _idle_tip(session: Session, place: str) -> Oid | None:
    """Return the commit of a worktree; None if a process works there, or if it has changes."""
    here = session.git.at(place)
    if occupants_of(place) or not read_status(here).is_clean:
        return None
    return here.require_oid("HEAD")
