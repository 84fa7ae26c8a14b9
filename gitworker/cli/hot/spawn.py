"""`spawn WORKER TASK` without click, whose import would delay a spawn from the pool most of all."""

from __future__ import annotations

from gitworker.errors import GitWorkerError, Invalid
from gitworker.model.ids import parse_task_id, parse_worker_id
from gitworker.paths import require_repository, state_paths
from gitworker.repo.pool.prefetched_status import end_dirty_checks, prefetch_dirty_check


def run_spawn(words: list[str]) -> int | None:
    """Give a worker a task and print its path; return None if click must parse the words."""
    if len(words) != 2:
        return None
    try:
        worker, task = parse_worker_id(words[0]), parse_task_id(words[1])
    except Invalid:
        return None
    _start_check()
    from gitworker.cli.early import prefetch_opening  # 40 ms in all, while git checks and answers

    opening = prefetch_opening(["spawn"])
    from gitworker.cli import output
    from gitworker.cli.call import CommandLine
    from gitworker.workers.spawn import SpawnRequest, refill_pool, spawn

    call = CommandLine(opening=opening)
    try:
        session = call.open()
        spawned = spawn(session, SpawnRequest(worker, task))
        output.answer_exact(spawned.path)
        refill_pool(session)
    finally:
        if call.opening is not None:
            call.opening.abandon()
        end_dirty_checks()
    return 0


def _start_check() -> None:
    try:
        prefetch_dirty_check(state_paths(require_repository()).root)
    except GitWorkerError:  # the command reports it
        return
