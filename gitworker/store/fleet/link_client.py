"""Talk to the link, the process that alone speaks with PostgreSQL on this machine.

One JSON object a line, both ways, over a Unix socket in the state directory.
"""

from __future__ import annotations

import json
import os
import socket
from typing import Any

from gitworker import clock
from gitworker.errors import (
    LOST,
    UNKNOWN,
    UNREACHABLE,
    Conflict,
    GitWorkerError,
    Internal,
    Invalid,
    Unavailable,
)
from gitworker.processes.jobs import start_job
from gitworker.store.fleet.link_lock import is_held

SOCKET = "link.sock"
START_WAIT_MS = 15_000
START_AGAIN_MS = 500  # a link that has no lock after so long was killed
ANSWER_WAIT_S = 30.0
WAIT_S = 1.0
_RETRY_S = 0.02
_PATH_MAX = 100  # bytes; the kernel's limit is 108


class LinkClient:
    """A connection to the link; starts it if it does not run."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._socket: socket.socket | None = None
        self._unread = b""

    def begin(self) -> None:
        """Bring the replica up to date, and let no other machine write until commit or cancel.

        Raises Unavailable (`fleet_unreachable`) without a connection to PostgreSQL.
        """
        self._ask({"do": "begin"})

    def commit(self, shared: str, own: str, *, durable: bool, waits: bool = False) -> int:
        """Write changes to the log and the replica; return the position of the entry.

        Raises Conflict (`fleet_lost`) if a connection was lost and nothing was written, Unavailable
        (`fleet_unknown`) if that cannot be known; with `waits` it is known as soon as PostgreSQL
        answers.
        """
        mark = os.urandom(16).hex()
        request = {"do": "commit", "shared": shared, "own": own, "durable": durable, "mark": mark}
        try:
            return int(self._ask(request, resumes=False)["position"])
        except _LinkEnded:
            return self._find(mark, waits=waits)
        except Unavailable as error:
            if error.code != UNKNOWN or not waits:
                raise
            return self._find(mark, waits=waits)

    def _find(self, mark: str, *, waits: bool) -> int:
        """Return the position of the entry with a mark; raise Conflict if it was not written."""
        while True:
            try:
                found = self._ask({"do": "find", "mark": mark})["position"]
                break
            except (Unavailable, Conflict) as error:  # the second: another machine has the lock
                if not waits:
                    raise Unavailable(
                        "the link to the fleet ended while it wrote; whether the change was"
                        " recorded is known as soon as PostgreSQL answers again",
                        "git worker fleet status",
                        code=UNKNOWN,
                    ) from error
            clock.sleep(WAIT_S)
        if found is None:
            raise lost()
        return int(found)

    def cancel(self) -> None:
        """Let others write again; nothing is written."""
        try:
            self._send({"do": "cancel"})
        except OSError:
            self.close()

    def sync(self) -> dict[str, Any]:
        """Bring the replica up to date; return the link's state."""
        return self._ask({"do": "sync"})

    def rights(self) -> dict[str, Any]:
        """Return our role on the server, the tables that it may not change, and what helps."""
        return self._ask({"do": "rights"})

    def close(self) -> None:
        """Close the connection; the link gives up what was begun."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._unread = None, b""

    def _ask(self, request: dict[str, Any], *, resumes: bool = True) -> dict[str, Any]:
        """Send a request and return the answer; if it `resumes`, ask a new link after an end."""
        last_ms = clock.monotonic_ms() + START_WAIT_MS
        while True:
            try:
                self._send(request)
                return self._answer()
            except OSError as error:
                self.close()
                if not resumes:
                    raise _LinkEnded(str(error)) from error
                if clock.monotonic_ms() > last_ms:
                    raise _not_running(error) from error

    def _send(self, request: dict[str, Any]) -> None:
        if self._socket is None:
            self._socket = connect_link(self._root)
            self._socket.settimeout(ANSWER_WAIT_S)
        self._socket.sendall(json.dumps(request, separators=(",", ":")).encode() + b"\n")

    def _answer(self) -> dict[str, Any]:
        assert self._socket is not None
        while b"\n" not in self._unread:
            more = self._socket.recv(1 << 16)
            if not more:
                raise ConnectionResetError("the link ended")
            self._unread += more
        line, _, self._unread = self._unread.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise _error_of(answer)
        return answer


def lost() -> Conflict:
    """Return the error of a write that the loss of a connection has prevented."""
    words = "the connection to the fleet was lost"
    return Conflict(words, "run the command again", code=LOST)


class _LinkEnded(OSError):
    """The link ended, or did not answer in time."""


def connect_link(root: str) -> socket.socket:
    """Return a connection to the link of a state directory; start the link if it does not run.

    Raises Unavailable if it cannot be started.
    """
    last_ms = clock.monotonic_ms() + START_WAIT_MS
    start_ms = 0
    while True:
        try:
            return _connect(root)
        except (FileNotFoundError, ConnectionRefusedError) as error:
            now = clock.monotonic_ms()
            if now > last_ms:
                raise _not_running(error) from error
            if now >= start_ms and not is_held(root):
                start_job("link", root)
                start_ms = now + START_AGAIN_MS
            clock.sleep(_RETRY_S)


def _connect(root: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with short_path(root) as path:
            made.connect(path)
    except BaseException:
        made.close()
        raise
    return made


class short_path:
    """Give a path of the socket that the kernel accepts, however deep the directory lies."""

    def __init__(self, root: str) -> None:
        self._root, self._fd = root, -1

    def __enter__(self) -> str:
        """Return the path."""
        path = f"{self._root}/{SOCKET}"
        if len(os.fsencode(path)) <= _PATH_MAX:
            return path
        self._fd = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)
        return f"/proc/self/fd/{self._fd}/{SOCKET}"

    def __exit__(self, *_: object) -> None:
        """Close the directory."""
        if self._fd >= 0:
            os.close(self._fd)


def _not_running(error: OSError) -> Unavailable:
    words = f"cannot be started: {error.strerror or error}"
    if isinstance(error, TimeoutError):
        words = f"has not answered for {ANSWER_WAIT_S:g} s"
    return Unavailable(
        f"the link to the fleet {words}", "git worker fleet status", code=UNREACHABLE
    )


def _error_of(answer: dict[str, Any]) -> GitWorkerError:
    kinds: dict[str, type[GitWorkerError]] = {
        one.__name__: one for one in (Conflict, Unavailable, Internal, Invalid)
    }
    kind = kinds.get(answer["kind"], Unavailable)
    return kind(answer["error"], answer["hint"], code=answer["code"])
