"""The limit of a model's vendor for which a paused task waits."""

from gitworker import clock
from gitworker.model.run_outcome import LIMITS
from gitworker.model.task import TaskStatus
from gitworker.observe.workers.rules import may_wait_for_limit
from gitworker.repo.worktrees.trouble import Trouble
from gitworker.store.api import Reader
from gitworker.store.records.run_results import find_run_result
from gitworker.store.records.screens import WorkerRow
from gitworker.store.workers import Worker


def limit_text(kind: str, agent: str | None, resets_at_ms: int | None) -> str:
    """Return a limit in words: "usage limit of claude until 15:00"."""
    text = kind.replace("_", " ") + (f" of {agent}" if agent else "")
    if resets_at_ms is None:
        return text
    return f"{text} until {clock.local_minutes(resets_at_ms, clock.now_ms())}"


def find_limit(
    reader: Reader, worker: Worker | WorkerRow, task_status: TaskStatus | None
) -> Trouble | None:
    """Return the limit that ended the last run of a task, if the task is paused since; or None."""
    if not may_wait_for_limit(worker.state, task_status):
        return None
    last = find_run_result(reader, worker.worker_id, worker.task_id)
    if last is None or last.failure not in LIMITS:
        return None
    words = limit_text(last.failure, last.agent, last.resets_at_ms)
    return Trouble(last.failure, words, f"git worker resume {worker.worker_id}")
