"""Report to an agent that its task was taken from it by a cancel, a reset, or the undo of one."""

from types import MappingProxyType

from gitworker import clock
from gitworker.bus.publish import Outgoing, publish
from gitworker.errors import Refused
from gitworker.lifecycle.rules import has_no_task
from gitworker.session import Session
from gitworker.store.api import Reader, Writer
from gitworker.store.operations import Operation, last_operation_of
from gitworker.store.workers import Worker, on_another_machine

ENDED, RETURNED, LEFT_OUT = "x-task-ended", "x-task-returned", "x-left-out"
WORDS = MappingProxyType({"cancel": "cancelled", "reset": "taken from the worker"})


def publish_end(writer: Writer, freed: Operation, *, rescue: str | None) -> None:
    """Send a worker the message that another identity cancelled its task or reset it."""
    kept = f"; its work is kept under {rescue}" if rescue else ""
    text = f"{_words(freed)}{kept}"
    _send(writer, freed.worker_id, freed.task_id, ENDED, actor=freed.actor, text=text)


def publish_left_out(writer: Writer, landed: Operation, *, rescue: str) -> None:
    """Send a worker the message that its task landed without the work that it had not handed in."""
    text = f"task {landed.task_id} has landed; work that was not handed in is kept under {rescue}"
    _send(writer, landed.worker_id, landed.task_id, LEFT_OUT, actor=landed.actor, text=text)


def publish_handover(writer: Writer, former: Worker, *, to: str, actor: str) -> None:
    """Send a failed worker the message that another worker has its task now."""
    text = f"task {former.task} was given to {to} by {actor}"
    _send(writer, former.worker_id, former.task, ENDED, actor=actor, text=text)


def publish_return(writer: Writer, freed: Operation, *, actor: str) -> None:
    """Send a worker the message that it has its task again."""
    text = f"task {freed.task_id} is back: git worker show"
    _send(writer, freed.worker_id, freed.task_id, RETURNED, actor=actor, text=text)


def refuse_lost_task(reader: Reader, session: Session, worker: Worker) -> None:
    """Raise Refused if the caller is a worker whose task was cancelled or reset.

    Also for one in a worktree that it had before another machine took it over.
    """
    if session.actor == worker.worker_id:
        if elsewhere := on_another_machine(worker):
            raise elsewhere
        lost = find_lost_task(reader, worker, hint=f"git worker inbox --as {worker.worker_id}")
        if lost is not None:
            raise lost


def find_lost_task(reader: Reader, worker: Worker, *, hint: str) -> Refused | None:
    """Return the refusal of a worker whose task was cancelled or reset, or None."""
    if not has_no_task(worker.state):
        return None
    last = last_operation_of(reader, worker.worker_id)
    if last is None or last.kind not in WORDS or last.status != "done":
        return None
    words = f"{_words(last)}, so worker {worker.worker_id} has no task"
    return Refused(words, hint, code="task_ended")


def _words(freed: Operation) -> str:
    return f"task {freed.task_id} was {WORDS[freed.kind]} by {freed.actor}"


def _send(writer: Writer, worker: str, task: str, type: str, *, actor: str, text: str) -> None:
    if actor == worker:
        return
    publish(
        writer,
        Outgoing(
            type, sender=actor, to=worker, correlation_id=task,
            payload={"text": text, "task": task},
        ),
        now=clock.now_ms(),
    )  # fmt: skip
