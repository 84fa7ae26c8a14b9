"""The unusual state of one worker's worktree, branch or agent."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from gitworker.model.task import TaskStatus
from gitworker.model.worker import ReturnReason, WorkerState
from gitworker.observe.later_commits import read_later_commits
from gitworker.observe.workers.rules_worker import (
    has_landed,
    is_at_work,
    may_rebase,
    needs_help,
    resumes_in_place,
    should_have_worktree,
    waits_for_answer,
)
from gitworker.repo.status.checkout_status import open_operation, read_status
from gitworker.repo.worktrees.ownership import find_flaw, owner_of
from gitworker.repo.worktrees.trouble import Trouble, find_place_trouble, find_trouble
from gitworker.rules_text import one_line, quoted
from gitworker.store.attention.questions import unanswered_questions
from gitworker.store.records.run_results import find_run_result
from gitworker.store.records.tips import find_tip
from gitworker.store.workers import find_worker

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.api import Reader
    from gitworker.store.records.screens import ShortWorkerRow, WorkerRow
    from gitworker.store.workers import Worker

REBASE = "rebase"
REBASE_STOPPED = "rebase_stopped"


class PlaceFacts(NamedTuple):
    """The facts of a worker's worktree and process that choose its next command.

    `has_uncommitted`: its agent has left uncommitted work; None: not known.
    `runs_elsewhere`: its work conflicts, and its process, which alone can rebase the branch, runs.
    """

    trouble: Trouble | None = None
    runs_elsewhere: bool = False
    has_uncommitted: bool | None = None


def json_trouble(trouble: Trouble | None) -> dict[str, str] | None:
    """Return the state as JSON data; None for a usual one."""
    if trouble is None:
        return None
    return {"code": trouble.code, "message": trouble.words, "command": trouble.command}


def read_trouble(session: Session, worker: Worker) -> Trouble | None:
    """Return why a worker's worktree or branch is not as its commands need it, or None.

    After a landing that is a kept branch with later commits, which need a task of their own.
    """
    if worker.branch is None:
        return None
    if has_landed(worker.state):
        with session.store.read() as reader:
            return read_later_commits(reader, session, worker, session.git.find_oid(worker.ref))
    if not should_have_worktree(worker.state):
        return None
    with session.store.read() as reader:
        published = find_tip(reader, worker.ref)
    return find_trouble(
        session.git, session.repository.common_dir, worker,
        exists=session.git.find_oid(worker.ref) is not None, published=published,
    )  # fmt: skip


def read_lost_place(
    session: Session, worker: Worker, *, task_status: TaskStatus | None, is_taken: bool
) -> Trouble | None:
    """Return why a failed worker, which can be resumed, does not have its worktree, or None."""
    if worker.branch is None or not resumes_in_place(
        worker.state, task_status=task_status, is_taken=is_taken
    ):
        return None
    with session.store.read() as reader:
        return _read_place_trouble(reader, session, worker)


def _find_lost_worktree(
    reader: Reader,
    session: Session,
    worker: Worker | ShortWorkerRow,
    *,
    task_status: TaskStatus | None,
    is_taken: bool,
) -> Trouble | None:
    """Return that a worker that failed or became stale has no worktree, or None."""
    if worker.worktree is None or not needs_help(worker.state) or os.path.isdir(worker.worktree):
        return None
    found = find_worker(reader, worker.worker_id)
    if found is None or found.branch is None:
        return None
    if should_have_worktree(found.state) or resumes_in_place(
        found.state, task_status=task_status, is_taken=is_taken
    ):
        return _read_place_trouble(reader, session, found)
    return None


def _read_place_trouble(reader: Reader, session: Session, worker: Worker) -> Trouble | None:
    return find_place_trouble(
        session.git, session.repository.common_dir, worker,
        exists=session.git.find_oid(worker.ref) is not None,
        published=find_tip(reader, worker.ref),
    )  # fmt: skip


def find_pause(worker: str, state: WorkerState, *, paused_at_ms: int | None) -> Trouble | None:
    """Return that the agent of a worker at work is paused, or None."""
    if paused_at_ms is None or not is_at_work(state):
        return None
    return Trouble("paused", f"the agent of {worker} is paused", f"git worker continue {worker}")


def find_open_question(
    reader: Reader, worker: str, task: str | None, status: TaskStatus | None
) -> Trouble | None:
    """Return the oldest question of a worker's task that can be answered, or None."""
    if task is None or not waits_for_answer(status):
        return None
    found = unanswered_questions(reader, task)
    if not found:
        return None
    words = f"asks: {one_line(found[0].shown)}"
    return Trouble("question", words, f"git worker reply {worker} <text>")


def read_place(
    reader: Reader,
    session: Session,
    worker: Worker | ShortWorkerRow,
    *,
    task_status: TaskStatus | None,
    is_taken: bool,
) -> PlaceFacts:
    """Return the facts that choose the next command, for the views that show nothing else of them.

    For most workers they are found without a look at their worktree.
    """
    lost = _find_lost_worktree(reader, session, worker, task_status=task_status, is_taken=is_taken)
    rebase = find_stopped_rebase(
        reader, session, worker, task_status=task_status, is_taken=is_taken
    )
    return PlaceFacts(
        lost or rebase,
        runs_elsewhere=is_for_its_process(reader, worker),
        has_uncommitted=find_left_work(
            reader, session, worker, task_status=task_status, is_taken=is_taken
        ),
    )


def find_stopped_rebase(
    reader: Reader,
    session: Session,
    worker: Worker | WorkerRow | ShortWorkerRow,
    *,
    task_status: TaskStatus | None,
    is_taken: bool,
) -> Trouble | None:
    """Return that a rebase is open in the worktree of a worker at work, or None.

    None also while another process than the reader's works there, since that one may continue it.
    """
    if worker.worktree is None or worker.admin_dir is None:
        return None
    if not may_rebase(worker.state, worker.stale_from, task_status=task_status, is_taken=is_taken):
        return None
    if open_operation(worker.admin_dir) != REBASE or _works_for_another(reader, session, worker):
        return None
    return Trouble(
        REBASE_STOPPED,
        "a rebase is stopped in its worktree",
        f"cd {quoted(worker.worktree)} && git worker sync --continue"
        "   # after you edit and git add; or: --abort",
    )


def find_left_work(
    reader: Reader,
    session: Session,
    worker: Worker | WorkerRow | ShortWorkerRow,
    *,
    task_status: TaskStatus | None,
    is_taken: bool,
) -> bool | None:
    """Return whether a worker that failed or became stale has uncommitted work of its agent.

    None for all other workers, and if the agent did not end with status 0: it is to go on. One git
    process for each that is looked at.
    """
    if not needs_help(worker.state) or worker.admin_dir is None:
        return None
    if not may_rebase(worker.state, worker.stale_from, task_status=task_status, is_taken=is_taken):
        return None
    last = find_run_result(reader, worker.worker_id, worker.task_id)
    if last is None or last.exit_status != 0:
        return None  # no agent ran, or it did not finish
    owner = owner_of(session.repository.common_dir, worker)
    if owner is None or find_flaw(owner) is not None or open_operation(worker.admin_dir):
        return None
    if _works_for_another(reader, session, worker):
        return None
    found = read_status(session.git.at(owner.place))
    return not (found.is_clean or found.unmerged)


def is_for_its_process(reader: Reader, worker: Worker | WorkerRow | ShortWorkerRow) -> bool:
    """Return whether work waits with a conflict for the worker's process, which runs elsewhere."""
    if not worker.waits_for_author or worker.returned_by != ReturnReason.MERGE_CONFLICT:
        return False
    from gitworker.liveness.readings import works_elsewhere  # 10 ms, rarely

    found = find_worker(reader, worker.worker_id)
    return found is not None and works_elsewhere(found)


def _works_for_another(
    reader: Reader, session: Session, worker: Worker | WorkerRow | ShortWorkerRow
) -> bool:
    """Return whether the process of a worker may run, and neither the reader nor its caller is it.

    A process that cannot be seen from here may run.
    """
    from gitworker.liveness.processes import calls_us  # 10 ms, rarely
    from gitworker.liveness.readings import process_runs, this_moment

    found = find_worker(reader, worker.worker_id)
    if found is None or found.pid is None or session.actor == worker.worker_id:
        return False
    if process_runs(found, this_moment(), session.paths) is False:
        return False
    return not calls_us(found.pid, found.pid_start)
