"""spawn and assign: a branch, a worktree with our hooks, and a seat that is ASSIGNED.

The journal is written first. A spawn that was killed is rolled back by the next command: a
worktree that was never handed out holds nothing of a user's, and it goes to the trash all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from gitworker import clock
from gitworker.bus.drain import record_tip
from gitworker.bus.publish import Outgoing, publish
from gitworker.claims.leases import require_task_free, take_claim
from gitworker.crashpoint import crash_point
from gitworker.errors import Conflict, NotFound, Refused
from gitworker.lifecycle.moves import advance
from gitworker.lifecycle.rules import (
    assigns_worker,
    busy_refusal,
    is_landed,
    task_refusal,
    waits_for_dependencies,
)
from gitworker.lifecycle.state_files import publish_views
from gitworker.model.ids import Branch, Oid, Ref, TaskId, WorkerId
from gitworker.model.ref_names import branch_of, ref_of, short_name
from gitworker.model.worker import WorkerEvent
from gitworker.paths import write_worktree_owner
from gitworker.repo.hooks.install import install
from gitworker.repo.plumbing.lock import hold
from gitworker.repo.plumbing.refs import read_branches
from gitworker.session import Session, missing_target
from gitworker.store.api import Reader, Writer
from gitworker.store.operations import (
    begin_operation,
    close_operation,
    find_last_operation,
    unfinished_operations,
)
from gitworker.store.payloads.spawn_data import SpawnData
from gitworker.store.rules_leases import LeaseLength
from gitworker.store.tasks import (
    add_task,
    assign_task,
    find_task,
    open_dependencies,
    require_stored_task,
    set_task_title,
)
from gitworker.store.workers import (
    Worker,
    add_worker,
    find_worker,
    load_worker,
    set_assignment,
)
from gitworker.worktrees.make_way import make_room
from gitworker.worktrees.populate.populate import begin_setup, populate_worktree
from gitworker.worktrees.worktree_root import ready_root

if TYPE_CHECKING:
    from gitworker.branches.start_point import Parent
    from gitworker.repo.pool.prefetched_status import DirtyCheck


class SpawnRequest(NamedTuple):
    """What is asked for; `must_exist` is assign's condition on the seat.

    `narrate` is told how a fetch or the setup goes on, a line at a time.
    """

    worker: WorkerId
    task: TaskId
    title: str = ""
    start: str | None = None
    must_exist: bool = False
    narrate: Callable[[str], None] | None = None


class SpawnedWorker(NamedTuple):
    """A seat that has its worktree."""

    worker: Worker
    path: str
    branch: Branch
    base: Oid


def spawn(
    session: Session, request: SpawnRequest, *, early: DirtyCheck | None = None
) -> SpawnedWorker:
    """Give a worker a task: branch and worktree made, hooks installed, ASSIGNED recorded.

    `early` is a check of the parked worktree that the entry expects to be taken.
    Raises Refused, NotFound or Conflict before anything is touched; what fails later is rolled
    back. Where the setup commands fail the worker is FAILED, its worktree stays, Refused is raised.
    """
    if session.settings.worktree_setup:
        from gitworker.verify.trust import require_trusted  # 5 ms, only where there is a setup

        require_trusted(session, "setup")
    remove_landed_worktree(session, request)
    check = _start_check(session, early)
    try:
        with hold(session.worktree_lock, name="worktree"):
            end_interrupted(session, request)
            place, worker, setup = _make(session, request, check)
    finally:
        if check is not None:
            check.abandon()
    crash_point("spawn.recorded")
    publish_views(session, request.worker)
    if setup is not None:
        from gitworker.worktrees.populate.setup_commands import (
            run_setup,  # 5 ms, only where there is one
        )

        run_setup(session, setup, worker, narrate=request.narrate)
    return SpawnedWorker(worker, place.path, place.branch, place.base)


class SpawnPlan(NamedTuple):
    """Where a task lives in git and on disk, the act that makes it, whose branch it stands on."""

    branch: Branch
    base: Oid
    path: str
    operation: int
    parent: Parent | None = None
    admin_dir: str = ""


def _make(
    session: Session, request: SpawnRequest, check: DirtyCheck | None
) -> tuple[SpawnPlan, Worker, int | None]:
    """Make and record it all; return also the act of the setup that is to run.

    The caller holds the worktree lock.
    """
    with session.store.read() as reader:
        require_assignable(reader, request)
    base, parent = _base(session, request)
    branch = branch_of(request.worker, request.task)
    ready_root(session)
    path = make_room(session, worker=request.worker, task=request.task)
    now = clock.now_ms()
    data = SpawnData(branch, base, path, _find_pool(session))
    with session.store.write() as writer:
        operation = begin_operation(
            writer, "spawn", worker=request.worker, task=request.task, actor=session.actor,
            now=now, data=data,
        )  # fmt: skip
    crash_point("spawn.journal")
    try:
        place = SpawnPlan(branch, base, path, operation, parent)
        place = _build(session, request, place, check)
        with session.store.write() as writer:
            worker = record_assignment(writer, session, request, place)
            close_operation(writer, operation, status="done", step="recorded", data=data, now=now)
            setup = begin_setup(session, writer, worker)
    except BaseException:
        from gitworker.journal.rollback import give_up_spawn  # 15 ms, only after a failure

        give_up_spawn(session, operation)
        raise
    return place, worker, setup


def remove_landed_worktree(session: Session, request: SpawnRequest) -> None:
    """Remove the worktree that a landed task left behind because a process was in it.

    One that was kept on purpose (`merge --keep`) stays: from then on it is its user's own.
    """
    with session.store.read() as reader:
        worker = find_worker(reader, request.worker)
        if worker is None or not is_landed(worker.state) or worker.worktree is None:
            return
        landing = find_last_operation(reader, "merge", worker=worker.worker_id, task=worker.task_id)
    if landing is not None:
        from gitworker.store.payloads.payload import MergeData  # 2 ms, for a worktree that was left

        if landing.payload(MergeData).keep:
            return
    from gitworker.journal.finish_landing import (  # 20 ms, for a seat that was left
        LandedWorker,
        remove_landed,
    )
    from gitworker.journal.recover import finish_interrupted, require_ended
    from gitworker.worktrees.removal import discard

    with hold(session.landing_lock, name="landing"):
        finish_interrupted(session)
        require_ended(session, worker.worker_id)
        (cleaned,) = remove_landed(session, [LandedWorker(worker)])
        discard(session, [] if cleaned.discard is None else [cleaned.discard])


def end_interrupted(session: Session, request: SpawnRequest) -> None:
    """Roll back the spawns that were killed; refuse where one of this worker or task stays open."""
    with session.store.read() as reader:
        if not any(assigns_worker(one.kind) for one in unfinished_operations(reader)):
            return
    from gitworker.journal.recover import finish_spawns, require_rolled_back  # 20 ms, after a kill

    finish_spawns(session)
    require_rolled_back(session, worker=request.worker, task=request.task)


def require_assignable(reader: Reader, request: SpawnRequest) -> None:
    """Raise NotFound, Refused or Conflict if the worker or the task is not free."""
    worker = find_worker(reader, request.worker)
    if worker is None and request.must_exist:
        raise NotFound(
            f"there is no worker {request.worker}",
            f"git worker spawn {request.worker} {request.task}",
        )
    refusal = None
    if worker is not None:
        refusal = busy_refusal(worker.worker_id, worker.state, worker.task_id)
    task = find_task(reader, request.task)
    if refusal is None and task is not None:
        refusal = task_refusal(
            task.id,
            task.status,
            waits_for=open_dependencies(reader, task.id),
            holder=task.assigned_agent_id,
            retries_left=task.retries_left,
        )
    if refusal is not None:
        raise refusal
    require_task_free(reader, request.task, request.worker)


def _base(session: Session, request: SpawnRequest) -> tuple[Oid, Parent | None]:
    """Return the commit to start from and whose it is; refuse where the branch is not free."""
    blocker = ref_of(Branch(request.worker))
    wanted = ref_of(branch_of(request.worker, request.task))
    refs = read_branches(
        session.git,
        session.repository.common_dir,
        [session.target, blocker, wanted],
        git_config=session.git_config,
    )
    if blocker in refs:
        raise Refused(
            f"the branch {request.worker} exists, so git allows no branch"
            f" {request.worker}/{request.task}",
            f"choose another worker id, or: git branch -m {request.worker} NEW-NAME",
            code="name_blocked",
        )
    if wanted in refs:
        branch = short_name(wanted)
        raise Refused(
            f"the branch {branch} exists already",
            f"choose another task id, or keep its work under another name: git branch -m {branch}"
            " NEW-NAME",
            code="branch_exists",
        )
    if request.start is None:
        return target_tip(session, refs), None
    from gitworker.branches.start_point import find_parent  # 2 ms, only with --from

    parent = find_parent(session, request.start, worker=request.worker, task=request.task)
    tip = parent.tip if parent else _resolve_start(session, request, request.start)
    target = refs.get(session.target)
    if target is not None:
        from gitworker.branches.landable import require_startable  # 3 ms, only with --from

        require_startable(session, request.start, tip, target=target)
    return tip, parent


def target_tip(session: Session, refs: dict[Ref, Oid]) -> Oid:
    """Return the target's commit; raise Refused where the branch has none yet."""
    tip = refs.get(session.target)
    if tip is None:
        raise missing_target(session)
    return tip


def _resolve_start(session: Session, request: SpawnRequest, start: str) -> Oid:
    remote, slash, branch = start.partition("/")
    if slash and f"remote.{remote}.url" in session.git_config:
        from gitworker.repo.remote.fetch import (
            fetch_branch,  # GitPython: 100 ms, only where it fetches
        )

        return fetch_branch(session.git, remote=remote, branch=branch, narrate=request.narrate)
    return session.git.require_oid(start, "the start")


def refill_pool(session: Session) -> None:
    """Have the pool filled again in the background, where there is one; once the answer is out."""
    if session.settings.worktree_pool:
        from gitworker.worktrees.pool.hand_out import start_pool_job

        start_pool_job(session)


def _find_pool(session: Session) -> str | None:
    """Return the directory of the pool, which rolling back needs; None without a pool."""
    if not session.settings.worktree_pool:
        return None
    from gitworker.worktrees.pool.hand_out import pool_root

    return pool_root(session)


def _start_check(session: Session, early: DirtyCheck | None) -> DirtyCheck | None:
    """Start to check a parked worktree, if there is one, while the spawn prepares the rest."""
    if not session.settings.worktree_pool:
        return None
    from gitworker.worktrees.pool.hand_out import start_check  # 3 ms, only where there is a pool

    return start_check(session, early)


def _build(
    session: Session, request: SpawnRequest, place: SpawnPlan, check: DirtyCheck | None
) -> SpawnPlan:
    """Make the worktree with branch, hooks, seat file and what it shares; add its admin dir."""
    is_warm = False
    admin_dir = None
    if session.settings.worktree_pool:
        from gitworker.worktrees.pool.hand_out import take  # 3 ms, only where there is a pool

        taken = take(session, place, operation=place.operation, check=check)
        if taken is not None:
            admin_dir, is_warm = taken
    if admin_dir is None:
        from gitworker.repo.worktrees.worktree_list import (
            add_worktree,  # 3 ms, where no parked one was taken
        )
        from gitworker.worktrees.disk_space import require_space

        require_space(session, place.base)
        admin_dir = add_worktree(
            session.git,
            path=place.path,
            branch=place.branch,
            base=place.base,
            workers_setting=session.settings.checkout_workers or None,
        ).admin_dir
    crash_point("spawn.worktree")
    install(session.git, session.repository, session.git.at(place.path))
    write_worktree_owner(admin_dir, request.worker, request.task)
    crash_point("spawn.hooks")
    populate_worktree(session, place.path, is_warm=is_warm)
    return place._replace(admin_dir=admin_dir)


def record_assignment(
    writer: Writer, session: Session, request: SpawnRequest, place: SpawnPlan
) -> Worker:
    """Record that a worker has a task and a place for it, and tell it: ASSIGNED."""
    now = clock.now_ms()
    actor = session.actor
    seat = find_worker(writer, request.worker)
    worker = seat or add_worker(writer, request.worker, now)
    if is_landed(worker.state):
        worker = advance(writer, worker, WorkerEvent.RECYCLE, actor=actor)
    _add_task(writer, session, request, now)
    set_assignment(
        writer, request.worker, task=request.task, branch=place.branch, base_oid=place.base,
        worktree=place.path, admin_dir=place.admin_dir, now=now,
    )  # fmt: skip
    assign_task(writer, request.task, agent=request.worker, branch=place.branch)
    length = LeaseLength(session.settings.claims_lease_s * 1000)
    take_claim(writer, request.task, request.worker, length=length)
    stored = load_worker(writer, request.worker)
    metadata = {"branch": place.branch, "base": place.base}
    worker = advance(writer, stored, WorkerEvent.ASSIGN, actor=actor, metadata=metadata)
    publish(
        writer,
        Outgoing(
            "task_assign",
            sender=actor,
            to=request.worker,
            correlation_id=request.task,
            payload={"branch": place.branch, "base": place.base, "worktree": place.path},
        ),
        now=now,
    )
    record_tip(writer, ref_of(place.branch), place.base)
    if seat is not None or place.parent is not None:
        _record_parent(writer, request, place.parent, now)
    return worker


def _record_parent(writer: Writer, request: SpawnRequest, parent: Parent | None, now: int) -> None:
    """Record whose branch the task stands on; what it once stood on counts no more."""
    from gitworker.store.stacks import forget_stack, record_stack  # 1 ms

    if parent is None:
        forget_stack(writer, request.worker, request.task)
        return
    from gitworker.branches.start_point import stack_of

    record_stack(writer, stack_of(parent, worker=request.worker, task=request.task), now)


def _add_task(writer: Writer, session: Session, request: SpawnRequest, now: int) -> None:
    if find_task(writer, request.task) is None:
        add_task(
            writer,
            request.task,
            title=request.title,
            requires_approval=int(session.settings.review_required),
            max_retries=session.settings.task_max_retries,
            now=now,
        )
    elif request.title:
        set_task_title(writer, request.task, request.title)
    task = require_stored_task(writer, request.task)
    if waits_for_dependencies(task.status) and open_dependencies(writer, request.task):
        raise Conflict(f"task {request.task} got a dependency meanwhile", "git worker list")


__all__ = ["SpawnRequest", "SpawnedWorker", "spawn", "target_tip", "refill_pool"]
