"""The facts that the checks compare, read once: rows, refs, worktrees and the journal."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from gitworker.model.ids import Oid, Ref
from gitworker.model.ref_names import ALL, rescues_of
from gitworker.repo.history.reachable import find_missing
from gitworker.repo.plumbing.refs import read_refs
from gitworker.repo.worktrees.worktree_list import Worktree, list_worktrees
from gitworker.session import Session
from gitworker.states.question import Question
from gitworker.store.attention.questions import unanswered_questions
from gitworker.store.operations import Operation, all_operations
from gitworker.store.payloads.payload import GcData, Payload, deleted_refs
from gitworker.store.records.landings import Landing, all_landings
from gitworker.store.records.tips import all_tips
from gitworker.store.tasks import StoredTask, all_tasks
from gitworker.store.workers import Worker, all_workers

DELETING = frozenset({"gc", "fsck"})  # operations that deleted refs or trash, and record which


class JournalRow(NamedTuple):
    """One row of the journal."""

    id: int
    kind: str
    worker: str
    task: str
    status: str
    step: str
    data: Payload
    updated_at_ms: int

    @property
    def is_open(self) -> bool:
        """Return whether the operation is still open."""
        return self.status == "open"

    @property
    def has_deleted(self) -> bool:
        """Return whether it deleted refs that were not restored since."""
        return self.kind in DELETING and self.status == "done"

    @property
    def is_over(self) -> bool:
        """Return whether it was carried out, and perhaps undone since."""
        return self.status in ("done", "undone")


@dataclass(frozen=True, slots=True)
class Picture:
    """The state of the repository.

    `refs` are all refs and `missing` the commits of theirs that do not exist. `expired` are the
    refs, with their commits, that gc or a repair deleted, and `emptied` the trash entries that gc
    deleted. If another command is `at_work`, an open operation may be its own.
    """

    session: Session
    workers: tuple[Worker, ...]
    tasks: Mapping[str, StoredTask]
    questions: tuple[Question, ...]
    tips: Mapping[Ref, Oid]
    operations: tuple[JournalRow, ...]
    landings: tuple[Landing, ...]
    refs: Mapping[Ref, Oid]
    missing: frozenset[Oid]
    worktrees: Mapping[str, Worktree]
    expired: Mapping[str, str]
    emptied: frozenset[str]
    at_work: bool

    @property
    def common_dir(self) -> str:
        """Return the directory of refs and objects."""
        return self.session.repository.common_dir

    @property
    def settled(self) -> tuple[Worker, ...]:
        """Return the workers of this machine without an open operation.

        The state of the others is not final, or their places are on other machines.
        """
        busy = {one.worker for one in self.operations if one.is_open}
        here = (one for one in self.workers if one.elsewhere is None)
        return tuple(worker for worker in here if worker.worker_id not in busy)

    def branch(self, worker: Worker) -> Ref | None:
        """Return the full name of a worker's branch."""
        return worker.ref if worker.branch else None

    def is_expired(self, worker: str, task: str) -> bool:
        """Return whether gc deleted rescue refs of a task, so that old commits may not exist."""
        return any(ref.startswith(rescues_of(worker, task)) for ref in self.expired)


def take_picture(session: Session, *, at_work: bool = False) -> Picture:
    """Read everything: four queries, three git processes."""
    with session.store.read() as reader:
        workers = tuple(all_workers(reader))
        tasks = {task.id: task for task in all_tasks(reader)}
        questions = tuple(unanswered_questions(reader))
        tips = all_tips(reader)
        operations = tuple(map(_row, all_operations(reader)))
        landings = tuple(all_landings(reader))
    refs = read_refs(session.git, [ALL])
    missing = frozenset(find_missing(session.git, set(refs.values())))
    deleting = [one.data for one in operations if one.has_deleted]
    return Picture(
        session=session,
        workers=workers,
        tasks=tasks,
        questions=questions,
        tips=tips,
        operations=operations,
        landings=landings,
        refs=refs,
        missing=missing,
        worktrees={os.path.realpath(one.path): one for one in list_worktrees(session.git)},
        expired={ref: oid for data in deleting for ref, oid in deleted_refs(data).items()},
        emptied=frozenset(
            name
            for one in operations
            if one.is_over and isinstance(one.data, GcData)  # an undo restores the refs only
            for name in one.data.entries
        ),
        at_work=at_work,
    )


def _row(one: Operation) -> JournalRow:
    return JournalRow(
        one.id, one.kind, one.worker_id, one.task_id, one.status, one.step, one.data,
        one.updated_at_ms,
    )  # fmt: skip
