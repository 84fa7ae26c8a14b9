"""The facts of one task for the views: its worker, its needs, the reason why it does not run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.liveness.supervised_agent import workers_of_living_run
from gitworker.model.ids import HQ, ORCHESTRATOR
from gitworker.model.ref_names import short_name
from gitworker.model.task_spec import OpenNeed
from gitworker.observe.next_step.next_command import read_next_command
from gitworker.observe.next_step.trouble import find_open_question
from gitworker.observe.text import age_text, one_line
from gitworker.observe.usage_limit import find_hold
from gitworker.observe.workers.returned import returned_text, returned_work
from gitworker.observe.workers.rules_worker import (
    end_text,
    is_taken,
    may_wait_for_limit,
    resumes_in_place,
)
from gitworker.states.task_machine import has_ended
from gitworker.store.planning.workstreams import find_branch_of_task
from gitworker.store.records.run_results import find_run_result
from gitworker.store.records.screens import load_worker_row
from gitworker.store.records.task_needs import open_needs_of
from gitworker.store.records.task_queue import ready_tasks
from gitworker.store.scheduling.agents import find_agent_of_worker
from gitworker.store.scheduling.projects import find_project
from gitworker.store.tasks import find_task, is_skipped
from gitworker.store.workers import find_worker_of_task, workers_assigned_by
from gitworker.tasks.admission.admit import find_start_refusal
from gitworker.tasks.admission.overlap import Overlaps
from gitworker.tasks.agents.read_agents import find_unfit
from gitworker.tasks.projects.rules_project import closed_by
from gitworker.tasks.queue.add_task import require_task
from gitworker.tasks.rules_task_list import Why, json_blocked_by
from gitworker.tasks.views.rules_why import (
    TaskFacts,
    is_queued,
    is_tried_again,
    run_command_of,
    walk_needs,
    why,
)

if TYPE_CHECKING:
    from gitworker.model.task import TaskStatus
    from gitworker.session import Session
    from gitworker.store.api import Reader
    from gitworker.store.tasks import StoredTask
    from gitworker.store.workers import Worker

BEFORE_MAX = 1000  # tasks that are counted before one in the queue


class TaskWhy(NamedTuple):
    """Why a task is not running; `chain` leads to the task that decides, `next_command` helps."""

    task: str
    status: TaskStatus
    reason: str
    next_command: str | None
    blocked_by: tuple[OpenNeed, ...]
    chain: tuple[str, ...]


def read_why(session: Session, task: str) -> TaskWhy:
    """Return why a task is not running; raise NotFound for an unknown one."""
    with session.store.read() as reader:
        return why_of(session, reader, task)


def why_of(session: Session, reader: Reader, task: str) -> TaskWhy:
    """Return the same in the caller's snapshot."""
    stored = require_task(reader, task)
    known: dict[str, list[OpenNeed]] = {}

    def needs(name: str) -> list[OpenNeed]:
        return known.setdefault(name, open_needs_of(reader, name))

    def is_held(name: str) -> bool:
        found = find_task(reader, name)
        return found is not None and found.held

    chain = walk_needs(needs, task, is_held)
    cause = _facts(session, reader, chain[-1].task) if chain else None
    facts = _facts(session, reader, task)
    assert facts is not None, task
    if is_queued(stored.status) and not chain:
        refusal = find_start_refusal(session, reader, task)
        facts = facts._replace(
            meets=Overlaps(session, reader).find(task),
            refusal=find_unfit(reader, task, session.store.fleet_machine)
            if refusal is None
            else Why(refusal.message, refusal.hint),
        )
    found = why(facts, chain, cause)
    return TaskWhy(
        task, stored.status, found.reason, found.command, tuple(needs(task)),
        tuple(need.task for need in chain),
    )  # fmt: skip


def render_why(found: TaskWhy, *, width: int | None, color: bool) -> str:
    """Return one line: the reason, and the command."""
    command = f": {found.next_command}" if found.next_command else ""
    return f"{found.task}: {one_line(found.reason)}{command}"


def json_why(found: TaskWhy) -> dict[str, Any]:
    """Return the reason as JSON data."""
    return {
        "task": found.task, "status": found.status.value, "reason": found.reason,
        "next": found.next_command, "blocked_by": json_blocked_by(found.blocked_by),
        "chain": list(found.chain),
    }  # fmt: skip


def _facts(session: Session, reader: Reader, task: str) -> TaskFacts | None:
    stored = find_task(reader, task)
    if stored is None:
        return None
    worker = find_worker_of_task(reader, task)
    command = None
    is_retried, run_command = False, None
    if worker is not None and worker.task_id == task and not has_ended(stored.status):
        may_resume = resumes_in_place(
            worker.state, task_status=stored.status,
            is_taken=is_taken(worker.worker_id, stored.assigned_agent_id),
        )  # fmt: skip
        if may_resume or not is_queued(stored.status):
            command = read_next_command(session, reader, worker.worker_id, HQ)
        if may_resume and is_tried_again(stored.status, stored.resume_after_ms):
            is_retried = worker.worker_id in workers_of_living_run(reader, session.paths)
            run_command = None if is_retried else _find_run_command(reader, worker)
    retry_in = ""
    if stored.resume_after_ms is not None:
        retry_in = f"in {age_text(max(0, stored.resume_after_ms - clock.now_ms()))}"
    limit = None if worker is None else _find_hold(reader, worker, stored)
    project = find_project(reader, stored.project_id)
    queue = [one.id for one in ready_tasks(reader, BEFORE_MAX)]
    return TaskFacts(
        task, stored.status, stored.held, worker.worker_id if worker else None,
        stored.last_error or "", retry_in, command,
        queue.index(task) if task in queue else len(queue),
        closed_by(project) if project else None,
        limit=limit,
        lands_in=_lands_in(reader, stored),
        halt="" if worker is None else _find_halt(reader, worker),
        is_skipped=has_ended(stored.status) and is_skipped(reader, task),
        run_command=run_command,
        is_retried=is_retried,
    )  # fmt: skip


def _find_run_command(reader: Reader, worker: Worker) -> str | None:
    """Return the command of a run that takes up a worker's failed task; None for a person's."""
    if worker.worker_id not in workers_assigned_by(reader, ORCHESTRATOR):
        return None
    registered = find_agent_of_worker(reader, worker.worker_id)
    last = find_run_result(reader, worker.worker_id, worker.task_id)
    return run_command_of(registered.name if registered else last and last.agent)


def _find_halt(reader: Reader, worker: Worker) -> str:
    """Return why a worker does not go on by itself; empty if it does."""
    returned = returned_work(worker)
    if worker.waits_for_author and returned is not None:
        return f"its work came back: {returned_text(returned, with_log=False)}"
    end = load_worker_row(reader, worker.worker_id).agent_end
    return "" if end is None else end_text(end)


def _find_hold(reader: Reader, worker: Worker, stored: StoredTask) -> Why | None:
    """Return why a paused task waits: its question, its limit, or a late answer."""
    if may_wait_for_limit(worker.state, stored.status):
        asked = find_open_question(reader, worker.worker_id, stored.id, stored.status)
        if asked is not None:
            return Why(f"its agent {asked.words}", asked.command)
    found = find_hold(reader, worker, stored.status)
    return None if found is None else Why(found.words, found.command)


def _lands_in(reader: Reader, stored: StoredTask) -> tuple[str, str] | None:
    """Return the branch on which a task lands and its workstream; None for the target."""
    ref = find_branch_of_task(reader, stored.id)
    return None if ref is None else (short_name(ref), str(stored.workstream_id))
