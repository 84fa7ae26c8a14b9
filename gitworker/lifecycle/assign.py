"""Give a task to a worker: check that both are free, and record the assignment."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker import clock
from gitworker.bus.drain import record_tip
from gitworker.bus.limits.rules_secrets import redacted
from gitworker.bus.publish import Outgoing, publish
from gitworker.claims.leases import require_task_free, take_claim
from gitworker.errors import Conflict, NotFound
from gitworker.lifecycle.moves import advance, find_waiting
from gitworker.lifecycle.rules import (
    busy_refusal,
    has_failed,
    is_landed,
    name_refusal,
    task_refusal,
    waits_for_dependencies,
)
from gitworker.model.ids import Branch, Oid, Ref, TaskId, WorkerId
from gitworker.model.ref_names import ref_of
from gitworker.model.worker import WorkerEvent
from gitworker.session import Session
from gitworker.store.api import Reader, Writer
from gitworker.store.messages.mailbox import begin_cursor
from gitworker.store.rules_leases import LeaseLength
from gitworker.store.tasks import (
    StoredTask,
    add_task,
    assign_task,
    find_task,
    find_task_text,
    open_dependencies,
    require_stored_task,
    set_task_text,
    set_task_title,
)
from gitworker.store.workers import (
    Worker,
    add_worker,
    find_worker,
    find_worker_of_task,
    load_worker,
    set_assignment,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.branches.start_point import Parent


class Assignment(NamedTuple):
    """A worker, its task, and the branch and worktree for it; `parent` if it is stacked on one.

    A `text` of None keeps the text that the task has. `rescued` are the refs that keep work of the
    task's earlier workers.
    """

    worker: WorkerId
    task: TaskId
    title: str
    branch: Branch
    base: Oid
    worktree: str
    admin_dir: str
    parent: Parent | None = None
    text: str | None = None
    rescued: Sequence[Ref] = ()


def require_assignable(
    session: Session,
    reader: Reader,
    worker: WorkerId,
    task: TaskId,
    *,
    instead: str | None = None,
) -> None:
    """Raise NotFound, Refused or Conflict if the worker or the task is not free.

    `instead`: the worker must exist already; else this command makes it.
    """
    found, stored = find_worker(reader, worker), find_task(reader, task)
    if found is None and instead is not None:
        raise NotFound(f"there is no worker {worker}", instead)
    refusal = None
    if found is not None:
        refusal = busy_refusal(
            found.worker_id, found.state, found.task_id, stale_from=found.stale_from,
            waiting=find_waiting(session, reader, found),
        )  # fmt: skip
    if refusal is None and stored is None:
        refusal = name_refusal(worker, task)
    if refusal is None and stored is not None:
        refusal = task_refusal(
            stored.id,
            stored.status,
            waits_for=open_dependencies(reader, stored.id),
            holder=stored.assigned_agent_id,
            retries_left=stored.retries_left,
            held=stored.held,
        )
    if refusal is not None:
        raise refusal
    require_task_free(reader, task, worker)


def record_assignment(writer: Writer, session: Session, new: Assignment) -> Worker:
    """Record the worker as ASSIGNED, with its claim on the task, and publish `task_assign`."""
    now = clock.now_ms()
    actor = session.actor
    known = find_worker(writer, new.worker)
    worker = known or add_worker(writer, new.worker, now)
    if is_landed(worker.state):
        worker = advance(writer, worker, WorkerEvent.RECYCLE, actor=actor)
    task = _record_task(writer, session, new, now)
    _publish_handover(writer, new, actor=actor)
    set_assignment(
        writer, new.worker, task=new.task, branch=new.branch, base_oid=new.base,
        worktree=new.worktree, admin_dir=new.admin_dir, now=now,
    )  # fmt: skip
    assign_task(writer, new.task, agent=new.worker, branch=new.branch)
    length = LeaseLength(session.settings.claims_lease_s * 1000)
    take_claim(writer, new.task, new.worker, length=length)
    stored = load_worker(writer, new.worker)
    origin = {"branch": new.branch, "base": new.base}
    worker = advance(writer, stored, WorkerEvent.ASSIGN, actor=actor, metadata=origin)
    begin_cursor(writer, new.worker)  # the next message is the first that it has to read
    publish(
        writer,
        Outgoing(
            "task_assign",
            sender=actor,
            to=new.worker,
            correlation_id=new.task,
            payload={
                **origin,
                "worktree": new.worktree,
                **({"rescued": list(new.rescued)} if new.rescued else {}),
                **_words_of(writer, task),
            },
        ),
        now=now,
        blobs=session.paths.blobs,
    )
    record_tip(writer, ref_of(new.branch), new.base)
    if known is not None or new.parent is not None:
        _record_parent(writer, new, now)
    return worker


def _publish_handover(writer: Writer, new: Assignment, *, actor: str) -> None:
    """Report to the last worker of the task, which has failed at it, that it lost the task."""
    former = find_worker_of_task(writer, new.task)
    if former is None or former.worker_id == new.worker or not has_failed(former.state):
        return
    from gitworker.lifecycle.lost_task import publish_handover  # 1 ms, only for a repeated task

    publish_handover(writer, former, to=new.worker, actor=actor)


def _record_task(writer: Writer, session: Session, new: Assignment, now: int) -> StoredTask:
    """Add the task, or change its title and text; return it.

    Raises Conflict if it got an open dependency.
    """
    if find_task(writer, new.task) is None:
        add_task(
            writer,
            new.task,
            title=new.title,
            requires_approval=int(session.settings.review_required),
            max_retries=session.settings.task_max_retries,
            now=now,
        )
    elif new.title:
        set_task_title(writer, new.task, new.title)
    if new.text is not None:
        set_task_text(writer, new.task, new.text)
    task = require_stored_task(writer, new.task)
    if waits_for_dependencies(task.status) and open_dependencies(writer, new.task):
        raise Conflict(
            f"task {new.task} got a dependency meanwhile", f"git worker task why {new.task}"
        )
    return task


def _words_of(writer: Writer, task: StoredTask) -> dict[str, str]:
    """Return the title and the text of a task without secrets, and without empty ones.

    The agent reads the whole text by `task text` or in its prompt.
    """
    words = {"title": task.title, "text": find_task_text(writer, task.id)}
    return {name: redacted(value) for name, value in words.items() if value}


def _record_parent(writer: Writer, new: Assignment, now: int) -> None:
    """Record the parent, or delete the record of an earlier parent of this task."""
    from gitworker.store.stacks import forget_stack, record_stack  # 1 ms

    if new.parent is None:
        forget_stack(writer, new.worker, new.task)
        return
    from gitworker.branches.start_point import stack_of  # 2 ms, only with --from

    record_stack(writer, stack_of(new.parent, worker=new.worker, task=new.task), now)
