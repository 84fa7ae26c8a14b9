"""The link's connection to the fleet: the replica on one side, PostgreSQL on the other."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gitworker import clock
from gitworker.crashpoint import crash_point
from gitworker.errors import (
    HAS_LEFT,
    UNKNOWN,
    UNREACHABLE,
    Conflict,
    GitWorkerError,
    Unavailable,
)
from gitworker.link.heartbeats import receive_heartbeats, receive_last_reports, report_machine
from gitworker.link.payloads import bring_payloads, read_payloads, refs_of
from gitworker.liveness.life_lock import LANDS, is_life_locked
from gitworker.liveness.process_origin import is_local, origin_of, this_origin
from gitworker.processes.table import is_running
from gitworker.store.fleet.changes import from_json, to_json
from gitworker.store.fleet.link_client import lost
from gitworker.store.fleet.link_replica import LinkReplica
from gitworker.store.fleet.machines import put_off_hand_ins
from gitworker.store.fleet.replica import LogEntry
from gitworker.store.postgres.errors import DENIED, NEWER, SERVER_UNAVAILABLE
from gitworker.store.postgres.migrate import bring_forward
from gitworker.store.postgres.server import ENTRIES_AT_ONCE, FleetServer, NewEntry
from gitworker.store.records.runs import open_runs

if TYPE_CHECKING:
    from collections.abc import Callable

    from gitworker.paths import StatePaths
    from gitworker.store.api import Writer
    from gitworker.store.postgres.server import Begun
    from gitworker.store.records.runs import Run

RETRY_MS = 2_000
FRESH_MS = 10_000  # the link reports each five seconds, which shows that the connection lives
STUCK_MS = 30_000
POLL_MS = 900  # without notifications


class FleetConnection:
    """Reads and writes the fleet's log for all commands of this machine."""

    def __init__(self, paths: StatePaths) -> None:
        self.paths = paths
        self.replica = LinkReplica(paths.database)
        if not self.replica.machine:
            raise Unavailable("this repository is in no fleet", "git worker fleet status")
        self.machine = self.replica.machine
        self._server: FleetServer | None = None
        self._failure: Unavailable | None = None
        self._failed_ms = 0
        self._lost_ms: int | None = None  # when the connection was lost
        self._read_ms = 0
        # A job has work: others have changed workers, or a hand-in was put off.
        self.is_behind = self._has_left_work()
        self.has_lines = False  # the log files are behind the replica
        self.is_outdated = False  # a newer program has migrated the fleet
        self.now_ms = 0  # the server's clock, when it was last asked

    def fileno(self) -> int:
        """Return the descriptor of the connection to the server; -1 without one."""
        return (
            -1 if self._server is None or self._server.connection.closed else self._server.fileno()
        )

    def close(self) -> None:
        """Close both sides."""
        if self._server is not None:
            self._server.close()
        self.export()
        self.replica.close()

    def state(self) -> dict[str, Any]:
        """Return the position of the replica, for `fleet status`."""
        return {
            "position": self.replica.position, "machine": self.machine,
            "now_ms": self.now_ms, "polls": self._polls(),
        }  # fmt: skip

    def rights(self) -> dict[str, Any]:
        """Return the tables that our role may not read and write, and the hint that helps."""
        server = self._reach()
        with self._watched(server):
            return {
                "role": server.role, "tables": server.forbidden_tables(), "grant": server.grant
            }  # fmt: skip

    def has_left(self) -> bool:
        """Return whether this machine has left the fleet of this connection, or joined another.

        Also if a newer program has migrated the replica: it starts a link of its own.
        """
        return not self.replica.belongs()

    def has_work(self) -> bool:
        """Return whether agents run on this machine, whose heartbeats the link reports."""
        here = this_origin()
        return any(
            is_running(run.supervisor_pid, run.supervisor_start) or _agent_runs(run)
            for run in open_runs(self.replica)
            if is_local(origin_of(run), here)
        )

    def is_stuck(self) -> bool:
        """Return whether there has been no connection to the server for long."""
        return self._lost_ms is not None and clock.monotonic_ms() - self._lost_ms >= STUCK_MS

    def has_news(self) -> bool:
        """Return whether another machine may have written; connect again if the time has come."""
        server = self._reach()
        if self._polls() and clock.monotonic_ms() - self._read_ms < POLL_MS:
            return False
        return server.has_news()

    def _polls(self) -> bool:
        """Return whether no notifications arrive, since there is a pooler in between."""
        return self._server is not None and not self._server.is_notified

    def begin(self) -> None:
        """Take the fleet's lock and bring the replica up to date.

        Raises Unavailable for a machine that has left, which was killed in the middle of that.
        """
        server = self._reach()
        with self._watched(server):
            self._receive(server.begin(self.replica.position), server)
            if not self.replica.is_member():
                raise Unavailable(
                    "this machine has left the fleet, and was killed before it had noted that",
                    "git worker fleet leave",
                    code=HAS_LEFT,
                )

    def cancel(self) -> None:
        """Release the lock; nothing is written."""
        if self._server is not None:
            self._server.cancel()

    def commit(
        self, shared: str, own: str, *, durable: bool, of: str = "fleet", mark: str = ""
    ) -> int:
        """Write changes to the log, then to the replica; return the position.

        `of` begins the names of the points at which tests kill us, `mark` is the name by which the
        entry is found if its writer does not get the answer. Raises Unavailable (`fleet_unknown`)
        if the connection is lost before the answer.
        """
        server = self._server
        if server is None:
            raise lost()
        mark = mark or os.urandom(16).hex()
        changes = from_json(shared)
        crash_point(f"{of}-before-commit")
        try:
            payloads = read_payloads(self.paths.blobs, refs_of(changes))
            new = NewEntry(self.machine, changes, own, payloads)
            position = server.commit(mark, new, durable=durable)
        except GitWorkerError as error:
            if error.code != SERVER_UNAVAILABLE:  # the server says that it was not written
                server.cancel()
                raise
            position = self._position_of(mark, error)
        crash_point(f"{of}-after-commit")
        entry = LogEntry(position, self.machine, changes, from_json(own))
        if self.replica.position == position - 1:
            self._apply_own(entry)
            self._show([entry])
        elif self.replica.position < position:
            self.catch_up(fresh=True)
        return position

    def _apply_own(self, entry: LogEntry) -> None:
        """Apply a change that the fleet has; say so if that is not possible, on a full disk."""
        try:
            self.replica.apply([entry], is_answer=True)
        except Unavailable as error:
            raise Unavailable(
                f"the fleet has the change, but bus.db here has not yet: {error.message}",
                error.hint,
                code=error.code,
            ) from error

    def _position_of(self, mark: str, error: GitWorkerError) -> int:
        """Ask a new connection whether an entry was written; raise what is to be said if not."""
        self._lose(error)
        self._failed_ms = 0
        try:
            found = self.find(mark)
        except (Unavailable, Conflict) as again:
            raise Unavailable(
                "the connection to the fleet was lost while it wrote; whether the change was"
                " recorded is known as soon as PostgreSQL answers again",
                "git worker fleet status",
                code=UNKNOWN,
            ) from again
        if found is None:
            raise lost()
        return found

    def find(self, mark: str) -> int | None:
        """Return the position of the entry with a mark, which the replica has then, or None.

        With the fleet's lock: a lost connection may still be writing.
        """
        server = self._reach()
        try:
            with self._watched(server):
                self._receive(server.begin(self.replica.position), server)
                return server.find_mark(mark)
        finally:
            self.cancel()

    def write(self, body: Callable[[Writer, int], None], *, of: str, durable: bool = True) -> None:
        """Run a transaction of the link itself; `body` gets the replica and the server's time."""
        self.begin()
        try:
            shared, own = self.replica.record(body, self.now_ms)
        except BaseException:
            self.cancel()
            raise
        if shared:
            self.commit(to_json(shared), to_json(own), durable=durable, of=of)
        else:
            self.cancel()

    def report(self) -> None:
        """Extend the lease of this machine, with the heartbeats of its workers."""
        position, lands = self.replica.position, is_life_locked(self.paths, LANDS)

        def body(writer: Writer, now_ms: int) -> None:
            report_machine(writer, self.machine, position=position, now_ms=now_ms, lands=lands)

        self.write(body, of="beat", durable=False)
        self.is_behind = self.is_behind or self._has_left_work()

    def _has_left_work(self) -> bool:
        """Return whether an earlier link, or a job that was killed, has left work for the job."""
        return not self.replica.is_followed() or bool(put_off_hand_ins(self.replica))

    def prune(self) -> None:
        """Delete the entries that no machine needs."""
        self._reach().prune()

    def catch_up(self, *, fresh: bool = False) -> None:
        """Bring the replica up to date without the lock."""
        server = self._reach()
        now = clock.monotonic_ms()
        if not fresh and now - self._read_ms < FRESH_MS and not server.has_news():
            return
        with self._watched(server):
            self._receive(server.fetch(self.replica.position), server)

    def _receive(self, begun: Begun, server: FleetServer) -> None:
        self._read_ms = clock.monotonic_ms()
        self.now_ms = begun.now_ms
        while True:
            position = self.replica.position
            is_older = begun.newest < position  # it was restored, or lost what was not synced
            is_other = begun.has_gap(position) or self._has_restarted(server)
            if is_older or is_other or self.replica.is_migrated():
                own = server.own_entries(self.machine, position)
                self.replica.replace(server.snapshot, own=own)
                self.replica.note_server(server.started)
                receive_last_reports(self.replica, begun.now_ms)
                self.is_behind = True
                begun = server.fetch(self.replica.position)
                continue
            if begun.entries:
                refs = [ref for entry in begun.entries for ref in refs_of(entry.shared)]
                bring_payloads(server, self.paths.blobs, refs)
                self.replica.apply(begun.entries)
                self._show(begun.entries)
            if len(begun.entries) < ENTRIES_AT_ONCE:
                return
            begun = server.fetch(self.replica.position)

    def _has_restarted(self, server: FleetServer) -> bool:
        """Return whether the server was started since the rows were read.

        After a crash it may have lost entries that were not synced, and given their positions to
        others.
        """
        known = self.replica.server
        if not known:
            self.replica.note_server(server.started)
        return known not in ("", server.started)

    def _show(self, entries: list[LogEntry]) -> None:
        """Let the followers see what has arrived."""
        from gitworker.bus.following.notify_followers import notify_followers

        tables = {change.table for entry in entries for change in entry.shared}
        others = [one for one in entries if one.machine != self.machine]
        receive_heartbeats(self.replica, others)
        if any(change.table == "transitions" for entry in others for change in entry.shared):
            self.is_behind = True
        if tables & {"messages", "transitions"}:
            self.has_lines = True
            with suppress(OSError):
                notify_followers(self.paths.bell)

    def export(self) -> None:
        """Bring the files of workers and the logs up to date, if something has arrived for them."""
        from gitworker.bus.files.worker_files import complete_files

        if self.has_lines:
            self.has_lines = False
            with suppress(OSError, GitWorkerError):  # the next command does it
                complete_files(self.replica, self.paths)

    def _reach(self) -> FleetServer:
        """Return the connection; without one, try again after a pause."""
        if self._server is not None and not self._server.connection.closed:
            return self._server
        now = clock.monotonic_ms()
        if self._failure is not None and now - self._failed_ms < RETRY_MS:
            raise _unreachable(self._failure)
        try:
            self._server = FleetServer(self.replica.location, name=f"gitworker link {self.machine}")
            bring_forward(self._server)
        except GitWorkerError as error:
            self._lose(error)
            raise _unreachable(error) from error
        if self._failure is not None:
            self.is_behind = True  # and what was put off meanwhile is due
        self._failure = self._lost_ms = None
        self._read_ms = 0
        return self._server

    def _lose(self, error: GitWorkerError) -> None:
        if self._server is not None:
            self._server.close()
        self._server = None
        self._failed_ms = clock.monotonic_ms()
        self._lost_ms = self._failed_ms if self._lost_ms is None else self._lost_ms
        self._failure = error if isinstance(error, Unavailable) else None
        self.is_outdated = error.code == NEWER

    def _watched(self, server: FleetServer) -> _Watched:
        return _Watched(self, server)


def _agent_runs(run: Run) -> bool:
    """Return whether the agent of a run lives, which may have lost its supervisor."""
    return run.pid is not None and is_running(run.pid, run.pid_start) is True


class _Watched:
    """Turns the loss of the connection into the refusal that commands expect."""

    def __init__(self, connection: FleetConnection, server: FleetServer) -> None:
        self._connection, self._server = connection, server

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        """Release the lock after an error; close a lost connection."""
        if error is None:
            return
        self._server.cancel()
        if isinstance(error, Unavailable) and error.code in (SERVER_UNAVAILABLE, NEWER):
            self._connection._lose(error)
            raise _unreachable(error) from error


def _unreachable(error: GitWorkerError | None) -> Unavailable:
    why, hint = "", "git worker fleet status"
    if error is not None:
        why = f": {error.message}"
        hint = error.hint or hint if error.code in (NEWER, DENIED) else hint
    return Unavailable(f"the fleet cannot be reached{why}", hint, code=UNREACHABLE)
