"""A process that has the modules of a command loaded, and forks for each order to run it.

Its interpreter and imports take longer than all other steps of a start. It has no thread, no
database and no child but those that it forks for orders, and it ends with us: an order is a message
on a socket that is its standard input, and it answers with one byte once it has forked. If it died
or does not answer, it is killed, so that it carries nothing out later, and the caller starts the
command itself.
"""

from __future__ import annotations

import json
import os
import sys

from gitworker.processes.jobs import end_job, start_served

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping, Sequence

STANDBY = "--standby"
LENGTH_BYTES = 8
RECEIPT = b"1"
PATIENCE_S = 10.0  # for a process that does not read its orders, or is still loading


class Standby:
    """The process; `prepare` starts it if it is not alive, `close` ends it."""

    __slots__ = ("_cwd", "_pid", "_socket")

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd
        self._pid = 0
        self._socket: socket.socket | None = None

    def prepare(self, env: Mapping[str, str]) -> None:
        """Start the process in the background, unless it is alive; `env` is its environment."""
        if self._socket is not None and _is_open(self._socket):
            return
        self.close()
        from socket import socketpair  # 5 ms, only to start agents

        ours, theirs = socketpair()
        with theirs:
            argv = [sys.executable, "-P", "-m", "gitworker", STANDBY]
            self._pid = start_served(argv, theirs.fileno(), cwd=self._cwd, env=env)
        ours.settimeout(PATIENCE_S)
        self._socket = ours

    def run(self, words: Sequence[str], env: Mapping[str, str]) -> str | None:
        """Run `git worker WORDS` detached in its directory; return the first line that it prints.

        Returns None if the process is not alive or does not answer, or ended without a line:
        perhaps nothing has run.
        """
        if self._socket is None:
            return None
        fd, write = os.pipe()
        with open(fd, encoding="utf-8", errors="replace") as stream:
            try:
                _hand_over(self._socket, words, env, write)
            except OSError:  # it was killed, or does not answer
                self.close()
            finally:
                os.close(write)
            return stream.readline() or None  # also of a fork whose receipt came too late

    def close(self) -> None:
        """End the process, but not the commands that it has started; safe to repeat."""
        if self._socket is None:
            return
        self._socket.close()
        self._socket = None
        end_job(self._pid)


def _hand_over(
    ours: socket.socket, words: Sequence[str], env: Mapping[str, str], report: int
) -> None:
    """Send an order with the end of a pipe for its report; raise OSError without a receipt."""
    from socket import send_fds

    text = json.dumps([list(words), dict(env)]).encode()
    send_fds(ours, [len(text).to_bytes(LENGTH_BYTES)], [report])
    ours.sendall(text)
    if ours.recv(len(RECEIPT)) != RECEIPT:
        raise ConnectionResetError


def _is_open(ours: socket.socket) -> bool:
    """Return whether the process at the other end is alive; no receipt is left to read."""
    import select

    return not select.select([ours], (), (), 0)[0]
