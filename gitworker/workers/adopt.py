"""adopt: assign an existing branch or worktree to a worker.

The worktree stays in its place with all its content. The branch is renamed to the name of a
worker's branch by git itself, and only if the caller allows it. The operation is in the journal
first, so the next command can roll back a killed adoption.
"""

from dataclasses import dataclass

from gitworker import clock
from gitworker.branches.landable import require_landable
from gitworker.branches.replay_branch import drop_anchors
from gitworker.bus.drain import record_tip
from gitworker.crashpoint import crash_point
from gitworker.errors import Conflict, Refused
from gitworker.journal.prepare_worker import remove_landed_worktree, roll_back_spawns
from gitworker.journal.rollback_adopt import give_up_adopt, log_of_rename
from gitworker.lifecycle.assign import Assignment, record_assignment, require_assignable
from gitworker.lifecycle.state_files import publish_views
from gitworker.model.ids import Branch, Oid, Ref, TaskId, WorkerId
from gitworker.model.ref_names import anchor_of, branch_of, ref_of, short_name
from gitworker.paths import write_worktree_owner
from gitworker.repo.hooks.install import install
from gitworker.repo.plumbing.refs import find_tip, read_refs, require_refs
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.repo.worktrees.branch_rename import rename_branch
from gitworker.repo.worktrees.worktree_list import check_out, find_admin_dir
from gitworker.session import Session
from gitworker.store.operations import begin_operation, close_operation, load_operation
from gitworker.store.payloads.payload import AdoptData
from gitworker.store.planning.workstreams import find_branch_of_task
from gitworker.store.workers import Worker
from gitworker.workers.adoptable import AdoptableBranch, find_adoptable, require_adoptable
from gitworker.workers.spawn import SpawnedWorker
from gitworker.worktrees.make_way import make_room
from gitworker.worktrees.populate.populate import (
    begin_setup,
    populate_worktree,
    require_trusted_setup,
    run_setup,
)
from gitworker.worktrees.space.disk_space import require_space
from gitworker.worktrees.worktree_root import ready_root


@dataclass(frozen=True, slots=True)
class AdoptRequest:
    """A worker, its task and `name`: a branch or the path of a worktree.

    `rename` allows the branch to get the name `<worker>/<task>`.
    """

    name: str
    worker: WorkerId
    task: TaskId
    title: str = ""
    rename: bool = False


@dataclass(frozen=True, slots=True)
class Adopted:
    """A worker with its work; `renamed_from` is the old name of the branch if it was renamed."""

    spawned: SpawnedWorker
    renamed_from: Branch | None


def adopt(session: Session, wanted: AdoptRequest) -> Adopted:
    """Assign an existing branch, and its worktree if it has one, to a worker.

    Uncommitted work, ignored files, reflog and settings stay as they are; a branch without a
    worktree gets one. Raises Refused, NotFound or Conflict before any change; a later failure is
    rolled back. If the setup commands of a new worktree fail, the worker is FAILED, its worktree
    stays, and Refused is raised.
    """
    remove_landed_worktree(session, wanted.worker)
    with hold(session.worktree_lock, name="worktree"):
        roll_back_spawns(session, worker=wanted.worker, task=wanted.task)
        if session.paths.is_uninstalled:
            from gitworker.workers.worktree_hooks import restore_hooks  # 10 ms, rare

            restore_hooks(session)
        with session.store.read() as reader:
            require_assignable(session, reader, wanted.worker, wanted.task)
            session = session.aimed_at(find_branch_of_task(reader, wanted.task))
        found = find_adoptable(session, wanted.name)
        require_adoptable(session, found)
        target = find_tip(session.git, session.repository.common_dir, session.target)
        if target is not None:
            place = found.worktree.path if found.worktree is not None else None
            require_landable(session, wanted.worker, [found.tip], base=target, worktree=place)
        if found.worktree is None:
            require_trusted_setup(session)
        ref = _check_name(session, wanted, found)
        number, data = _begin(session, wanted, found, ref)
        try:
            worker, setup = _carry_out(session, wanted, number, data)
        except BaseException as error:
            give_up_adopt(session, number, error)
            raise
    crash_point("adopt.recorded")
    publish_views(session, wanted.worker)
    run_setup(session, setup, worker)
    adopted = SpawnedWorker(worker, data.path, data.branch, data.base)
    return Adopted(adopted, None if ref == found.ref else found.branch)


def _check_name(session: Session, wanted: AdoptRequest, found: AdoptableBranch) -> Ref:
    """Return the ref that the branch will have; refuse if it is not free, or not allowed."""
    branch = branch_of(wanted.worker, wanted.task)
    ref = ref_of(branch)
    if ref == found.ref:
        return ref
    blocker = ref_of(Branch(wanted.worker))
    refs = read_refs(session.git, [ref, f"{ref}/", blocker])
    taken = [name for name in refs if name != found.ref]
    if taken:
        name = short_name(taken[0])
        raise Refused(
            f"the branch {name} exists, so {found.branch} cannot become {branch}",
            f"git branch -m {name} <new-name>   # or choose another worker or task id",
            code="branch_exists",
        )
    if not wanted.rename:
        raise Refused(
            f"a worker's branch is called WORKER/TASK, so {found.branch} would become {branch}",
            f"git worker adopt --rename {found.branch} {wanted.worker} {wanted.task}"
            f"   # or keep it and copy: git branch {branch} {found.branch}",
            code="rename_needed",
        )
    return ref


def _begin(
    session: Session, wanted: AdoptRequest, found: AdoptableBranch, ref: Ref
) -> tuple[int, AdoptData]:
    """Write the operation to the journal; return its number and data."""
    if found.worktree is None:
        require_space(session, found.tip)
        ready_root(session)
        path = make_room(session, worker=wanted.worker, task=wanted.task)
    else:
        path = found.worktree.path
    base = _find_base(session, found.tip)
    branch = short_name(ref)
    data = AdoptData(ref, branch, found.ref, found.tip, base, path, found.worktree is None)
    with session.store.write_own() as writer:
        number = begin_operation(
            writer, "adopt", worker=wanted.worker, task=wanted.task, actor=session.actor,
            now=clock.now_ms(), data=data,
        )  # fmt: skip
    crash_point("adopt.journal")
    return number, data


def _find_base(session: Session, tip: Oid) -> Oid:
    """Return the merge base of a branch and the target; its tip without one."""
    target = find_tip(session.git, session.repository.common_dir, session.target)
    if target is None:
        return tip
    return Oid(session.git.text("merge-base", target, tip, ok=(0, 1)) or tip)


def _carry_out(
    session: Session, wanted: AdoptRequest, number: int, data: AdoptData
) -> tuple[Worker, int | None]:
    """Rename the branch, make its worktree if necessary, install the hooks, record the worker.

    Returns also the number of the setup that is to run; an existing worktree gets none.
    """
    anchor = anchor_of(wanted.worker, wanted.task)  # a killed rename may leave neither name
    require_refs(session.git, [f"update {anchor} {data.tip}"], reason="gitworker: adopt")
    if data.ref != data.old_ref:
        log = log_of_rename(session, number)
        rename_branch(session.git, data.old_ref, data.ref, tip=data.tip, log=log)
    crash_point("adopt.renamed")
    if data.made:
        check_out(
            session.git, path=data.path, branch=data.branch,
            workers_setting=session.settings.checkout_workers or None,
        )  # fmt: skip
    crash_point("adopt.worktree")
    admin_dir = find_admin_dir(session.repository.common_dir, data.path)
    if admin_dir is None:
        raise Conflict(f"the worktree {data.path} does not exist", "git worktree list")
    write_worktree_owner(admin_dir, wanted.worker, wanted.task)
    install(session.git, session.repository, session.git.at(data.path))
    crash_point("adopt.hooks")
    if data.made:
        populate_worktree(session, data.path, is_warm=False)
    new = Assignment(
        wanted.worker, wanted.task, wanted.title, data.branch, data.base, data.path, admin_dir
    )
    with session.store.write() as writer:
        worker = record_assignment(writer, session, new)
        record_tip(writer, data.ref, data.tip)  # older commits are not published
        operation = load_operation(writer, number)
        close_operation(
            writer, number, status="done", step="recorded", data=operation.data,
            now=clock.now_ms(),
        )  # fmt: skip
        setup = begin_setup(session, writer, worker) if data.made else None
    drop_anchors(session, [operation])
    return worker, setup
