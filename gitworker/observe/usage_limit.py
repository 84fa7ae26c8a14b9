"""The limit for which a paused task waits: of a model's vendor, or its budget."""

from gitworker import clock
from gitworker.model.run_outcome import BUDGET, LIMITS, RunOutcome
from gitworker.model.task import TaskStatus
from gitworker.observe.workers.rules_worker import may_wait_for_limit
from gitworker.repo.worktrees.trouble import Trouble
from gitworker.store.api import Reader
from gitworker.store.attention.questions import answers_of, unanswered_questions
from gitworker.store.records.run_results import find_run_result
from gitworker.store.records.screens import WorkerRow
from gitworker.store.workers import Worker

ANSWERED = "answered"


def limit_text(kind: str, agent: str | None, resets_at_ms: int | None) -> str:
    """Return a limit in words: "usage limit of claude until 15:00"."""
    text = kind.replace("_", " ") + (f" of {agent}" if agent else "")
    if resets_at_ms is None:
        return text
    return f"{text} until {clock.local_minutes(resets_at_ms, clock.now_ms())}"


def find_hold(
    reader: Reader, worker: Worker | WorkerRow, task_status: TaskStatus | None
) -> Trouble | None:
    """Return why a task is paused: its limit, or a late answer that no agent has got yet."""
    limit = find_limit(reader, worker, task_status)
    if limit is not None or not may_wait_for_limit(worker.state, task_status):
        return limit
    task = worker.task_id
    if task is None or unanswered_questions(reader, task) or not answers_of(reader, task):
        return None
    return Trouble(ANSWERED, "its question is answered", f"git worker resume {worker.worker_id}")


def find_limit(
    reader: Reader, worker: Worker | WorkerRow, task_status: TaskStatus | None
) -> Trouble | None:
    """Return the limit that ended the last run of a task, if the task is paused since; or None.

    A budget that is used up comes first: until it is raised, no agent starts.
    """
    if not may_wait_for_limit(worker.state, task_status):
        return None
    from gitworker.store.scheduling.starts import find_spent  # 1 ms, only for a paused task

    resume = f"git worker resume {worker.worker_id}"
    if worker.task_id is not None and (spent := find_spent(reader, worker.task_id)) is not None:
        return Trouble(BUDGET, spent.words, spent.command)
    last = find_run_result(reader, worker.worker_id, worker.task_id)
    if last is not None and last.outcome == RunOutcome.OUT_OF_BUDGET:
        return Trouble(BUDGET, f"its agent was stopped: {last.reason}", resume)
    if last is None or last.failure not in LIMITS:
        return None
    words = limit_text(last.failure, last.agent, last.resets_at_ms)
    return Trouble(last.failure, words, resume)
