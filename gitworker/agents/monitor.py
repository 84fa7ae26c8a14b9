"""Monitor a running agent: pass signals on, carry out orders from the bus, notice its end."""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress

from gitworker import clock
from gitworker.agents.orders import others_at_work, read_orders
from gitworker.agents.process.agent_processes import AgentProcesses, reap
from gitworker.agents.process.signals import ENDING, PASSED_ON, SUSPENDING
from gitworker.agents.rules_run import clipped, is_order
from gitworker.bus.files.export import export_logs
from gitworker.bus.following.notify_followers import notify_followers
from gitworker.bus.publish import log_message, publish
from gitworker.errors import GitWorkerError
from gitworker.model.message import PAUSE, RESUME, STOP
from gitworker.store.messages.mailbox import move_cursor
from gitworker.store.records.runs import claim_orphan, record_stop, set_paused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gitworker.agents.launch import AgentRun, LaunchContext
    from gitworker.agents.orders import Order
    from gitworker.agents.process.signals import Signals
    from gitworker.agents.process.streams import Streams
    from gitworker.agents.run_heartbeats import RunHeartbeats
    from gitworker.store.api import Waker

POLL_S = 2.0
POLL_AFTER_NEWS_S = 0.02  # after news, so that a busy bus costs a supervisor little
POLL_UNREADABLE_S = 0.25  # while the bus cannot be read
LEFT_S = 2.0  # for so long processes are killed again before they are left alone
REST_S = 2.0  # between TERM and KILL for the agent's children, once it has ended


class Monitor:
    """One agent, from its start to its end; `why` is the reason if it was stopped.

    `pauses`: a budget is used up, so its task is paused. `spent` returns the budget, "" while there
    are tokens left; it is called at once after SIGCHLD.
    Orders are read from a position of the supervisor's own: the agent's cursor never moves, and
    messages from before the run do not count. `{worker}.supervisor` acknowledges them. `looks` are
    called at least every two seconds. `ends_itself`: the agent's own process ends the others.
    """

    def __init__(
        self,
        post: LaunchContext,
        run: AgentRun,
        *,
        signals: Signals,
        streams: Streams,
        heartbeats: RunHeartbeats,
        looks: Sequence[Callable[[], object]] = (),
        spent: Callable[[], str] = str,
        ends_itself: bool = False,
    ) -> None:
        self.why = ""
        self.is_late = False  # True if the time limit stopped it
        self.pauses = False
        self._post = post
        self._run = run
        self._signals = signals
        self._streams = streams
        self._heartbeats = heartbeats
        self._looks = looks
        self._spent = spent
        self._ends_itself = ends_itself
        self._family = AgentProcesses(run.pid, run.pid_start, worktree=run.worktree, adopts=True)
        self._code: int | None = None
        self._after = run.after
        self._grace_s: Callable[[], float] = float
        self._limit_s = 0.0
        self._limit_at_ms: int | None = None
        self._kill_at_ms: int | None = None
        self._is_paused = False

    def until_end(
        self, waker: Waker | None, *, grace_s: Callable[[], float], limit_s: float | None
    ) -> int:
        """Watch until the agent ends; return its code (negative: the signal that ended it).

        `grace_s` is called at a stop: the time that the agent has to end by itself.
        """
        self._grace_s = grace_s
        if limit_s is not None:
            self._limit_s = limit_s
            self._limit_at_ms = self._run.started_mono_ms + int(limit_s * 1000)
        has_news = True
        while self._code is None:
            self._take_signals()
            if has_news and self._code is None:
                self._take_orders()
            self._keep_time()
            if self._code is None and (why := self._spent()):
                self._stop(why, pauses=True)
            for look in self._looks:
                look()
            if self._code is None:
                has_news = self._wait(waker, after_news=has_news)
        self._end_the_rest()
        return self._code

    def _wait(self, waker: Waker | None, *, after_news: bool) -> bool:
        """Wait for a signal, news on the bus or a deadline; return True if the bus must be read.

        `after_news` is set after news: on a busy bus not every message needs to wake us.
        """
        due = [at for at in (self._limit_at_ms, self._kill_at_ms) if at is not None]
        left_s = (min(due) - clock.monotonic_ms()) / 1000 if due else POLL_S
        timeout_s = min(max(left_s, 0.0), POLL_S)
        fd = self._signals.fileno()
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        if after_news and poll.poll(min(timeout_s, POLL_AFTER_NEWS_S) * 1000):
            return False
        try:
            if waker is not None:
                return waker.wait(timeout_s, also={fd: select.POLLIN})
        except GitWorkerError:  # a busy or missing database must not stop the agent
            pass
        poll.poll(min(timeout_s, POLL_UNREADABLE_S) * 1000)
        return True

    def _take_signals(self) -> None:
        for number in self._signals.take():
            if number == signal.SIGCHLD:
                self._code = reap().get(self._run.pid, self._code)
            elif number == signal.SIGWINCH:
                if self._streams.terminal is not None:
                    self._streams.terminal.resize()
            elif number == SUSPENDING:
                self._suspend()
            elif number in PASSED_ON:
                self._pass_on(number)

    def _send(self, number: int) -> None:
        if self._ends_itself and number in ENDING:
            with suppress(ProcessLookupError):
                os.kill(self._run.pid, number)
            return
        self._family.send(number, others_at_work(self._post.store, self._run.id))

    def _pass_on(self, number: int) -> None:
        was_paused = self._is_paused
        self._send(number)
        if was_paused or number in ENDING:  # a stopped process handles no signal until SIGCONT
            self._continue()
        if was_paused:
            self._record_continue()

    def _suspend(self) -> None:
        """Stop together with our caller's job, the agent too; both continue together."""
        try:
            self._suspend_agent()
        except GitWorkerError:  # if the bus cannot be written, no process of the agent holds it
            self._send(signal.SIGSTOP)
        self._heartbeats.pause()  # otherwise we might be stopped in the middle of our own write
        self._streams.restore()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._streams.resume()
        self._heartbeats.start()
        if not self._is_paused:
            self._send(signal.SIGCONT)

    def _take_orders(self) -> None:
        try:
            while orders := self._read_orders():
                for order in orders:
                    self._carry_out(order)
                    self._after = order.seq
                self._publish()
        except GitWorkerError:  # the next check reads them again
            return

    def _read_orders(self) -> list[Order]:
        post = self._post
        with post.store.read() as reader:
            return read_orders(reader, post.paths, worker=self._run.worker, after=self._after)

    def _carry_out(self, order: Order) -> None:
        command = order.command
        if not is_order(command):
            self._log("warn", "order", f"{clipped(command) or 'nothing'} is not an order", order)
            return
        if command == STOP:
            self._stop(f"stopped by {order.origin}", pauses=order.pauses)
        elif command == PAUSE and not self._is_paused:
            self._suspend_agent()
            self._is_paused = True
        elif command == RESUME:  # also for an agent that has stopped itself
            self._continue()
        self._log("info", str(command), order.origin, order)

    def _suspend_agent(self) -> None:
        """Stop the agent's processes while none of them is writing to the bus.

        We hold the write lock meanwhile: a process stopped during a write would block all others.
        """
        excluded = others_at_work(self._post.store, self._run.id)
        with self._post.store.write(durable=False):
            self._family.send(signal.SIGSTOP, excluded)

    def _stop(self, why: str, *, pauses: bool = False) -> None:
        """Ask the agent to end, and kill it after the grace period; the first reason counts."""
        if self._kill_at_ms is not None:
            return
        self.why, self.pauses = why, pauses
        stopped_at_ms = clock.monotonic_ms()
        self._pass_on(signal.SIGTERM)
        self._kill_at_ms = stopped_at_ms + int(self._grace_s() * 1000)
        self._record_stop()

    def _record_stop(self) -> None:
        """Record the stop, so that the process that takes over after our death completes it."""
        run = self._run.id
        try:
            with self._post.store.write(durable=False) as writer:
                claim_orphan(writer, run, after=self._after)
                record_stop(
                    writer, run, why=self.why, kill_at_mono_ms=self._kill_at_ms, pauses=self.pauses
                )
        except GitWorkerError:  # the bus cannot be written: the stop depends on us alone
            return

    def _continue(self) -> None:
        self._is_paused = False
        self._send(signal.SIGCONT)

    def _record_continue(self) -> None:
        try:
            with self._post.store.write(durable=False) as writer:
                set_paused(writer, self._run.id, since_ms=None)
        except GitWorkerError:  # it is shown as paused while the bus cannot be written
            return

    def _keep_time(self) -> None:
        now = clock.monotonic_ms()
        if self._limit_at_ms is not None and now >= self._limit_at_ms:
            self._limit_at_ms = None
            self.is_late = not self.why
            self._stop(f"the time limit of {self._limit_s:g} s was reached")
        if self._kill_at_ms is not None and now >= self._kill_at_ms:
            self._kill_at_ms = now + 1000  # again, for processes started between check and signal
            self._send(signal.SIGKILL)

    def _log(self, level: str, event: str, message: str, order: Order | None) -> None:
        """Publish the outcome of an order, acknowledge it, and record since when it is paused.

        One transaction: the process that takes over after our death repeats no order.
        """
        run = self._run
        now = clock.now_ms()
        answered = order.id if order else None
        entry = log_message(run.worker, run.task, event, message, level=level, in_reply_to=answered)
        with self._post.store.write() as writer:
            publish(writer, entry, now=now)
            set_paused(writer, run.id, since_ms=now if self._is_paused else None)
            if order is not None:
                move_cursor(writer, f"{run.worker}.supervisor", order.seq, now=now)

    def _publish(self) -> None:
        try:
            export_logs(self._post.store, self._post.paths)
            notify_followers(self._post.paths.bell)
        except OSError:  # the next writer brings them up to date
            return

    def _end_the_rest(self) -> None:
        """End the processes that the agent left running, and reap them."""
        family = self._family
        excluded = others_at_work(self._post.store, self._run.id)
        if not family.groups(excluded):
            reap()
            return
        family.send(signal.SIGTERM, excluded)
        family.send(signal.SIGCONT, excluded)
        deadline = clock.monotonic_ms() + int(REST_S * 1000)
        poll = select.poll()
        poll.register(self._signals.fileno(), select.POLLIN)
        while groups := family.groups(excluded):
            late_ms = clock.monotonic_ms() - deadline
            if late_ms >= LEFT_S * 1000:
                self._report_left(groups)
                break
            if late_ms >= 0:
                family.send(signal.SIGKILL, excluded)
            poll.poll(50)
            self._signals.take()
            reap()
        reap()

    def _report_left(self, groups: set[int]) -> None:
        """Report the process groups that remain: stuck ones, or of another user (`sudo`)."""
        names = ", ".join(map(str, sorted(groups)))
        try:
            self._log("warn", "leftover", f"could not be ended: process group {names}", None)
        except GitWorkerError:  # the run's end still counts
            return
