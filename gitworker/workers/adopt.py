"""adopt: work that exists, a branch or a worktree made by hand, becomes a worker's.

The worktree stays where it is, with all that is in it. The branch gets the name that workers'
branches have, by git's own rename, and only where that was said. Journaled as a spawn is; killed
anywhere it is rolled back by the next command.
"""

from collections.abc import Callable
from dataclasses import dataclass

from gitworker import clock
from gitworker.branches.landable import require_landable
from gitworker.branches.replay_branch import drop_anchors
from gitworker.bus.drain import record_tip
from gitworker.crashpoint import crash_point
from gitworker.errors import Conflict, Refused
from gitworker.journal.rollback_adopt import give_up_adopt, log_of_rename
from gitworker.lifecycle.state_files import publish_views
from gitworker.model.ids import Branch, Oid, Ref, TaskId, WorkerId
from gitworker.model.ref_names import anchor_of, branch_of, ref_of, short_name
from gitworker.paths import write_worktree_owner
from gitworker.repo.hooks.install import install
from gitworker.repo.plumbing.lock import hold
from gitworker.repo.plumbing.refs import find_tip, read_refs, require_refs
from gitworker.repo.worktrees.branch_rename import rename_branch
from gitworker.repo.worktrees.worktree_list import check_out, find_admin_dir
from gitworker.session import Session
from gitworker.store.operations import begin_operation, close_operation, load_operation
from gitworker.store.payloads.payload import AdoptData
from gitworker.verify.trust import require_trusted
from gitworker.workers.adoptable import AdoptableBranch, find_adoptable, require_adoptable
from gitworker.workers.spawn import (
    SpawnedWorker,
    SpawnPlan,
    SpawnRequest,
    end_interrupted,
    record_assignment,
    remove_landed_worktree,
    require_assignable,
)
from gitworker.worktrees.disk_space import require_space
from gitworker.worktrees.make_way import make_room
from gitworker.worktrees.populate.populate import begin_setup, populate_worktree
from gitworker.worktrees.populate.setup_commands import run_setup
from gitworker.worktrees.worktree_root import ready_root


@dataclass(frozen=True, slots=True)
class AdoptRequest:
    """What is asked for: `name` is a branch or the path of a worktree.

    `rename` allows the branch to get the name `<worker>/<task>`; `narrate` is told what the setup
    commands of a new worktree write.
    """

    name: str
    worker: WorkerId
    task: TaskId
    title: str = ""
    rename: bool = False
    narrate: Callable[[str], None] | None = None


@dataclass(frozen=True, slots=True)
class Adopted:
    """A worker that has its work: `renamed_from` is the branch's old name where it got another."""

    spawned: SpawnedWorker
    renamed_from: Branch | None


def adopt(session: Session, wanted: AdoptRequest) -> Adopted:
    """Make an existing branch, with its worktree where it has one, a worker's: ASSIGNED.

    Uncommitted work, ignored files, reflog and settings stay as they are; a branch that is checked
    out nowhere gets a worktree. Raises Refused, NotFound or Conflict before anything is touched;
    what fails later is rolled back. Where the setup commands of a new worktree fail the worker is
    FAILED, its worktree stays, Refused is raised.
    """
    request = SpawnRequest(wanted.worker, wanted.task, title=wanted.title)
    remove_landed_worktree(session, request)
    with hold(session.worktree_lock, name="worktree"):
        end_interrupted(session, request)
        with session.store.read() as reader:
            require_assignable(reader, request)
        found = find_adoptable(session, wanted.name)
        require_adoptable(session, found)
        target = find_tip(session.git, session.repository.common_dir, session.target)
        if target is not None:
            require_landable(session, wanted.worker, [found.tip], base=target)
        if found.worktree is None and session.settings.worktree_setup:
            require_trusted(session, "setup")
        ref = _check_name(session, wanted, found)
        number, place = _journal(session, wanted, found, ref)
        try:
            adopted, setup = _carry_out(session, request, found, place)
        except BaseException:
            give_up_adopt(session, number)
            raise
    crash_point("adopt.recorded")
    publish_views(session, wanted.worker)
    if setup is not None:
        run_setup(session, setup, adopted.worker, narrate=wanted.narrate)
    return Adopted(adopted, None if ref == found.ref else found.branch)


def _check_name(session: Session, wanted: AdoptRequest, found: AdoptableBranch) -> Ref:
    """Return the ref that the branch is to have; refuse where it is not free, or not allowed."""
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
            f"choose another worker or task id, or: git branch -m {name} NEW-NAME",
            code="branch_exists",
        )
    if not wanted.rename:
        raise Refused(
            f"a worker's branch is called WORKER/TASK, so {found.branch} would become {branch}",
            f"git worker adopt --rename {found.branch} {wanted.worker} {wanted.task}"
            f"   (or keep it and copy: git branch {branch} {found.branch})",
            code="rename_needed",
        )
    return ref


def _journal(
    session: Session, wanted: AdoptRequest, found: AdoptableBranch, ref: Ref
) -> tuple[int, SpawnPlan]:
    """Write the journal; return the act's number and where the worker's work will be."""
    made = found.worktree is None
    if made:
        require_space(session, found.tip)
        ready_root(session)
        path = make_room(session, worker=wanted.worker, task=wanted.task)
    else:
        assert found.worktree is not None
        path = found.worktree.path
    base = _find_base(session, found.tip)
    branch = short_name(ref)
    data = AdoptData(ref, branch, found.ref, found.tip, base, path, made)
    with session.store.write() as writer:
        number = begin_operation(
            writer, "adopt", worker=wanted.worker, task=wanted.task, actor=session.actor,
            now=clock.now_ms(), data=data,
        )  # fmt: skip
    crash_point("adopt.journal")
    return number, SpawnPlan(branch, base, path, number)


def _find_base(session: Session, tip: Oid) -> Oid:
    """Return where a branch left the target; its tip where it never did."""
    target = find_tip(session.git, session.repository.common_dir, session.target)
    if target is None:
        return tip
    return Oid(session.git.text("merge-base", target, tip, ok=(0, 1)) or tip)


def _carry_out(
    session: Session, request: SpawnRequest, found: AdoptableBranch, place: SpawnPlan
) -> tuple[SpawnedWorker, int | None]:
    """Rename the branch, make the worktree where there is none, set it up, record the seat.

    Returns the setup that is to be run, too: what was adopted in its place has none.
    """
    ref = ref_of(place.branch)
    anchor = anchor_of(request.worker, request.task)  # a killed rename may leave neither name
    require_refs(session.git, [f"update {anchor} {found.tip}"], reason="gitworker: adopt")
    if ref != found.ref:
        log = log_of_rename(session, place.operation)
        rename_branch(session.git, found.ref, ref, tip=found.tip, log=log)
    crash_point("adopt.renamed")
    if found.worktree is None:
        check_out(
            session.git, path=place.path, branch=place.branch,
            workers_setting=session.settings.checkout_workers or None,
        )  # fmt: skip
    crash_point("adopt.worktree")
    admin_dir = find_admin_dir(session.repository.common_dir, place.path)
    if admin_dir is None:
        raise Conflict(f"the worktree {place.path} is gone", "git worktree list")
    write_worktree_owner(admin_dir, request.worker, request.task)
    install(session.git, session.repository, session.git.at(place.path))
    crash_point("adopt.hooks")
    if found.worktree is None:
        populate_worktree(session, place.path, is_warm=False)
    place = SpawnPlan(place.branch, place.base, place.path, place.operation, admin_dir=admin_dir)
    with session.store.write() as writer:
        worker = record_assignment(writer, session, request, place)
        record_tip(writer, ref, found.tip)  # what was there before is no news
        operation = load_operation(writer, place.operation)
        close_operation(
            writer, operation.id, status="done", step="recorded", data=operation.data,
            now=clock.now_ms(),
        )  # fmt: skip
        setup = begin_setup(session, writer, worker) if found.worktree is None else None
    drop_anchors(session, [operation])
    return SpawnedWorker(worker, place.path, place.branch, place.base), setup
