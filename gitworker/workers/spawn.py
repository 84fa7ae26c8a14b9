"""spawn and assign: a branch, a worktree with our hooks, and a seat that is ASSIGNED.

The journal is written first. A spawn that was killed is rolled back by the next command: a
worktree that was never handed out holds nothing of a user's, and it goes to the trash all the same.
"""

from collections.abc import Callable
from dataclasses import dataclass

from gitworker import clock
from gitworker.bus.drain import record_tip
from gitworker.bus.publish import Outgoing, publish
from gitworker.claims.leases import require_task_free, take_claim
from gitworker.crashpoint import crash_point
from gitworker.errors import Conflict, NotFound, Refused
from gitworker.model.ids import Branch, Oid, Ref, TaskId, WorkerId, branch_of, ref_of
from gitworker.model.worker import WorkerEvent
from gitworker.paths import write_seat
from gitworker.repo.hooks.install import install
from gitworker.repo.lock import hold
from gitworker.repo.refs import read_refs
from gitworker.repo.worktrees import add_worktree
from gitworker.session import Session, missing_target
from gitworker.store.api import Reader, Writer
from gitworker.store.operations import begin_operation, close_operation, find_last_operation
from gitworker.store.rules_leases import Length
from gitworker.store.tasks import find_task, open_dependencies, require_stored_task
from gitworker.store.workers import Worker, add_worker, find_worker
from gitworker.workers.include import copy_included
from gitworker.workers.landed import Gone, remove_landed
from gitworker.workers.moves import advance
from gitworker.workers.recover import (
    finish_interrupted,
    finish_spawns,
    require_ended,
    require_rolled_back,
)
from gitworker.workers.removal import discard
from gitworker.workers.rollback import give_up_spawn
from gitworker.workers.room import make_room
from gitworker.workers.root import ready_root
from gitworker.workers.rules import is_landed, seat_refusal, task_refusal, waits_for_dependencies
from gitworker.workers.views import publish_views


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for; `must_exist` is assign's condition on the seat.

    `narrate` is told how a fetch goes on, a line at a time.
    """

    worker: WorkerId
    task: TaskId
    title: str = ""
    start: str | None = None
    must_exist: bool = False
    narrate: Callable[[str], None] | None = None


@dataclass(frozen=True, slots=True)
class Spawned:
    """A seat that has its worktree."""

    worker: Worker
    path: str
    branch: Branch
    base: Oid


def spawn(session: Session, request: Request) -> Spawned:
    """Give a worker a task: branch and worktree made, hooks installed, ASSIGNED recorded.

    Raises Refused, NotFound or Conflict before anything is touched; what fails later is rolled
    back.
    """
    _tidy_seat(session, request)
    with hold(session.worktree_lock, what="worktree"):
        finish_spawns(session)
        require_rolled_back(session, worker=request.worker, task=request.task)
        with session.store.read() as reader:
            _check(reader, request)
        base = _base(session, request)
        branch = branch_of(request.worker, request.task)
        ready_root(session)
        path = make_room(session, worker=request.worker, task=request.task)
        now = clock.now_ms()
        data = {"branch": branch, "base": base, "path": path}
        with session.store.write() as writer:
            operation = begin_operation(
                writer, "spawn", worker=request.worker, task=request.task, actor=session.actor,
                now=now, data=data,
            )  # fmt: skip
        crash_point("spawn.journal")
        try:
            admin_dir = _build(session, request, branch=branch, base=base, path=path)
            with session.store.write() as writer:
                worker = _record(writer, session, request, Place(branch, base, path, admin_dir))
                close_operation(
                    writer, operation, status="done", step="recorded", data=data, now=now
                )
        except BaseException:
            give_up_spawn(session, operation)
            raise
    crash_point("spawn.recorded")
    publish_views(session, request.worker)
    return Spawned(worker, path, branch, base)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a task lives in git and on disk."""

    branch: Branch
    base: Oid
    path: str
    admin_dir: str


def _tidy_seat(session: Session, request: Request) -> None:
    """Remove the worktree that a landed task left behind because somebody was in it.

    One that was kept on purpose (`merge --keep`) stays: from then on it is its user's own.
    """
    with session.store.read() as reader:
        worker = find_worker(reader, request.worker)
        if worker is None or not is_landed(worker.state) or worker.worktree is None:
            return
        landing = find_last_operation(reader, "merge", worker=worker.worker_id, task=worker.task_id)
    if landing is not None and landing.data["keep"]:
        return
    with hold(session.landing_lock, what="landing"):
        finish_interrupted(session)
        require_ended(session, worker.worker_id)
        (cleaned,) = remove_landed(session, [Gone(worker)])
        discard(session, [] if cleaned.discard is None else [cleaned.discard])


def _check(reader: Reader, request: Request) -> None:
    worker = find_worker(reader, request.worker)
    if worker is None and request.must_exist:
        raise NotFound(
            f"there is no worker {request.worker}",
            f"git worker spawn {request.worker} {request.task}",
        )
    refusal = None
    if worker is not None:
        refusal = seat_refusal(worker.worker_id, worker.state, worker.task_id)
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


def _base(session: Session, request: Request) -> Oid:
    """Return the commit to start from; refuse where the branch's name is not free."""
    blocker = ref_of(Branch(request.worker))
    wanted = ref_of(branch_of(request.worker, request.task))
    refs = read_refs(session.git, [session.target, blocker])
    if blocker in refs:
        raise Refused(
            f"the branch {request.worker} exists, so git allows no branch"
            f" {request.worker}/{request.task}",
            f"choose another worker id, or: git branch -m {request.worker} NEW-NAME",
            code="name_blocked",
        )
    if wanted in refs:
        branch = wanted.removeprefix("refs/heads/")
        raise Refused(
            f"the branch {branch} exists already",
            f"choose another task id, or keep its work under another name: git branch -m {branch}"
            " NEW-NAME",
            code="branch_exists",
        )
    if request.start is None:
        return target_tip(session, refs)
    return _resolve_start(session, request, request.start)


def target_tip(session: Session, refs: dict[Ref, Oid]) -> Oid:
    """Return the target's commit; raise Refused where the branch has none yet."""
    tip = refs.get(session.target)
    if tip is None:
        raise missing_target(session)
    return tip


def _resolve_start(session: Session, request: Request, start: str) -> Oid:
    remote, slash, branch = start.partition("/")
    if slash and f"remote.{remote}.url" in session.git_config:
        from gitworker.repo.fetch import fetch_branch  # GitPython: 100 ms, only where it fetches

        return fetch_branch(session.git, remote=remote, branch=branch, narrate=request.narrate)
    return session.git.require_oid(start, "the start")


def _build(session: Session, request: Request, *, branch: Branch, base: Oid, path: str) -> str:
    """Make the worktree with branch, hooks, seat file and included files; return its admin dir."""
    worktree = add_worktree(
        session.git,
        path=path,
        branch=branch,
        base=base,
        workers_setting=session.settings.checkout_workers or None,
    )
    crash_point("spawn.worktree")
    worktree_git = session.git.at(path)
    admin_dir = worktree.admin_dir
    install(session.git, session.repository, worktree_git)
    write_seat(admin_dir, request.worker, request.task)
    crash_point("spawn.hooks")
    copy_included(session, path)
    return admin_dir


def _record(writer: Writer, session: Session, request: Request, place: Place) -> Worker:
    now = clock.now_ms()
    actor = session.actor
    worker = find_worker(writer, request.worker) or add_worker(writer, request.worker, now)
    if is_landed(worker.state):
        worker = advance(writer, worker, WorkerEvent.RECYCLE, actor=actor)
    _add_task(writer, session, request, now)
    writer.run(
        "workers.set_assignment",
        worker=request.worker, task=request.task, branch=place.branch, base_oid=place.base,
        worktree=place.path, admin_dir=place.admin_dir, now=now,
    )  # fmt: skip
    writer.run("tasks.set_assigned", task=request.task, agent=request.worker, branch=place.branch)
    length = Length(session.settings.claims_lease_s * 1000)
    take_claim(writer, request.task, request.worker, length=length)
    stored = find_worker(writer, request.worker)
    assert stored is not None
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
    return worker


def _add_task(writer: Writer, session: Session, request: Request, now: int) -> None:
    if find_task(writer, request.task) is None:
        writer.run(
            "tasks.insert",
            task=request.task,
            title=request.title,
            requires_approval=int(session.settings.review_required),
            max_retries=session.settings.task_max_retries,
            now=now,
        )
    elif request.title:
        writer.run("tasks.set_title", task=request.task, title=request.title)
    task = require_stored_task(writer, request.task)
    if waits_for_dependencies(task.status) and open_dependencies(writer, request.task):
        raise Conflict(f"task {request.task} got a dependency meanwhile", "git worker list")


__all__ = ["Request", "Spawned", "spawn", "target_tip"]
