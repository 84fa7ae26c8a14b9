"""Agents that outlived their supervisor: told of, let go on, and given orders in its place.

The beater does it, and of that there is one. Each act also takes its row in the transaction in
which the signal is sent: a killed beater repeats what it had not recorded, nobody else does.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.agents.orders import Order, others_at_work, read_orders
from gitworker.agents.process.family import Family
from gitworker.agents.rules import PAUSE, RESUME, STOP, clipped, is_order, may_end
from gitworker.bus.files.export import export_logs
from gitworker.bus.following.bell import ring_bell
from gitworker.bus.message_ids import new_id
from gitworker.errors import GitWorkerError
from gitworker.liveness.readings import Lost, lost_runs, this_moment

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.api import Reader, Row, Store, Writer

KILL_AGAIN_MS = 1000
FOUND = "its supervisor was killed: it goes on, its output is kept no more, orders are still obeyed"


class Keeper:
    """Looks after the agents without a supervisor, as often as somebody asks it to.

    `open_session` is called once there is one.
    """

    def __init__(self, open_session: Callable[[], Session]) -> None:
        self._open_session = open_session
        self._session: Session | None = None

    def attend(self, store: Store) -> bool:
        """Do what is to be done now; tell whether there are such agents."""
        with store.read() as reader:
            lost = lost_runs(reader.rows("runs.open"), this_moment())
        if lost.orphans or lost.over:
            with suppress(GitWorkerError, OSError):  # the next look tries again
                self._attend(lost)
        return bool(lost.orphans)

    def _attend(self, lost: Lost) -> None:
        if self._session is None:
            self._session = self._open_session()
        session = self._session
        for run in lost.orphans:
            _Orphan(session, run).attend()
        if lost.over:
            from gitworker.lifecycle.runs import settle_runs  # 20 ms, and other beaters' memory

            settle_runs(session, lost.over)
        with suppress(OSError):  # the next command brings them up to date
            export_logs(session.store, session.paths)
        ring_bell(session.paths.bell)


class _Orphan:
    """One agent without a supervisor, at one look."""

    def __init__(self, session: Session, run: Row) -> None:
        self._session = session
        self._store = session.store
        self._run = run
        self._worker = str(run["worker_id"])
        self._is_paused = run["paused_at_ms"] is not None
        self._family = Family(run["pid"], run["pid_start"], worktree="", adopts=False)
        self._spare = others_at_work(self._store, run["id"])

    def attend(self) -> None:
        """Find it, carry out what it was ordered, kill it when that is due, tell its end."""
        with self._store.read() as reader:
            row = reader.row("orphans.of_run", run=self._run["id"])
            if row is not None:
                after = max(row["after_seq"], self._carried_out(reader))
                orders = read_orders(reader, self._session.paths, worker=self._worker, after=after)
        if row is None:
            self._find()
            return
        for order in orders:
            self._obey(order)
        if self._run["why"] and not self._family.groups(self._spare):
            self._end()
        elif row["kill_at_mono_ms"] is not None:
            self._kill()

    def _find(self) -> None:
        """Begin to look after it: let it go on where its supervisor had stopped it, and say so."""
        run = self._run
        with self._store.write() as writer:
            if not writer.run("orphans.claim", run=run["id"], after=self._position(writer)):
                return
            self._family.send(signal.SIGCONT, self._spare)
            self._is_paused = False
            self._log(writer, "orphan", FOUND, level="warn")

    def _position(self, writer: Writer) -> int:
        """Return behind which message orders count that nobody has carried out."""
        began = writer.row(
            "orphans.began_at",
            worker=self._worker, started_at_ms=self._run["started_at_ms"], run=self._run["id"],
        )  # fmt: skip
        if began is None:  # pruned: what was sent so far may be older than the run
            began = writer.row("messages.last_seq")
        assert began is not None
        return max(int(began["seq"]), self._carried_out(writer))

    def _carried_out(self, reader: Reader) -> int:
        row = reader.row("messages.cursor", agent=f"{self._worker}.supervisor")
        return int(row["seq"]) if row else 0

    def _obey(self, order: Order) -> None:
        """Carry out one order, unless somebody has.

        The signal is sent while we hold the bus: nobody of the agent's is stopped with it in hand.
        """
        with self._store.write() as writer:
            if not writer.run("orphans.pass_order", run=self._run["id"], seq=order.seq):
                return
            self._carry_out(writer, order)
            writer.run(
                "messages.ack",
                agent=f"{self._worker}.supervisor", seq=order.seq, now=clock.now_ms(),
            )  # fmt: skip

    def _carry_out(self, writer: Writer, order: Order) -> None:
        command = order.command
        if not is_order(command):
            text = f"{clipped(command) or 'nothing'} is no order"
            self._log(writer, "order", text, level="warn", order=order)
            return
        if command == STOP:
            self._stop(writer, f"stopped by {order.told}")
        elif command == PAUSE and not self._is_paused:
            self._family.send(signal.SIGSTOP, self._spare)
            self._is_paused = True
        elif command == RESUME:  # also one that has stopped itself
            self._family.send(signal.SIGCONT, self._spare)
            self._is_paused = False
        self._log(writer, str(command), order.told, order=order)

    def _stop(self, writer: Writer, why: str) -> None:
        grace_ms = int(self._session.settings.agent_stop_grace_s * 1000)
        due = clock.monotonic_ms() + grace_ms
        if writer.run("orphans.stop", run=self._run["id"], why=why, kill_at_mono_ms=due):
            self._family.send(signal.SIGTERM, self._spare)
            self._family.send(signal.SIGCONT, self._spare)
            self._is_paused = False

    def _kill(self) -> None:
        now = clock.monotonic_ms()
        with self._store.write() as writer:
            again = now + KILL_AGAIN_MS
            if writer.run("orphans.put_off_kill", run=self._run["id"], now=now, again=again):
                self._family.send(signal.SIGKILL, self._spare)

    def _end(self) -> None:
        """Tell that it has ended as it was told to, and end the work in its seat."""
        from gitworker.lifecycle.fail import stop  # 20 ms, and other beaters' memory
        from gitworker.lifecycle.runs import settle_runs

        run = self._run
        with self._store.read() as reader:
            seat = reader.row("workers.by_id", worker=self._worker)
        if seat is not None:
            is_ours = seat["task_id"] == run["task_id"] and seat["pid"] == run["pid"]
            if may_end(seat["state"], is_ours=is_ours):
                acting = self._session._replace(actor=self._worker)
                with suppress(GitWorkerError):  # somebody else's act stands
                    stop(acting, self._worker, reason=str(run["why"]))
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
        writer.run(
            "runs.publish_log",
            id=new_id(), now=now, worker=self._worker, task=self._run["task_id"],
            in_reply_to=order.id if order else None, level=level, event=event, message=message,
        )  # fmt: skip
        paused_at_ms = (self._run["paused_at_ms"] or now) if self._is_paused else None
        writer.run("runs.set_paused", run=self._run["id"], paused_at_ms=paused_at_ms)
