"""Stacks as stored: the workers whose branch was started on another worker's branch."""

from typing import NamedTuple

from gitworker.model.ids import Branch, Oid
from gitworker.model.ref_names import ref_of
from gitworker.store.api import Reader, Row, Writer
from gitworker.store.operations import operations_on


class Stack(NamedTuple):
    """A worker's task whose branch is stacked on another's.

    `parent_oid` is the newest commit of the parent that the branch is known to have contained.
    """

    worker_id: str
    task_id: str
    parent_worker: str
    parent_task: str
    parent_branch: str
    parent_oid: str


def find_stack(reader: Reader, worker: str, task: str | None) -> Stack | None:
    """Return the stack of a worker's task, or None."""
    row = reader.row("stacks.of_worker", worker=worker, task=task or "")
    return None if row is None else _stack(row)


def parents_of(reader: Reader) -> dict[tuple[str, str], Stack]:
    """Return every stack by the worker and task of the child."""
    found = [_stack(row) for row in reader.rows("stacks.all")]
    return {(one.worker_id, one.task_id): one for one in found}


def workers_on(reader: Reader, worker: str, task: str | None) -> tuple[str, ...]:
    """Return the workers that are stacked on a worker's task and have not landed, by name."""
    rows = reader.rows("stacks.on_top", worker=worker, task=task or "")
    return tuple(row["worker_id"] for row in rows)


def tasks_on(reader: Reader, worker: str, task: str) -> set[tuple[str, str]]:
    """Return the workers, each with its task, whose branch was started on a worker's branch."""
    rows = reader.rows("stacks.started_on", worker=worker, task=task)
    return {(row["worker_id"], row["task_id"]) for row in rows}


def record_stack(writer: Writer, stack: Stack, now: int) -> None:
    """Record the stack of a worker's task, in place of an older one."""
    writer.run(
        "stacks.set",
        worker=stack.worker_id, task=stack.task_id, parent_worker=stack.parent_worker,
        parent_task=stack.parent_task, parent_branch=stack.parent_branch,
        parent_oid=stack.parent_oid, now=now,
    )  # fmt: skip


def move_stack(writer: Writer, stack: Stack, oid: Oid) -> None:
    """Record the commit at which a branch begins now."""
    writer.run("stacks.move", worker=stack.worker_id, task=stack.task_id, parent_oid=oid)


def forget_stack(writer: Writer, worker: str, task: str) -> None:
    """Record that a worker's task is not stacked."""
    writer.run("stacks.forget", worker=worker, task=task)


def parent_tips(reader: Reader, stack: Stack) -> set[Oid]:
    """Return the commits that the parent's branch is known to have pointed at or landed as."""
    from gitworker.store.payloads.payload import ApproveData, RemovalData  # 2 ms, for a stack

    rows = reader.rows(
        "stacks.tips_of",
        worker=stack.parent_worker, task=stack.parent_task,
        ref=ref_of(Branch(stack.parent_branch)),
    )  # fmt: skip
    removed = (
        one.data.tip
        for one in operations_on(reader, stack.parent_worker, stack.parent_task)
        if isinstance(one.data, RemovalData)
    )
    contained = (
        one.data.base
        for one in operations_on(reader, stack.worker_id, stack.task_id)
        if isinstance(one.data, ApproveData)
    )
    found = {*(row["oid"] for row in rows), *removed, *contained, stack.parent_oid}
    return {Oid(oid) for oid in found if oid}


def _stack(row: Row) -> Stack:
    return Stack(**dict(row))
