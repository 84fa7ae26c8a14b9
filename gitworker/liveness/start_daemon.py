"""Start the heartbeat daemon. A separate module, since most commands only check whether it runs."""

from __future__ import annotations

from gitworker.liveness.process_origin import is_local, origin_of, this_origin
from gitworker.processes.jobs import start_job
from gitworker.processes.table import find_start
from gitworker.repo.plumbing.repository_lock import is_held
from gitworker.store.records.runs import open_runs

LOCK_PREFIX = "beater-"
BEAT_S = 10  # the default interval, for callers that have not read the settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitworker.paths import StatePaths
    from gitworker.store.api import Store


def ensure_heartbeat_daemon(paths: StatePaths, *, every_s: int) -> None:
    """Start the heartbeat daemon of our PID namespace unless it runs; its lock keeps it single."""
    if is_daemon_running(paths):
        return
    start_job("beat", paths.root, str(every_s))


def ensure_orphans_attended(store: Store, paths: StatePaths) -> None:
    """Start the heartbeat daemon if an agent has lost its supervisor, to obey orders for it."""
    with store.read() as reader:
        runs = open_runs(reader)
    here = this_origin()
    for run in runs:
        start = run.supervisor_start
        is_ours = is_local(origin_of(run), here) and start is not None
        if is_ours and find_start(run.supervisor_pid) != start:
            ensure_heartbeat_daemon(paths, every_s=BEAT_S)
            return


def is_daemon_running(paths: StatePaths) -> bool:
    """Return whether our heartbeat daemon runs."""
    return is_held(lock_path(paths))


def lock_path(paths: StatePaths) -> str:
    """Return the lock file of the heartbeat daemon: one per host, boot and PID namespace."""
    parts = (part or "unknown" for part in this_origin())
    return f"{paths.locks}/{LOCK_PREFIX}{'-'.join(parts).replace('/', '_')}"
