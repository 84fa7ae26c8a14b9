"""Everything that the checks compare, read once: rows, refs, worktrees, the acts in the journal."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from gitworker.model.ids import Branch, Oid, Ref, ref_of
from gitworker.repo.history.reachable import find_missing
from gitworker.repo.plumbing.refs import read_refs
from gitworker.repo.worktrees.worktree_list import Worktree, list_worktrees
from gitworker.session import Session
from gitworker.store.api import Row
from gitworker.store.payloads.payload import GcData, Payload, deleted_refs, from_text
from gitworker.store.tasks import StoredTask, all_tasks
from gitworker.store.workers import Worker, all_workers

REWRITING = frozenset({"approve", "merge", "cancel", "reset", "remove"})
TAKEN_AWAY = frozenset({"gc", "fsck"})  # acts that took refs or trash away, and say which


class Act(NamedTuple):
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
        """Tell whether nobody has ended it."""
        return self.status == "open"

    @property
    def has_taken(self) -> bool:
        """Tell whether it took refs or removed worktrees away that are gone still."""
        return self.kind in TAKEN_AWAY and self.status == "done"

    @property
    def is_over(self) -> bool:
        """Tell whether it was carried out, and perhaps taken back since."""
        return self.status in ("done", "undone")


@dataclass(frozen=True)
class Picture:
    """What there is.

    `refs` are all refs, `missing` those commits of theirs that are gone, `expired` the refs that gc
    or a repair took away, with what they pointed at, `emptied` trash entries that gc deleted. While
    somebody is `at_work`, an open act may be theirs.
    """

    session: Session
    workers: tuple[Worker, ...]
    tasks: Mapping[str, StoredTask]
    tips: Mapping[Ref, Oid]
    acts: tuple[Act, ...]
    landings: tuple[Row, ...]
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
        """Return the workers on whom no act is open: of the others nothing can be said yet."""
        busy = {act.worker for act in self.acts if act.is_open}
        return tuple(worker for worker in self.workers if worker.worker_id not in busy)

    def branch(self, worker: Worker) -> Ref | None:
        """Return the full name of a worker's branch."""
        return ref_of(Branch(worker.branch)) if worker.branch else None

    def is_expired(self, worker: str, task: str) -> bool:
        """Tell whether gc let rescue refs of a task go, so that its old commits may be gone."""
        return any(ref.startswith(f"refs/worker/rescue/{worker}/{task}/") for ref in self.expired)


def take_picture(session: Session, *, at_work: bool = False) -> Picture:
    """Read everything: four queries, three git processes."""
    with session.store.read() as reader:
        workers = tuple(all_workers(reader))
        tasks = {task.id: task for task in all_tasks(reader)}
        tips = {Ref(row["ref"]): Oid(row["oid"]) for row in reader.rows("tips.all")}
        acts = tuple(map(_act, reader.rows("fsck.operations")))
        landings = tuple(reader.rows("fsck.landings"))
    refs = read_refs(session.git, ["refs/"])
    missing = frozenset(find_missing(session.git, set(refs.values())))
    taken = [act.data for act in acts if act.has_taken]
    return Picture(
        session=session,
        workers=workers,
        tasks=tasks,
        tips=tips,
        acts=acts,
        landings=landings,
        refs=refs,
        missing=missing,
        worktrees={os.path.realpath(one.path): one for one in list_worktrees(session.git)},
        expired={ref: oid for data in taken for ref, oid in deleted_refs(data).items()},
        emptied=frozenset(
            name for data in taken if isinstance(data, GcData) for name in data.entries
        ),
        at_work=at_work,
    )


def _act(row: Row) -> Act:
    return Act(
        row["id"],
        row["kind"],
        row["worker_id"],
        row["task_id"],
        row["status"],
        row["step"],
        from_text(row["kind"], row["data"]),
        row["updated_at_ms"],
    )
