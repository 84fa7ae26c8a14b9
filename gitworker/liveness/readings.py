"""Read the facts that the liveness rules judge: clocks, heartbeats and processes."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from gitworker import clock
from gitworker.liveness.life_lock import is_life_locked
from gitworker.liveness.process_origin import is_local, origin_of, this_origin
from gitworker.liveness.processes import calls_us
from gitworker.liveness.rules_stale import ClockReading, Heartbeat, has_jumped, heartbeat_age_ms
from gitworker.paths import StatePaths
from gitworker.processes.table import is_running
from gitworker.store.api import Reader
from gitworker.store.heartbeats import StoredHeartbeat, all_heartbeats
from gitworker.store.records.runs import Run
from gitworker.store.workers import Worker


class LostRuns(NamedTuple):
    """Runs whose supervisor has ended: `over` if the agent has ended too, else `orphans`."""

    over: list[Run]
    orphans: list[Run]


def this_moment() -> ClockReading:
    """Read the clocks once."""
    host, boot_id, pid_ns = this_origin()
    return ClockReading(clock.now_ms(), clock.monotonic_ms(), boot_id or "", host or "", pid_ns)


def read_heartbeats(reader: Reader) -> dict[str, Heartbeat]:
    """Return the last heartbeat of every agent."""
    return {one.agent_id: heartbeat_of(one) for one in all_heartbeats(reader)}


def clock_has_jumped(reader: Reader) -> bool:
    """Return whether the wall clock has jumped by a day or more since the newest heartbeat."""
    return has_jumped(read_heartbeats(reader).values(), this_moment())


def is_here(worker: Worker, moment: ClockReading) -> bool:
    """Return whether the process of a worker was recorded in our host, boot and PID namespace."""
    return is_local(origin_of(worker), moment.origin)


def process_runs(worker: Worker, moment: ClockReading, paths: StatePaths) -> bool | None:
    """Return whether the process of a worker runs; None if that is not known.

    A process of another host, boot or PID namespace is never known to have ended; it runs if its
    supervisor or heartbeat daemon holds the worker's lock.
    """
    if worker.pid is None:
        return None
    if is_here(worker, moment):
        return is_running(worker.pid, worker.pid_start)
    return True if is_life_locked(paths, worker.worker_id) else None


def works_elsewhere(worker: Worker) -> bool:
    """Return whether the recorded process of a worker runs here and is not above the caller."""
    if worker.pid is None or not is_here(worker, this_moment()):
        return False
    start = worker.pid_start
    return is_running(worker.pid, start) is True and not calls_us(worker.pid, start)


def lost_runs(runs: Sequence[Run], moment: ClockReading) -> LostRuns:
    """Return the open runs of our PID namespace whose supervisor has ended.

    A living agent without a supervisor keeps its run open and gets heartbeats. An agent that was
    ordered to end counts as an orphan until the process that gave the order has seen it end.
    """
    lost = LostRuns([], [])
    for run in runs:
        if not is_local(origin_of(run), moment.origin):
            continue
        if is_running(run.supervisor_pid, run.supervisor_start) is False:
            is_over = not run.why and (
                run.pid is None or is_running(run.pid, run.pid_start) is False
            )
            (lost.over if is_over else lost.orphans).append(run)
    return lost


def silent_runs(
    runs: Sequence[Run],
    heartbeats: Mapping[str, Heartbeat],
    moment: ClockReading,
    *,
    paths: StatePaths,
    dead_ms: int,
    elsewhere: Collection[str] = (),
) -> list[Run]:
    """Return the open runs of other origins that count as ended.

    `elsewhere` are the workers on other machines of a fleet, whose runs began by other clocks. A
    run counts as ended if it has shown no sign of life for `dead_ms`, or if its worker has a
    newer run.
    """
    newest = {run.worker_id: run.id for run in runs}  # they are ordered, oldest first
    return [
        run
        for run in runs
        if not is_local(origin_of(run), moment.origin)
        and (
            newest[run.worker_id] != run.id
            or (
                _silence_ms(run, heartbeats, moment, run.worker_id in elsewhere) >= dead_ms
                and not is_life_locked(paths, run.worker_id)
            )
        )
    ]


def heartbeat_of(stored: StoredHeartbeat) -> Heartbeat:
    """Return the clock readings of a heartbeat."""
    return Heartbeat(stored.ts_ms, stored.mono_ms, stored.boot_id, stored.host)


def _silence_ms(
    run: Run, heartbeats: Mapping[str, Heartbeat], moment: ClockReading, is_elsewhere: bool
) -> int:
    """Return the time since the last heartbeat of a run's agent, or since the run began.

    Of a run on another machine, only the heartbeats have arrived by our clock.
    """
    heartbeat = heartbeats.get(run.worker_id)
    if is_elsewhere:
        return 0 if heartbeat is None else heartbeat_age_ms(heartbeat, moment)
    began = Heartbeat(run.started_at_ms)
    return min(heartbeat_age_ms(heartbeat or began, moment), heartbeat_age_ms(began, moment))
