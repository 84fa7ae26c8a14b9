"""Agents that outlived their supervisor: report them, let them continue, carry out their orders.

The heartbeat daemon does this, one per PID namespace. Each action also updates its row in the
transaction that sends the signal: a killed daemon repeats only actions that it had not recorded.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.agents.orders import Order, others_at_work, read_orders
from gitworker.agents.process.agent_processes import AgentProcesses
from gitworker.agents.rules_run import clipped, is_order, may_end
from gitworker.bus.files.export import export_logs
from gitworker.bus.following.notify_followers import notify_followers
from gitworker.bus.publish import log_message, publish
from gitworker.errors import Conflict, GitWorkerError
from gitworker.liveness.current_settings import read_current_settings
from gitworker.liveness.readings import LostRuns, lost_runs, this_moment
from gitworker.model.message import PAUSE, RESUME, STOP
from gitworker.store.messages.mailbox import cursor_of, move_cursor, newest_seq
from gitworker.store.records.runs import (
    claim_orphan,
    find_orphan,
    find_start_message,
    open_runs,
    pass_order,
    put_off_kill,
    record_stop,
    set_paused,
)
from gitworker.store.workers import find_worker

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.api import Reader, Store, Writer
    from gitworker.store.records.runs import Run

KILL_AGAIN_MS = 1000
FOUND = "supervisor died: the agent keeps running, commands still work"


class OrphanSupervisor:
    """Look after the agents without a supervisor, each time `attend` is called.

    `open_session` is called when the first one is found.
    """

    def __init__(self, open_session: Callable[[], Session]) -> None:
        self._open_session = open_session
        self._session: Session | None = None

    def attend(self, store: Store) -> bool:
        """Do the work that is due; return True if there are such agents."""
        with store.read() as reader:
            lost = lost_runs(open_runs(reader), this_moment())
        if lost.orphans or lost.over:
            with suppress(GitWorkerError, OSError):  # the next call tries again
                self._attend(lost)
        return bool(lost.orphans)

    def _attend(self, lost: LostRuns) -> None:
        if self._session is None:
            self._session = self._open_session()
        session = self._session
        for run in lost.orphans:
            _Orphan(session, run).attend()
        if lost.over:
            from gitworker.lifecycle.runs import settle_runs  # 20 ms, and memory of every daemon

            settle_runs(session, lost.over)
        with suppress(OSError):  # the next command brings them up to date
            export_logs(session.store, session.paths)
        notify_followers(session.paths.bell)


class _Orphan:
    """One agent without a supervisor, at one moment."""

    def __init__(self, session: Session, run: Run) -> None:
        self._session = session
        self._store = session.store
        self._settings = session.settings
        self._run = run
        self._worker = run.worker_id
        self._is_paused = run.paused_at_ms is not None
        assert run.pid is not None
        self._family = AgentProcesses(run.pid, run.pid_start, worktree="", adopts=False)
        self._excluded = others_at_work(self._store, run.id)

    def attend(self) -> None:
        """Adopt it, carry out its orders, kill it when due, record its end."""
        with self._store.read() as reader:
            orphan = find_orphan(reader, self._run.id)
            if orphan is not None:
                after = max(orphan.after_seq, self._carried_out(reader))
                orders = read_orders(reader, self._session.paths, worker=self._worker, after=after)
        if orphan is None:
            self._adopt()
            return
        if any(order.command == STOP for order in orders):
            now = read_current_settings(self._session.paths, self._store)
            self._settings = now or self._settings
        for order in orders:
            self._take_order(order)
        if not (self._run.why or orphan.why):
            self._stop_late()
        if self._run.why and not self._family.groups(self._excluded):
            self._end()
        elif orphan.kill_at_mono_ms is not None:
            self._kill()

    def _stop_late(self) -> None:
        """Stop the agent once the time limit of its run is over, which its supervisor watched."""
        import json

        from gitworker.store.records.run_results import find_run_request  # memory of every daemon

        with self._store.read() as reader:
            request = find_run_request(reader, self._worker, self._run.task_id)
        limit_s = json.loads(request)["time_limit_s"] if request else None
        if limit_s is None or clock.now_ms() - self._run.started_at_ms < limit_s * 1000:
            return
        with self._store.write() as writer:
            self._stop(writer, f"the time limit of {limit_s:g} s was reached", pauses=False)

    def _adopt(self) -> None:
        """Take the agent over: let it continue if its supervisor had stopped it, and report it."""
        with self._store.write() as writer:
            if not claim_orphan(writer, self._run.id, after=self._position(writer)):
                return
            self._family.send(signal.SIGCONT, self._excluded)
            self._is_paused = False
            self._log(writer, "orphan", FOUND, level="warn")

    def _position(self, writer: Writer) -> int:
        """Return the position after which orders are not carried out yet."""
        began = find_start_message(writer, self._run)
        if began is None:  # pruned: messages sent so far may be older than the run
            began = newest_seq(writer)
        return max(began, self._carried_out(writer))

    def _carried_out(self, reader: Reader) -> int:
        return cursor_of(reader, f"{self._worker}.supervisor")

    def _take_order(self, order: Order) -> None:
        """Carry out one order, unless another process did.

        The signal is sent while we hold the write lock, so no process of the agent is stopped in
        the middle of a write.
        """
        with self._store.write() as writer:
            if not pass_order(writer, self._run.id, order.seq):
                return
            self._carry_out(writer, order)
            move_cursor(writer, f"{self._worker}.supervisor", order.seq, now=clock.now_ms())

    def _carry_out(self, writer: Writer, order: Order) -> None:
        command = order.command
        if not is_order(command):
            text = f"{clipped(command) or 'nothing'} is not an order"
            self._log(writer, "order", text, level="warn", order=order)
            return
        if command == STOP:
            self._stop(writer, f"stopped by {order.origin}", pauses=order.pauses)
        elif command == PAUSE and not self._is_paused:
            self._family.send(signal.SIGSTOP, self._excluded)
            self._is_paused = True
        elif command == RESUME:  # also for an agent that has stopped itself
            self._family.send(signal.SIGCONT, self._excluded)
            self._is_paused = False
        self._log(writer, str(command), order.origin, order=order)

    def _stop(self, writer: Writer, why: str, *, pauses: bool) -> None:
        grace_ms = int(self._settings.agent_stop_grace_s * 1000)
        due = clock.monotonic_ms() + grace_ms
        if record_stop(writer, self._run.id, why=why, kill_at_mono_ms=due, pauses=pauses):
            self._family.send(signal.SIGTERM, self._excluded)
            self._family.send(signal.SIGCONT, self._excluded)
            self._is_paused = False

    def _kill(self) -> None:
        now = clock.monotonic_ms()
        with self._store.write() as writer:
            again = now + KILL_AGAIN_MS
            if put_off_kill(writer, self._run.id, now_mono_ms=now, again_mono_ms=again):
                self._family.send(signal.SIGKILL, self._excluded)

    def _end(self) -> None:
        """Record the ordered end of the agent, and end its worker's task."""
        from gitworker.lifecycle.fail import pause, stop  # 20 ms, and memory of every daemon
        from gitworker.lifecycle.runs import settle_runs

        run = self._run
        with self._store.read() as reader:
            worker = find_worker(reader, self._worker)
        if worker is not None:
            is_ours = worker.task_id == run.task_id and worker.pid == run.pid
            if may_end(worker.state, is_ours=is_ours):
                as_worker = self._session._replace(actor=self._worker)
                try:
                    if run.pauses:
                        pause(as_worker, self._worker, until_ms=clock.now_ms())
                    else:
                        stop(as_worker, self._worker, reason=str(run.why))
                except Conflict:  # another command changes the worker: the next look repeats it
                    return
                except GitWorkerError:  # it is not at work any more
                    pass
        settle_runs(self._session, [run])

    def _log(
        self,
        writer: Writer,
        event: str,
        message: str,
        *,
        level: str = "info",
        order: Order | None = None,
    ) -> None:
        now = clock.now_ms()
        answered = order.id if order else None
        entry = log_message(
            self._worker, self._run.task_id, event, message, level=level, in_reply_to=answered
        )
        publish(writer, entry, now=now)
        since_ms = (self._run.paused_at_ms or now) if self._is_paused else None
        set_paused(writer, self._run.id, since_ms=since_ms)
