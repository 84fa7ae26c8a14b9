"""sync: rebase the worker's branch onto the target now, by a real git rebase in its worktree.

A branch that is stacked on another worker's branch is rebased onto that branch until it lands, and
onto the target afterwards. Only its own commits are rebased, as by `git rebase --onto`.
"""

from contextlib import ExitStack
from dataclasses import dataclass

from gitworker.branches.replay_branch import BranchTips, read_tips
from gitworker.branches.stack import StackBase, find_stack_base
from gitworker.bus.drain import record_rewrite
from gitworker.errors import READ_ONLY, Conflict, Refused
from gitworker.journal.begun_rebase import (
    REBASE,
    is_left_open,
    journaled,
    lock_of,
    settle_left,
)
from gitworker.lifecycle.find import require_worker
from gitworker.lifecycle.lost_task import refuse_lost_task
from gitworker.lifecycle.rules import has_no_task
from gitworker.lifecycle.take_up import publish_commits, take_up
from gitworker.liveness.readings import works_elsewhere
from gitworker.liveness.rules_stale import sync_request
from gitworker.model.ids import Oid, Ref, is_oid
from gitworker.model.ref_names import short_name
from gitworker.paths import open_regular, read_worktree_owner
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.git_environment import NO_UPKEEP
from gitworker.repo.plumbing.refs import change_refs, is_ancestor
from gitworker.repo.plumbing.repository_lock import descriptor_of, hold
from gitworker.repo.rescue.rescue_refs import list_rescues, rescue
from gitworker.repo.status.checkout_status import open_operation, read_status
from gitworker.repo.worktrees.ownership import OwnershipClaim, owner_of, require_owned
from gitworker.repo.worktrees.trouble import require_no_operation, require_on_branch
from gitworker.rules_text import count_text, quoted
from gitworker.session import Session
from gitworker.store.api import Writer
from gitworker.store.heartbeats import renew_heartbeat
from gitworker.store.stacks import forget_stack, move_stack
from gitworker.store.workers import Worker, on_another_machine, settle_conflict

BEGINS = ("start", "take")


@dataclass(frozen=True, slots=True)
class Synced:
    """The old and new tip of the branch, and the commit of the target or parent below it.

    `parent` is the parent's branch, None for the target. `kept` is the rescue ref of the work in a
    rebase that was aborted.
    """

    worker: Worker
    old: Oid
    new: Oid
    target: Oid
    parent: str | None
    onto: str
    kept: Ref | None = None


def sync(session: Session, mode: str = "start") -> Synced:
    """Rebase the worker's branch onto the target; `mode` is start, continue or abort.

    The mode `take` also begins a rebase; the parent's commits become the worker's own, and the
    branch is no longer stacked. The work in a rebase that is aborted is kept under a rescue ref.
    Raises Conflict with the files if the rebase stops or is open already, and Refused outside a
    worker's worktree while its agent runs, if git refuses to begin, and without a rebase to
    continue or abort.
    """
    with session.store.read() as reader:
        worker = require_worker(reader, None, session)
        refuse_lost_task(reader, session, worker)
    _require_owner(session, worker)
    _refuse_under_its_agent(session, worker)
    worker = take_up(session, worker)
    publish_commits(session)
    with hold(lock_of(session, worker.worker_id), name="sync"):
        return _sync(session, worker, mode)


def _sync(session: Session, worker: Worker, mode: str) -> Synced:
    has_ended = settle_left(session, worker, worker.ref)
    tips = read_tips(session, worker)
    _require_open(session, worker, mode, has_ended=has_ended)
    kept = None
    if mode == "abort" and not has_ended:
        kept = rescue(
            session.git, worker=worker.worker_id, task=worker.task, tip=tips.branch,
            worktree=worker.worktree,
        )  # fmt: skip
    if mode == "take":
        with session.store.write() as writer:
            forget_stack(writer, worker.worker_id, worker.task)
    stack_base = StackBase(tips.target, None, None, None)
    if mode != "abort":
        stack_base = find_stack_base(session, worker, tips)
    if mode == "continue":
        stack_base = stack_base._replace(onto=_read_onto(worker) or stack_base.onto)
    if mode in BEGINS or not has_ended:
        _rebase_or_clean_up(session, worker, mode, tips=tips, stack_base=stack_base)
    old, new = tips.branch, read_tips(session, worker).branch
    has_left = stack_base.stack is not None and is_ancestor(
        session.git, stack_base.onto, tips.target
    )
    with session.store.write() as writer:
        if new != old:
            record_rewrite(writer, worker.ref, old=old, new=new)
        if mode != "abort":
            _record_base(writer, stack_base, has_left=has_left)
            settle_conflict(writer, worker.worker_id)
        renew_heartbeat(writer, worker.worker_id, task=worker.task_id)
    publish_commits(session)
    parent = None if stack_base.parent is None else stack_base.parent.parent_branch
    onto = parent or short_name(session.target_of(worker))
    has_work = kept is not None and kept.oid != old
    return Synced(
        worker, old, new, stack_base.onto, parent, onto, kept.ref if kept and has_work else None
    )


def _require_open(session: Session, worker: Worker, mode: str, *, has_ended: bool) -> None:
    """Refuse to begin a second rebase, and to continue or abort if no rebase is open."""
    owner = _require_owner(session, worker)
    is_open = open_operation(worker.admin_dir or "") == REBASE
    if mode in BEGINS:
        if is_open:
            raise _stopped(session.git.at(owner.place), worker)
        require_no_operation(owner.place, owner.admin_dir or "")
        require_on_branch(session.git, owner)
    elif not is_open and not has_ended:
        raise Refused(
            f"no rebase is open in {owner.place}", f"git worker show {worker.worker_id}",
            code="no_rebase",
        )  # fmt: skip


def _require_owner(session: Session, worker: Worker) -> OwnershipClaim:
    owner = owner_of(session.repository.common_dir, worker)
    if has_no_task(worker.state):
        raise Refused(
            f"worker {worker.worker_id} has no task, so there is nothing to rebase",
            f"git worker assign {worker.worker_id} <task>",
        )
    if owner is None:
        raise on_another_machine(worker) or Refused(
            f"worker {worker.worker_id} has no worktree", f"git worker show {worker.worker_id}"
        )
    require_owned(owner)
    return owner


def _refuse_under_its_agent(session: Session, worker: Worker) -> None:
    """Refuse to change the files of a running agent from outside its worktree."""
    repository = session.repository
    inside = read_worktree_owner(repository.git_dir) if repository.is_linked else None
    if (inside is None or inside[0] != worker.worker_id) and works_elsewhere(worker):
        raise Refused(
            f"the agent of {worker.worker_id} (process {worker.pid}) works in {worker.worktree}",
            sync_request(worker.worker_id),
            code="agent_runs",
        )


def _rebase_or_clean_up(
    session: Session, worker: Worker, mode: str, *, tips: BranchTips, stack_base: StackBase
) -> None:
    """Rebase; if git does not begin, remove the rescue refs that were made for it."""
    old, known = tips.branch, _rescues(session, worker)
    if mode != "abort" and _replaces(session, old, stack_base):
        # A rescue ref, since the reflog is deleted with the branch. A failure prevents the rebase.
        rescue(session.git, worker=worker.worker_id, task=worker.task, tip=old, worktree=None)
    try:
        with ExitStack() as stack:
            if mode in BEGINS:
                begun = journaled(session, worker, tips.ref, old=old, onto=stack_base.onto)
                stack.enter_context(begun)
            _rebase(session, worker, mode, stack_base)
    except Refused as refused:
        if is_left_open(session, worker.worker_id):
            refused.hint = (
                "git worker recover   # once the cause is repaired: it reverts the rebase"
            )
            raise
        orders = [f"delete {made} {old}" for made in _rescues(session, worker) - known]
        change_refs(session.git, orders, reason="gitworker: sync")
        raise


def _replaces(session: Session, old: Oid, stack_base: StackBase) -> bool:
    """Return whether a rebase may replace commits: the branch is neither behind nor on top."""
    if stack_base.exclude is not None:
        return True
    return not (
        is_ancestor(session.git, old, stack_base.onto)
        or is_ancestor(session.git, stack_base.onto, old)
    )


def _rescues(session: Session, worker: Worker) -> set[Ref]:
    task = worker.task
    found = list_rescues(session.git, worker=worker.worker_id, task=task)
    return {one.ref for one in found}


def _read_onto(worker: Worker) -> Oid | None:
    """Return the commit that an open rebase rebases onto, by its file (git-rebase(1))."""
    try:
        with open(
            f"{worker.admin_dir}/rebase-merge/onto", encoding="ascii", opener=open_regular
        ) as file:
            text = file.read().strip()
    except (OSError, UnicodeDecodeError):
        return None
    return Oid(text) if is_oid(text) else None


def _record_base(writer: Writer, stack_base: StackBase, *, has_left: bool) -> None:
    """Record the new base of a stacked branch; forget a parent that was withdrawn."""
    if stack_base.stack is None:
        return
    if has_left and stack_base.is_withdrawn:
        forget_stack(writer, stack_base.stack.worker_id, stack_base.stack.task_id)
    else:
        move_stack(writer, stack_base.stack, stack_base.onto)


def _rebase(session: Session, worker: Worker, mode: str, stack_base: StackBase) -> None:
    """Run git rebase in the worktree, or continue or abort it; raise if it stops."""
    top = worker.worktree or ""
    begin = ["--no-autostash", "--no-update-refs", "--no-autosquash", *_onto(session, stack_base)]
    arguments = {
        "start": begin,
        "take": begin,
        "continue": ["--continue"],
        "abort": ["--abort"],
    }[mode]
    git = session.git.at(top)
    environment = {"GIT_EDITOR": ":"} if mode == "continue" else {}
    lock_fd = descriptor_of(lock_of(session, worker.worker_id))
    done = git.run_to_end(
        "rebase", *arguments, env=environment, settings=NO_UPKEEP, lock_fd=lock_fd
    )
    if done.status == 0:
        return
    if READ_ONLY in done.complaint and mode != "continue":
        git.run("rebase", "--abort", ok=range(256))
    if open_operation(worker.admin_dir or "") is None:
        status = read_status(git, untracked=False)
        commit = f"cd {quoted(top)} && git commit -am 'What I did' && git worker sync"
        raise Refused(
            f"git did not begin the rebase in {top}",
            f"git -C {quoted(top)} status" if status.is_clean else commit,
            detail=done.complaint or done.text,
        )
    raise _stopped(git, worker, complaint=done.complaint or done.text)


def _stopped(git: Git, worker: Worker, *, complaint: str = "") -> Conflict:
    """Return the error for an open rebase: its files in conflict, or git's complaint."""
    paths = git.run("diff", "--name-only", "--diff-filter=U", "-z").text.split("\0")
    files = [path for path in paths if path]
    ending = f"cd {quoted(worker.worktree or '.')} && git worker sync --continue"
    if files:
        return Conflict(
            f"the rebase of {worker.branch} in {worker.worktree} stopped with"
            f" {count_text(len(files), 'file')} in conflict",
            f"{ending}   # after you edit and git add them; or: --abort",
            code="rebase_conflict",
            detail="\n".join(f"  {name}" for name in files),
        )
    if complaint:
        return Conflict(
            f"git stopped the rebase of {worker.branch} in {worker.worktree}, without a conflict",
            f"{ending}   # once the cause is repaired; or: --abort",
            code="rebase_stopped",
            detail=complaint,
        )
    return Conflict(
        f"a rebase of {worker.branch} is open in {worker.worktree}, without a conflict",
        f"{ending}   # or: --abort",
        code="rebase_stopped",
    )


def _onto(session: Session, stack_base: StackBase) -> list[str]:
    """Return git rebase's arguments for the new base; `--onto` only for a stacked branch."""
    if stack_base.exclude is None or is_ancestor(session.git, stack_base.exclude, stack_base.onto):
        return [stack_base.onto]
    return ["--onto", stack_base.onto, stack_base.exclude]
