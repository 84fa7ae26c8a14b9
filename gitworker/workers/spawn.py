"""spawn and assign: give a worker a task, with a branch and a worktree of its own.

`spawn` lists all steps in their order; each step belongs to the room that it is imported from. The
journal is written before anything is made, so the next command can roll back a killed spawn.
"""

from typing import NamedTuple

from gitworker import clock
from gitworker.branches.new_branch import choose_base
from gitworker.crashpoint import crash_point
from gitworker.journal.prepare_worker import remove_landed_worktree, roll_back_spawns
from gitworker.lifecycle.assign import Assignment, record_assignment, require_assignable
from gitworker.lifecycle.state_files import publish_views
from gitworker.model.ids import Branch, Oid, Ref, TaskId, WorkerId
from gitworker.model.ref_names import branch_of
from gitworker.paths import write_worktree_owner
from gitworker.repo.hooks.install import install
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.rules_text import quoted
from gitworker.session import Session
from gitworker.store.operations import begin_operation, close_operation
from gitworker.store.payloads.spawn_data import SpawnData
from gitworker.store.records.task_needs import stacked_needs_of
from gitworker.store.tasks import find_task
from gitworker.store.workers import Worker, find_worker_of_task
from gitworker.worktrees.make_way import make_room
from gitworker.worktrees.make_worktree import make_worktree
from gitworker.worktrees.pool.pool import check_ahead, pool_directory, refill_pool
from gitworker.worktrees.populate.populate import (
    begin_setup,
    populate_worktree,
    require_trusted_setup,
    run_setup,
)
from gitworker.worktrees.worktree_root import ready_root

TEXT_SHOWN = 200  # characters of a task's text in a hint


class SpawnRequest(NamedTuple):
    """A worker and its task; `must_exist` means that the worker must exist already (assign).

    A `task` of None gets an id made of the title or text. `start` is a revision, a remote branch or
    a worker, None for the target's tip. A `text` of None keeps the text of a known task.
    """

    worker: WorkerId
    task: TaskId | None
    title: str = ""
    start: str | None = None
    must_exist: bool = False
    text: str | None = None


class SpawnedWorker(NamedTuple):
    """A worker with its new worktree; `setup` is the operation of a setup that has not run yet."""

    worker: Worker
    path: str
    branch: Branch
    base: Oid
    setup: int | None = None


def spawn(session: Session, request: SpawnRequest, *, runs_setup: bool = True) -> SpawnedWorker:
    """Give a worker a task: create branch and worktree, install the hooks, record ASSIGNED.

    Raises Refused, NotFound or Conflict before any change; a later failure is rolled back. If the
    setup commands fail, the worker is FAILED, its worktree stays, and Refused is raised. Without
    `runs_setup` the caller runs them. The caller prints the answer and then starts the pool's
    background job by `refill_pool`.
    """
    require_trusted_setup(session)
    remove_landed_worktree(session, request.worker, start=request.start)
    with check_ahead(session), hold(session.worktree_lock, name="worktree"):
        task = request.task or _new_task(session, request)
        roll_back_spawns(session, worker=request.worker, task=task)
        with session.store.read() as reader:
            instead = spawn_command(request) if request.must_exist else None
            require_assignable(session, reader, request.worker, task, instead=instead)
        rescued = _find_rescued(session, task)
        start = request.start or _needed_worker(session, task)
        aimed = _aimed(session, task)
        base, parent = choose_base(aimed, request.worker, task, start=start)
        if session.paths.is_uninstalled:
            from gitworker.workers.worktree_hooks import restore_hooks  # 10 ms, rare

            restore_hooks(session)
        ready_root(session)
        path = make_room(session, worker=request.worker, task=task)
        branch = branch_of(request.worker, task)
        data = SpawnData(branch, base, path, pool_directory(session))
        operation = _begin(session, request, data, task=task)
        try:
            admin_dir, is_warm = make_worktree(session, data, operation)
            crash_point("spawn.worktree")
            install(session.git, session.repository, session.git.at(path))
            write_worktree_owner(admin_dir, request.worker, task)
            crash_point("spawn.hooks")
            if request.start is not None and parent is None:
                from gitworker.repo.rescue.rescue_refs import unpack_start  # 5 ms, only with --from

                unpack_start(session.git.at(path), request.start, base)
            populate_worktree(session, path, is_warm=is_warm)
            new = Assignment(
                request.worker, task, request.title, branch, base, path, admin_dir, parent,
                request.text, rescued,
            )  # fmt: skip
            with session.store.write() as writer:
                worker = record_assignment(writer, session, new)
                close_operation(
                    writer, operation, status="done", step="recorded", data=data,
                    now=clock.now_ms(),
                )  # fmt: skip
                setup = begin_setup(session, writer, worker)
        except BaseException as error:
            from gitworker.journal.rollback import give_up_spawn  # 15 ms, only after a failure

            give_up_spawn(session, operation, error)
            raise
    crash_point("spawn.recorded")
    publish_views(session, request.worker)
    if not runs_setup:
        return SpawnedWorker(worker, path, branch, base, setup)
    run_setup(session, setup, worker)
    return SpawnedWorker(worker, path, branch, base)


def _aimed(session: Session, task: TaskId) -> Session:
    """Return the session with the branch on which a task lands as its target."""
    from gitworker.store.planning.workstreams import find_branch_of_task  # 3 ms, after git began

    with session.store.read() as reader:
        return session.aimed_at(find_branch_of_task(reader, task))


def _needed_worker(session: Session, task: TaskId) -> str | None:
    """Return the worker on whose handed-in work a planned task is stacked, or None."""
    with session.store.read() as reader:
        needed = stacked_needs_of(reader, task)
        worker = find_worker_of_task(reader, needed[0]) if needed else None
    return worker and worker.worker_id


def spawn_command(request: SpawnRequest) -> str:
    """Return the command that gives the task of a request to a new worker."""
    words = [request.worker, *filter(None, [request.task])]
    text = request.text or ""
    if text:
        words += ["-m", "<text>" if "\n" in text or len(text) > TEXT_SHOWN else quoted(text)]
    for option, value in (("--title", request.title), ("--from", request.start)):
        if value:
            words += [option, quoted(value)]
    return f"git worker spawn {' '.join(words)}"


def _new_task(session: Session, request: SpawnRequest) -> TaskId:
    """Return a free id for a task that was requested without one."""
    from gitworker.tasks.new_task_id import choose_task_id  # 2 ms, only without an id

    return choose_task_id(session, request.worker, title=request.title, text=request.text)


def _find_rescued(session: Session, task: TaskId) -> list[Ref]:
    """Return the refs that keep work of the earlier workers of a task."""
    with session.store.read() as reader:
        if find_task(reader, task) is None:
            return []
    from gitworker.repo.rescue.rescue_refs import list_rescues  # 5 ms, only for a known task

    return [one.ref for one in list_rescues(session.git, task=task)]


def _begin(session: Session, request: SpawnRequest, data: SpawnData, *, task: TaskId) -> int:
    """Write the operation to the journal; return its number."""
    with session.store.write_own() as writer:
        operation = begin_operation(
            writer, "spawn", worker=request.worker, task=task, actor=session.actor,
            now=clock.now_ms(), data=data,
        )  # fmt: skip
    crash_point("spawn.journal")
    return operation


__all__ = ["SpawnRequest", "SpawnedWorker", "spawn", "refill_pool"]
