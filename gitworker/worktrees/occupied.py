"""Find processes that use a worktree, on this host or as far as another host reports them.

A command checks before it plans to move a worktree and again right before the move. Recovery
checks too.
"""

import os

from gitworker import clock
from gitworker.errors import Refused
from gitworker.liveness.life_lock import is_life_locked
from gitworker.liveness.processes import calls_us, occupants_of
from gitworker.liveness.readings import is_here, process_runs, this_moment
from gitworker.liveness.supervised_agent import fresh_for_ms, living_agent, may_live
from gitworker.paths import read_worktree_owner
from gitworker.rules_text import quoted
from gitworker.session import Session
from gitworker.store.records.runs import find_latest_run
from gitworker.store.workers import Worker, find_worker


def occupants(worker: Worker) -> list[int]:
    """Return the pids of processes whose working directory is the worker's worktree.

    Waits briefly for maintenance that git starts there by itself after a commit.
    """
    return occupants_of(worker.worktree) if worker.worktree else []


def distant_process(session: Session, worker: Worker) -> int | None:
    """Return a worker's process of another PID namespace, host or boot if it counts as alive.

    It does as long as it has a lock or a fresh heartbeat, and no end was recorded.
    """
    if worker.pid is None or worker.worktree is None or is_here(worker, this_moment()):
        return None
    with session.store.read() as reader:
        run = find_latest_run(reader, worker.worker_id)
        if run is not None and run.pid == worker.pid and run.ended_at_ms is not None:
            return None
        fresh_ms = session.settings.liveness_stale_s * 1000
        lives = may_live(reader, session.paths, worker.worker_id, fresh_ms=fresh_ms)
    return worker.pid if lives else None


def refuse_occupied(session: Session, worker: Worker) -> None:
    """Raise Refused if a process works in the worktree of a worker."""
    if worker.worktree is None:
        return
    pids = occupants(worker)
    hint = _stop_hint(session, worker) if pids else None
    _refuse_processes(session, worker.worktree, pids, hint=hint)
    pid = distant_process(session, worker)
    if pid is not None:
        raise _distant_refusal(session, worker)


def refuse_running(session: Session, worker: Worker) -> None:
    """Raise Refused if the recorded process of a worker runs, and is not above the caller."""
    runs = process_runs(worker, this_moment(), session.paths)
    if runs and worker.pid is not None and not calls_us(worker.pid, worker.pid_start):
        raise Refused(
            f"process {worker.pid} of {worker.worker_id} is running",
            _stop_hint(session, worker) or f"git worker show {worker.worker_id}",
            code="occupied",
        )


def refuse_move(session: Session, worktree: str, admin_dir: str | None) -> None:
    """Raise Refused if a worktree that is about to be moved is in use, by any worker."""
    owner = read_worktree_owner(admin_dir) if admin_dir is not None else None
    worker = None
    if owner is not None:
        with session.store.read() as reader:
            worker = find_worker(reader, owner[0])
    if worker is not None and worker.worktree == worktree and os.path.isdir(worktree):
        refuse_occupied(session, worker)
    else:
        _refuse_processes(session, worktree, occupants_of(worktree))


def _distant_refusal(session: Session, worker: Worker) -> Refused:
    """Return the error for a process that cannot be seen.

    No order reaches a process of an earlier boot: once its last heartbeat is old, it has ended.
    """
    name, pid = worker.worker_id, worker.pid
    is_of_this_boot = worker.boot_id == clock.boot_id()
    if not is_of_this_boot and not is_life_locked(session.paths, name):
        fresh_ms = session.settings.liveness_stale_s * 1000
        with session.store.read() as reader:
            left_s = max(1, -(-fresh_for_ms(reader, name, fresh_ms=fresh_ms) // 1000))
        return Refused(
            f"process {pid} of {name}, of an earlier boot or of another host ({worker.host}),"
            f" counts as alive for {left_s} more seconds",
            f"sleep {left_s} && git worker show {name}   # and run the command again",
            code="occupied",
        )
    return Refused(
        f"process {pid} of {name} runs in another PID namespace or on another host"
        f" ({worker.host}), and has a fresh heartbeat or holds its lock",
        f"git worker stop {name}   # or end it there, and run the command again",
        code="occupied",
    )


def _stop_hint(session: Session, worker: Worker) -> str | None:
    """Return the command that ends a worker's supervised agent; None if it has none."""
    with session.store.read() as reader:
        run = find_latest_run(reader, worker.worker_id)
        lives = living_agent(reader, session.paths, run) is not None
    return f"git worker stop {worker.worker_id}   # and run the command again" if lives else None


def _refuse_processes(
    session: Session, worktree: str, pids: list[int], *, hint: str | None = None
) -> None:
    if not pids:
        return
    shown = [str(pid) for pid in pids[:5]]
    if hint is None and all(calls_us(pid, None) for pid in pids):
        hint = f"cd {quoted(session.main_top)}   # and run the command again"
    raise Refused(
        f"a process has its working directory in {worktree} (pid {', '.join(shown)})",
        hint or f"ps -fp {','.join(shown)}   # end it, and run the command again",
        code="occupied",
    )
