"""Wake by LISTEN and NOTIFY: each write transaction notifies its repository's channel."""

from __future__ import annotations

import select
from typing import TYPE_CHECKING, Self

import psycopg

from gitworker import clock
from gitworker.store.postgres.errors import translated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.store.postgres.location import Location

PAUSE_S = 30.0  # the server wakes a reader; this only bounds a lost connection


class ListeningWaker:
    """A connection of its own that listens; notifications of `own_pid` do not count."""

    def __init__(self, location: Location, *, own_pid: int) -> None:
        self._own_pid = own_pid
        try:
            self._connection = psycopg.connect(
                location.conninfo, autocommit=True, application_name="gitworker waker"
            )
            self._connection.execute(f"LISTEN {location.quoted_schema}".encode())
        except psycopg.Error as error:
            raise translated(error) from error

    @property
    def pause_s(self) -> float:
        """Return the longest time in seconds until the next call of `changed`."""
        return PAUSE_S

    def fileno(self) -> int:
        """Return the descriptor of the connection."""
        return self._connection.fileno()

    def changed(self) -> bool:
        """Return whether another connection has committed since this was last true."""
        try:
            heard = list(self._connection.notifies(timeout=0))
        except psycopg.Error as error:
            raise translated(error) from error
        return any(one.pid != self._own_pid for one in heard)

    def wait(self, timeout_s: float, *, also: Mapping[int, int] | None = None) -> bool:
        """Block until another connection has committed, for `timeout_s` at most; return whether."""
        end_ms = clock.monotonic_ms() + int(timeout_s * 1000)
        poll = select.poll()
        poll.register(self.fileno(), select.POLLIN)
        for descriptor, events in (also or {}).items():
            poll.register(descriptor, events)
        while True:
            if self.changed():
                return True
            left_ms = end_ms - clock.monotonic_ms()
            if left_ms <= 0:
                return False
            ready = poll.poll(min(left_ms, int(PAUSE_S * 1000)))
            if any(descriptor != self.fileno() for descriptor, _ in ready):
                return self.changed()

    def rest(self) -> None:
        """Do nothing: there are no pauses."""

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def __enter__(self) -> Self:
        """Return the waker for a `with` block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the waker."""
        self.close()
