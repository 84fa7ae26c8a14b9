"""The heartbeat daemon: the process that sends heartbeats for the workers of one PID namespace.

`start` starts it; an flock keeps it single. For every WORKING or IN_REVIEW worker of its host, boot
and PID namespace whose process still runs, it sends heartbeats and holds the worker's lock
(`life_lock`). A changed interval applies within one heartbeat. It also looks after agents that have
lost their supervisor. It ends if there are no such workers and agents.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from contextlib import suppress

from gitworker import clock
from gitworker.bus.files.state_file_heartbeat import update_state_file_heartbeat
from gitworker.bus.jobs.upkeep_job import start_upkeep_job
from gitworker.errors import GitWorkerError
from gitworker.liveness.current_settings import read_current_settings
from gitworker.liveness.heartbeat_thread import ChangeInterval, HeartbeatThread, Remove, Report
from gitworker.liveness.life_lock import LifeLock
from gitworker.liveness.readings import is_here, lost_runs, this_moment
from gitworker.liveness.rules_stale import ClockReading, has_heartbeats
from gitworker.liveness.start_daemon import LOCK_PREFIX, lock_path
from gitworker.paths import StatePaths, file_identity
from gitworker.processes.table import is_running
from gitworker.store.api import Reader, Store
from gitworker.store.backend import open_store
from gitworker.store.records.runs import open_runs
from gitworker.store.workers import Worker, all_workers

CHECK_EVERY_S = 2.0
READ_EVERY_S = 10.0  # two git processes, 5 ms
TRIES = 10  # a process that checks whether a daemon runs holds the lock for a moment
TRY_EVERY_S = 0.02
Attend = Callable[[Store], bool]


def run_heartbeat_daemon(root: str, every_s: float, attend: Attend = lambda _: False) -> int:
    """Send heartbeats until no process needs them; return the exit status.

    `attend` looks after the agents without a supervisor and returns whether there are any. A worker
    that starts while the daemon ends finds the lock held and starts no other daemon. So after it
    released the lock, the daemon checks once more whether it is needed.
    """
    paths = StatePaths(root)
    while _run_under_lock(paths, every_s, attend) and _is_needed(paths):
        pass
    return 0


def _run_under_lock(paths: StatePaths, every_s: float, attend: Attend) -> bool:
    """Send heartbeats while they are needed; return False if another process is the daemon."""
    fd = _take_lock(lock_path(paths))
    if fd is None:
        return False
    _drop_old_locks(paths)
    opened = file_identity(paths.database)
    read_at_ms = clock.monotonic_ms() + _reading_interval_ms(every_s)
    thread = HeartbeatThread(
        lambda: open_store(paths.database),
        every_s=every_s,
        on_heartbeat=lambda times: _renew_files(paths, times),
    )
    thread.start()
    store = open_store(paths.database)
    proofs: dict[str, LifeLock] = {}
    try:
        while opened is not None and file_identity(paths.database) == opened:
            with store.read() as reader:
                workers = _local_workers(reader)
            for name in workers.keys() - proofs.keys():
                thread.put(Report(name, task=workers[name].task_id))
                proofs[name] = LifeLock(paths, name)
            for name in proofs.keys() - workers.keys():
                thread.put(Remove(name))
                proofs.pop(name).release()
            for proof in proofs.values():  # another holder may have ended since the last check
                proof.take()
            if not attend(store) and not proofs:
                break
            if clock.monotonic_ms() >= read_at_ms:
                settings = read_current_settings(paths, store)
                if settings is not None and settings.liveness_beat_s != every_s:
                    every_s = settings.liveness_beat_s
                    thread.put(ChangeInterval(every_s))
                read_at_ms = clock.monotonic_ms() + _reading_interval_ms(every_s)
            with suppress(GitWorkerError):  # a busy database: the next round starts the upkeep
                start_upkeep_job(store, os.path.dirname(paths.root))
            clock.sleep(CHECK_EVERY_S)
    finally:
        thread.stop()
        for proof in proofs.values():
            proof.release()
        store.close()
        os.close(fd)
    return True


def _reading_interval_ms(every_s: float) -> int:
    """Return how often the settings are read: with every heartbeat, but at least so often."""
    return int(min(every_s, READ_EVERY_S) * 1000)


def _take_lock(path: str) -> int | None:
    """Return the lock as an open descriptor; None while another process has it."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    for _ in range(TRIES):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            clock.sleep(TRY_EVERY_S)
            continue
        if _is_at(fd, path):
            return fd
        break  # another daemon deleted the file as an old lock; the next `start` tries again
    os.close(fd)
    return None


def _drop_old_locks(paths: StatePaths) -> None:
    """Delete the locks of other namespaces and boots that no process holds."""
    own = lock_path(paths)
    for name in os.listdir(paths.locks):
        path = f"{paths.locks}/{name}"
        if not name.startswith(LOCK_PREFIX) or path == own:
            continue
        with suppress(OSError):
            fd = os.open(path, os.O_RDWR)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(path)
            finally:
                os.close(fd)


def _is_at(fd: int, path: str) -> bool:
    """Return whether an open file is still the one at that path."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(fd), os.stat(path))
    return False


def _is_needed(paths: StatePaths) -> bool:
    if not os.path.exists(paths.database):
        return False
    store = open_store(paths.database)
    try:
        with store.read() as reader:
            lost = lost_runs(open_runs(reader), this_moment())
            return bool(lost.orphans or _local_workers(reader))
    finally:
        store.close()


def _local_workers(reader: Reader) -> dict[str, Worker]:
    moment = this_moment()
    return {w.worker_id: w for w in all_workers(reader) if _works_here(w, moment)}


def _renew_files(paths: StatePaths, times: dict[str, int]) -> None:
    for agent, ts_ms in times.items():
        update_state_file_heartbeat(paths, agent, ts_ms)


def _works_here(worker: Worker, moment: ClockReading) -> bool:
    """Return whether a worker's process belongs to our PID namespace and still runs."""
    return (
        has_heartbeats(worker.state)
        and worker.pid is not None
        and is_here(worker, moment)
        and is_running(worker.pid, worker.pid_start) is True
    )
