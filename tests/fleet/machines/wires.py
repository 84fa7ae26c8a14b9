"""A wire to PostgreSQL that can be cut, frozen and slow: a proxy between two Unix sockets."""

import os
import selectors
import shutil
import socket
import tempfile
import threading
import time
from collections import deque
from contextlib import suppress
from pathlib import Path

NAME = ".s.PGSQL.5432"
CHUNK = 1 << 16


class Wire:
    """Carries bytes between clients in `directory` and the server in another directory."""

    def __init__(self, server: str) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="gwwire-", dir="/tmp"))
        self._server = f"{server}/{NAME}"
        self._selector = selectors.DefaultSelector()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(f"{self.directory}/{NAME}")
        os.chmod(f"{self.directory}/{NAME}", 0o777)
        os.chmod(self.directory, 0o755)
        self._listener.listen(64)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._peers: dict[socket.socket, socket.socket] = {}
        self._late: deque[tuple[float, socket.socket, bytes]] = deque()
        self._lock = threading.Lock()
        self.delay_s = 0.0  # each way
        self.is_cut = self.is_frozen = self._is_over = False
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self._thread.start()

    def cut(self) -> None:
        """Break all connections, and refuse new ones until `mend`."""
        with self._lock:
            self.is_cut = True
            for one in list(self._peers):
                self._break(one)

    def freeze(self) -> None:
        """Carry nothing, and break nothing, until `mend`."""
        self.is_frozen = True

    def mend(self) -> None:
        """Carry again."""
        self.is_cut = self.is_frozen = False

    def close(self) -> None:
        """End the wire."""
        self._is_over = True
        self._thread.join()
        self.cut()
        self._listener.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _carry(self) -> None:
        while not self._is_over:
            if self.is_frozen:
                threading.Event().wait(0.02)
                continue
            now = time.monotonic()
            pause = max(0.0, self._late[0][0] - now) if self._late else 0.02
            events = self._selector.select(min(pause, 0.02))
            with self._lock:
                for key, _ in events:
                    self._take(key.fileobj)  # type: ignore[arg-type]
                while self._late and self._late[0][0] <= time.monotonic():
                    _, target, data = self._late.popleft()
                    self._send(target, data)

    def _take(self, source: socket.socket) -> None:
        if source is self._listener:
            self._accept()
            return
        if source not in self._peers:
            return
        try:
            data = source.recv(CHUNK)
        except OSError:
            data = b""
        target = self._peers[source]
        if self.delay_s:
            self._late.append((time.monotonic() + self.delay_s, target, data))
            if not data:
                self._selector.unregister(source)
            return
        self._send(target, data)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        if self.is_cut:
            client.close()
            return
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(self._server)
        except OSError:
            client.close()
            server.close()
            return
        for one, other in ((client, server), (server, client)):
            self._peers[one] = other
            self._selector.register(one, selectors.EVENT_READ)

    def _send(self, target: socket.socket, data: bytes) -> None:
        if target not in self._peers:
            return
        if data:
            try:
                target.sendall(data)
            except OSError:
                self._break(target)
        else:
            self._break(target)

    def _break(self, one: socket.socket) -> None:
        other = self._peers.pop(one, None)
        if other is None:
            return
        self._peers.pop(other, None)
        for end in (one, other):
            with suppress(KeyError):
                self._selector.unregister(end)
            end.close()
