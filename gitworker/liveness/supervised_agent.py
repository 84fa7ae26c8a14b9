"""Whether a supervised agent lives or has ended.

Imports little, since it is used before an agent starts.
"""

from __future__ import annotations

from gitworker.liveness.life_lock import RUNS, is_life_locked
from gitworker.liveness.process_origin import is_local, is_of_earlier_boot, origin_of
from gitworker.processes.table import find_start, is_running
from gitworker.store.heartbeats import find_heartbeat

FRESH_MS = 100_000  # an agent with a younger heartbeat counts as alive if nothing else is known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitworker.paths import StatePaths
    from gitworker.store.api import Reader
    from gitworker.store.records.runs import Run
    from gitworker.store.workers import Worker


def living_agent(reader: Reader, paths: StatePaths, run: Run | None) -> int | None:
    """Return the process of an open run, if it lives or may live.

    For a process of another host, boot or PID namespace, `may_live` decides.
    """
    if run is None or run.ended_at_ms is not None or run.pid is None:
        return None
    if not is_local(origin_of(run)):
        return run.pid if may_live(reader, paths, run.worker_id) else None
    start = find_start(run.pid)
    return run.pid if start is not None and start == run.pid_start else None


def has_run_to_its_end(run: Run | None, *, task: str | None, pid: int | None) -> bool:
    """Return True if a worker's agent was supervised and has ended; `pid` is the worker's."""
    if run is None or run.ended_at_ms is None:
        return False
    return run.task_id == task and pid in (None, run.pid)


def workers_of_living_run(reader: Reader, paths: StatePaths) -> frozenset[str]:
    """Return the workers that `git worker run` continues by itself; none if no run is alive."""
    if not is_life_locked(paths, RUNS):
        return frozenset()
    from gitworker.model.ids import ORCHESTRATOR
    from gitworker.store.workers import workers_assigned_by  # 5 ms, not before an agent starts

    return workers_assigned_by(reader, ORCHESTRATOR)


def may_be_resumed(run: Run) -> bool:
    """Return whether the supervisor of an ended run lives or may live: it can start a round."""
    if not is_local(origin_of(run)):
        return True
    return is_running(run.supervisor_pid, run.supervisor_start) is not False


def may_live(reader: Reader, paths: StatePaths, worker: str, *, fresh_ms: int = FRESH_MS) -> bool:
    """Return whether a process that cannot be looked up counts as alive, by lock or heartbeat."""
    if is_life_locked(paths, worker):
        return True
    return fresh_for_ms(reader, worker, fresh_ms=fresh_ms) > 0


def presumed_for_ms(reader: Reader, paths: StatePaths, run: Run | None) -> int:
    """Return how long the agent of a run counts as alive only because of its last heartbeat.

    0 if it can be looked up, or if its lock proves that it lives: an order reaches it then. After
    a reboot no order can.
    """
    if run is None or is_local(origin_of(run)) or is_life_locked(paths, run.worker_id):
        return 0
    return max(0, fresh_for_ms(reader, run.worker_id, fresh_ms=FRESH_MS))


def ended_by_reboot(paths: StatePaths, process: Run | Worker) -> bool:
    """Return whether the process of a run or worker is of an earlier boot, so no order reaches it.

    Another machine with our host name may share the directory: a held lock proves that it lives.
    """
    if process.pid is None or not is_of_earlier_boot(origin_of(process)):
        return False
    return not is_life_locked(paths, process.worker_id)


def fresh_for_ms(reader: Reader, worker: str, *, fresh_ms: int) -> int:
    """Return how long the last heartbeat of a worker stays fresh; 0 or less if it is not."""
    stored = find_heartbeat(reader, worker)
    if stored is None:
        return 0
    from gitworker.liveness.readings import (  # 10 ms, only in a sandbox
        heartbeat_of,
        this_moment,
    )
    from gitworker.liveness.rules_stale import heartbeat_age_ms

    return fresh_ms - heartbeat_age_ms(heartbeat_of(stored), this_moment())
