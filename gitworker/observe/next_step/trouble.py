"""The unusual state of one worker's worktree, branch or agent."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitworker.errors import NotFound
from gitworker.model.ids import RESERVED
from gitworker.model.message import LANDING_REFUSED
from gitworker.model.ref_names import short_name
from gitworker.model.task import TaskStatus
from gitworker.model.worker import ReturnReason, WorkerState
from gitworker.observe.workers.rules_worker import (
    has_landed,
    is_approved,
    is_at_work,
    is_taken,
    may_rebase,
    needs_help,
    should_have_worktree,
    waits_for_answer,
)
from gitworker.repo.status.checkout_status import open_operation, read_status
from gitworker.repo.worktrees.ownership import find_flaw, owner_of
from gitworker.repo.worktrees.trouble import Trouble, find_trouble
from gitworker.rules_text import one_line, quoted
from gitworker.states.worker_machine import state_words
from gitworker.store.commits.verify_runs import read_verified_commits
from gitworker.store.records.tips import find_tip
from gitworker.store.workers import find_worker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.model.ids import Oid, Ref
    from gitworker.session import Session
    from gitworker.store.api import Reader
    from gitworker.store.records.screens import WorkerRow
    from gitworker.store.workers import Worker

REBASE = "rebase"
REBASE_STOPPED = "rebase_stopped"


def json_trouble(trouble: Trouble | None) -> dict[str, str] | None:
    """Return the state as JSON data; None for a usual one."""
    if trouble is None:
        return None
    return {"code": trouble.code, "message": trouble.words, "command": trouble.command}


def read_trouble(session: Session, worker: Worker) -> Trouble | None:
    """Return why a worker's worktree or branch is not as its commands need it, or None.

    After a landing that is a kept branch with later commits, which need a task of their own.
    """
    if worker.branch is None or worker.elsewhere is not None:
        return None
    if has_landed(worker.state):
        from gitworker.observe.next_step.later_commits import read_later_commits  # 2 ms

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


def missing_branch(session: Session, worker: Worker) -> NotFound:
    """Return the error for a worker without a branch: none is needed, or it is gone or renamed."""
    if worker.branch is None or not should_have_worktree(worker.state):
        return NotFound(
            f"worker {worker.worker_id} {state_words(worker.state)}, so it has no branch",
            f"git worker show {worker.worker_id}",
        )
    with session.store.read() as reader:
        published = find_tip(reader, worker.ref)
    found = find_trouble(
        session.git, session.repository.common_dir, worker, exists=False, published=published
    )
    assert found is not None, "a branch that does not exist is trouble"
    return NotFound(found.words, found.command)


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
    from gitworker.store.attention.questions import unanswered_questions  # 1 ms

    found = unanswered_questions(reader, task)
    if not found:
        return None
    words = f"asks: {one_line(found[0].shown)}"
    command = f"git worker reply {worker} <text>"
    if len(found) > 1:
        command = f"git worker reply -q {found[0].id} {worker} <text>"
    return Trouble("question", words, command)


def find_stopped_rebase(session: Session, reader: Reader, row: WorkerRow) -> Trouble | None:
    """Return that a rebase is open in the worktree of a worker at work, or None.

    None also while another process than the reader's works there, since that one may continue it.
    """
    if row.worktree is None or row.admin_dir is None or not _may_rebase(row):
        return None
    if open_operation(row.admin_dir) != REBASE or _works_for_another(reader, session, row):
        return None
    return Trouble(
        REBASE_STOPPED,
        "a rebase is stopped in its worktree",
        f"cd {quoted(row.worktree)} && git worker sync --continue"
        "   # after you edit and git add; or: --abort",
    )


def find_failing_target(
    session: Session, reader: Reader, row: WorkerRow, refs: Mapping[Ref, Oid]
) -> Trouble | None:
    """Return that the branch on which approved work lands failed its last verification, or None.

    Nothing lands until it is repaired or passes: the next merge tries it again.
    """
    ref = session.target_of(row)
    tip = refs.get(ref)
    if not is_approved(row.state) or tip is None or not session.settings.verify_commands:
        return None
    last = read_verified_commits(reader, [tip]).get(tip)
    if last is None or not last.has_failed or not os.path.exists(last.log):
        return None
    return Trouble(
        "target_fails",
        f"{short_name(ref)} itself does not pass ({last.reason}); nothing lands on it",
        f"less {quoted(last.log)}   # repair {short_name(ref)}, or try again: git worker merge"
        f" {row.worker_id}",
    )


def find_refused_landing(session: Session, reader: Reader, row: WorkerRow) -> Trouble | None:
    """Return why the last landing of approved work was refused, such as a file in the way, or None.

    The cause may be gone: the command tries it again.
    """
    if not (is_approved(row.state) and session.actor in RESERVED):
        return None
    from gitworker.store.messages.inboxes import newest_log  # 1 ms, only for approved work

    why = newest_log(
        reader, row.worker_id, row.task_id, LANDING_REFUSED, since_ms=row.state_changed_at_ms
    )
    if not why:
        return None
    words = f"its last landing was refused: {why}"
    return Trouble(LANDING_REFUSED, words, f"git worker merge {row.worker_id}")


def find_untrusted(session: Session, reader: Reader, row: WorkerRow) -> Trouble | None:
    """Return that approved work cannot land, since its verify commands are not trusted, or None."""
    if not (is_approved(row.state) and session.actor in RESERVED):
        return None
    from gitworker.verify.trust import read_untrusted  # 2 ms, only for approved work

    if not read_untrusted(reader, session, "verify"):
        return None
    words = "the repository's verify commands are not trusted, so nothing lands"
    return Trouble("untrusted", words, "git worker trust")


def find_left_work(session: Session, reader: Reader, row: WorkerRow, *, actor: str) -> bool | None:
    """Return whether a worktree has uncommitted work that its worker or agent has left.

    That is one of a worker whose agent ended with status 0 without handing in, or of the reader at
    work. None for all others: an agent that failed is to go on. One git process for each.
    """
    if row.admin_dir is None or row.elsewhere is not None or not _may_rebase(row):
        return None
    if needs_help(row.state):
        from gitworker.store.records.run_results import find_run_result  # 2 ms

        last = find_run_result(reader, row.worker_id, row.task_id)
        if last is None or last.exit_status != 0:
            return None  # no agent ran, or it did not finish
    elif row.agent_end != "" and actor != row.worker_id:
        return None
    owner = owner_of(session.repository.common_dir, row)
    if owner is None or find_flaw(owner) is not None or open_operation(row.admin_dir):
        return None
    if _works_for_another(reader, session, row):
        return None
    found = read_status(session.git.at(owner.place))
    return not (found.is_clean or found.unmerged)


def _may_rebase(row: WorkerRow) -> bool:
    taken = is_taken(row.worker_id, row.task_holder)
    return may_rebase(row.state, row.stale_from, task_status=row.task_status, is_taken=taken)


def is_for_its_process(reader: Reader, row: WorkerRow) -> bool:
    """Return whether work waits with a conflict for the worker's process, which runs elsewhere."""
    if not row.waits_for_author or row.returned_by != ReturnReason.MERGE_CONFLICT:
        return False
    from gitworker.liveness.readings import works_elsewhere  # 10 ms, rarely

    found = find_worker(reader, row.worker_id)
    return found is not None and works_elsewhere(found)


def _works_for_another(reader: Reader, session: Session, row: WorkerRow) -> bool:
    """Return whether the process of a worker may run, and neither the reader nor its caller is it.

    A process that cannot be seen from here may run.
    """
    from gitworker.liveness.processes import calls_us  # 10 ms, rarely
    from gitworker.liveness.readings import process_runs, this_moment

    found = find_worker(reader, row.worker_id)
    if found is None or found.pid is None or session.actor == row.worker_id:
        return False
    if process_runs(found, this_moment(), session.paths) is False:
        return False
    return not calls_us(found.pid, found.pid_start)
