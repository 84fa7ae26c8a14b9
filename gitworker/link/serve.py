"""The link: one process per repository and machine that speaks with PostgreSQL for all the others.

It brings the replica up to date, lets one command at a time write for the fleet, publishes what hot
verbs sent, and reports the heartbeats of this machine's workers. It ends by itself.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gitworker import clock
from gitworker.errors import UNREACHABLE, GitWorkerError, Unavailable
from gitworker.link.connection import FleetConnection
from gitworker.link.outbox import publish_outbox
from gitworker.processes.jobs import start_job
from gitworker.store.fleet.link_client import lost, short_path

if TYPE_CHECKING:
    from gitworker.paths import StatePaths
    from gitworker.store.api import Waker

BEAT_MS = 5_000
FOLLOW_EVERY_MS = 500
PRUNE_EVERY_MS = 60_000
EXPORT_EVERY_MS = 100
IDLE_MS = 60_000
HOLD_MAX_MS = 60_000  # a client that holds the lock for longer is cut off
LISTEN, LOCAL, SERVER = "listen", "local", "server"


class Client:
    """One connection of a command."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.unread = b""
        self.began_ms = 0
        self.mark: str | None = None  # of the entry that it asks for

    def answer(self, **fields: Any) -> None:
        """Send an answer; a client that has gone needs none."""
        with suppress(OSError):
            self.socket.sendall(json.dumps(fields, separators=(",", ":")).encode() + b"\n")

    def refuse(self, error: GitWorkerError) -> None:
        """Send an error."""
        kind = type(error).__name__
        self.answer(error=error.message, hint=error.hint, code=error.code, kind=kind)


class Link:
    """Serves the commands of one state directory, one writer at a time."""

    def __init__(self, paths: StatePaths, listener: socket.socket) -> None:
        self._connection = FleetConnection(paths)
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ, LISTEN)
        self._waker: Waker = self._connection.replica.open_waker()
        if self._waker.fileno() >= 0:
            self._selector.register(self._waker.fileno(), selectors.EVENT_READ, LOCAL)
        self._server_fd = -1
        self._clients: set[Client] = set()
        self._holder: Client | None = None
        self._gives_way = False
        self._is_due = False  # a local change, which may be a message to publish
        self._waiting: deque[Client] = deque()
        self._last_use_ms = self._last_beat_ms = clock.monotonic_ms()
        self._last_beat_ms -= BEAT_MS
        self._followed_ms = self._pruned_ms = self._exported_ms = self._last_beat_ms

    def serve(self) -> None:
        """Serve until nobody needs the link any more."""
        while not self._is_done():
            self._watch_server()
            for key, _ in self._selector.select(self._pause_s()):
                if key.data == LISTEN:
                    self._accept()
                elif isinstance(key.data, Client):
                    self._read(key.data)
            self._tend()

    def publish_last(self) -> None:
        """Publish what was sent after the last look, since its sender saw a link that runs."""
        with suppress(GitWorkerError):
            if not self._connection.has_left():
                publish_outbox(self._connection)

    def close(self) -> None:
        """Close everything."""
        for client in list(self._clients):
            self._drop(client)
        self._waker.close()
        self._connection.close()

    def _pause_s(self) -> float:
        most_s = EXPORT_EVERY_MS / 1000 if self._connection.has_lines else 1.0
        return min(most_s, self._waker.pause_s)

    def _is_done(self) -> bool:
        if self._gives_way:
            return True
        if self._connection.has_left() or not os.path.exists(self._connection.paths.database):
            return True
        if self._connection.is_outdated and not self._clients:
            return True  # the next link may be that of a newer program
        idle_ms = clock.monotonic_ms() - self._last_use_ms
        if self._clients or idle_ms < IDLE_MS:
            return False
        return not self._connection.has_work()

    def _watch_server(self) -> None:
        """Watch the present connection's descriptor."""
        fd = self._connection.fileno()
        if fd == self._server_fd:
            return
        if self._server_fd >= 0:
            with suppress(KeyError, ValueError, OSError):
                self._selector.unregister(self._server_fd)
        self._server_fd = fd
        if fd >= 0:
            self._selector.register(fd, selectors.EVENT_READ, SERVER)

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        client = Client(connection)
        self._clients.add(client)
        self._selector.register(connection, selectors.EVENT_READ, client)

    def _read(self, client: Client) -> None:
        self._last_use_ms = clock.monotonic_ms()
        try:
            more = client.socket.recv(1 << 20)
        except OSError:
            more = b""
        if not more:
            self._drop(client)
            return
        client.unread += more
        while b"\n" in client.unread:
            line, _, client.unread = client.unread.partition(b"\n")
            self._obey(client, json.loads(line))

    def _drop(self, client: Client) -> None:
        """Forget a client; give up what it began."""
        self._clients.discard(client)
        with suppress(KeyError):
            self._selector.unregister(client.socket)
        client.socket.close()
        with suppress(ValueError):
            self._waiting.remove(client)
        if client is self._holder:
            self._release()

    def _obey(self, client: Client, request: dict[str, Any]) -> None:
        verb = request["do"]
        if verb in ("begin", "find"):
            client.mark = request.get("mark")
            self._waiting.append(client)
            self._let_next_begin()
        elif verb == "cancel":
            if client is self._holder:
                self._release()
        elif verb == "commit":
            self._commit(client, request)
        elif verb == "sync":
            self._sync(client)
        elif verb == "rights":
            self._answer_rights(client)
        else:  # of a later version of the program
            client.refuse(Unavailable(f"this link to the fleet is older than {ascii(verb)[:40]}"))

    def _let_next_begin(self) -> None:
        while self._holder is None and self._waiting:
            client = self._waiting.popleft()
            try:
                if client.mark is not None:
                    client.answer(position=self._connection.find(client.mark))
                    continue
                self._connection.begin()
            except GitWorkerError as error:
                self._refuse(client, error)
                continue
            self._holder = client
            client.began_ms = clock.monotonic_ms()
            client.answer(ok=True)

    def _release(self) -> None:
        self._holder = None
        self._connection.cancel()
        self._let_next_begin()

    def _commit(self, client: Client, request: dict[str, Any]) -> None:
        if client is not self._holder:
            client.refuse(lost())
            return
        try:
            position = self._connection.commit(
                request["shared"], request["own"], durable=request["durable"], mark=request["mark"]
            )
            client.answer(position=position)
        except GitWorkerError as error:
            client.refuse(error)
        self._holder = None
        self._let_next_begin()

    def _sync(self, client: Client) -> None:
        try:
            if self._holder is None:
                self._connection.catch_up()
            client.answer(**self._connection.state())
        except GitWorkerError as error:
            self._refuse(client, error)

    def _refuse(self, client: Client, error: GitWorkerError) -> None:
        """Send an error; if there has long been no connection, let the client start another link.

        That one may reach the server: this one may run in a sandbox without a network, or without
        the variables of the client's environment.
        """
        if error.code == UNREACHABLE and self._connection.is_stuck():
            self._gives_way = True
            self._drop(client)
        else:
            client.refuse(error)

    def _answer_rights(self, client: Client) -> None:
        try:
            client.answer(**self._connection.rights())
        except GitWorkerError as error:
            client.refuse(error)

    def _tend(self) -> None:
        """Do what is due: cut off a holder, read news, publish, report heartbeats."""
        now = clock.monotonic_ms()
        # Read before anything can return: an event that stays unread ends each wait at once.
        self._is_due = self._waker.changed() or self._is_due
        holder = self._holder
        if holder is not None:
            if now - holder.began_ms > HOLD_MAX_MS:
                self._drop(holder)
            return
        if self._connection.is_behind and now - self._followed_ms >= FOLLOW_EVERY_MS:
            self._connection.is_behind, self._followed_ms = False, now
            start_job("follow", os.path.dirname(self._connection.paths.root))
        if now - self._exported_ms >= EXPORT_EVERY_MS:
            self._exported_ms = now
            self._connection.export()
        with suppress(GitWorkerError):  # tried again; the commands report it
            if self._connection.has_news():
                self._connection.catch_up(fresh=True)
            if now - self._last_beat_ms >= BEAT_MS:
                self._last_beat_ms, self._is_due = now, True
                self._connection.report()
                if now - self._pruned_ms >= PRUNE_EVERY_MS:
                    self._pruned_ms = now
                    self._connection.prune()
        with suppress(GitWorkerError):  # by itself: a message must not keep reports back
            if self._is_due:
                publish_outbox(self._connection)
                self._is_due = False


def run_link(paths: StatePaths, lock: int) -> int:
    """Serve until nobody needs the link; return 0. The caller has the lock, which ends with it."""
    listener = _listen(paths.root)
    link = Link(paths, listener)
    try:
        link.serve()
    finally:
        with suppress(OSError), short_path(paths.root) as path:
            os.unlink(path)
        link.publish_last()
        listener.close()
        link.close()
        os.close(lock)
    return 0


def _listen(root: str) -> socket.socket:
    """Return the listening socket, in the place of one that a killed link left."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with short_path(root) as path:
        with suppress(FileNotFoundError):
            os.unlink(path)
        mask = os.umask(0o177)
        try:
            made.bind(path)
        finally:
            os.umask(mask)
    made.listen(64)
    return made
