"""The protocol between the program and a backend: named queries in, rows out.

A query's name is `<file>.<query>`; its text belongs to the backend. A second backend only has to
define the same names in its own dialect.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, Self

Row = Mapping[str, Any]
Value = str | int | float | bytes | None


class Reader(Protocol):
    """Answers named queries."""

    @property
    def defers_messages(self) -> bool:
        """Return whether messages are left to the link of a fleet: for a verb that never waits."""
        ...

    def row(self, query: str, **values: Value) -> Row | None:
        """Return the first row, or None."""
        ...

    def rows(self, query: str, **values: Value) -> list[Row]:
        """Return every row; no cursor stays open."""
        ...


class Writer(Reader, Protocol):
    """Answers and executes inside one write transaction."""

    def run(self, query: str, **values: Value) -> int:
        """Execute a statement and return how many rows it changed."""
        ...


class Waker(Protocol):
    """Notices commits of other connections; it belongs to the thread of its store.

    Loop: read the bus, then `wait`. No commit in between is missed. To wait for other events as
    well, watch `fileno()` (-1: no descriptor) for at most `pause_s` seconds and call `changed()`.
    """

    @property
    def pause_s(self) -> float:
        """Return the longest time in seconds until the next call of `changed`."""
        ...

    def fileno(self) -> int:
        """Return the descriptor that is readable if there may be news; -1 without one."""
        ...

    def changed(self) -> bool:
        """Return whether another connection has committed since this was last true; never block."""
        ...

    def wait(self, timeout_s: float, *, also: Mapping[int, int] | None = None) -> bool:
        """Block until another connection has committed, for `timeout_s` at most; return whether.

        `also` maps further descriptors to poll(2) events; the wait also ends if one is ready.
        Raises Unavailable (`database_replaced`) if the database was deleted or replaced.
        """
        ...

    def rest(self) -> None:
        """Return to short pauses, since the caller found something."""
        ...

    def close(self) -> None:
        """Close the descriptor."""
        ...

    def __enter__(self) -> Self:
        """Return the waker for a `with` block."""
        ...

    def __exit__(self, *_: object) -> None:
        """Close the waker."""
        ...


class Store(Reader, Protocol):
    """Opens reads and write transactions."""

    @property
    def fleet_machine(self) -> str | None:
        """Return the name of this machine in a fleet; None in a repository of its own."""
        ...

    @property
    def is_read_only(self) -> bool:
        """Return whether the store only answers reads, since its directory cannot be written."""
        ...

    def close(self) -> None:
        """Close the store; it answers nothing afterwards."""
        ...

    def backup(self, target: str) -> None:
        """Write a consistent copy of everything to another location, which appears complete.

        Others may write meanwhile. Raises Unavailable, and leaves no copy, if it cannot be written.
        """
        ...

    def change_mark(self) -> int:
        """Return a number that changes when another connection has committed."""
        ...

    def open_waker(self, *, on_spool: Callable[[], object] | None = None) -> Waker:
        """Return a waker for this store; `on_spool` is called when a hook wrote to the spool.

        Without inotify nothing calls it: the drain that the hook starts publishes the commits.
        """
        ...

    def wait_at_most(self, ms: int) -> None:
        """Let each write wait so long for other writers; then it raises Conflict."""
        ...

    def wait_for_the_fleet(self) -> None:
        """Let writes wait for the fleet as long as it cannot be reached: for a background process.

        Without this they raise Unavailable (`fleet_unreachable`).
        """
        ...

    def require_writable(self) -> None:
        """Raise Unavailable if the store cannot be written."""
        ...

    def require_present(self) -> None:
        """Raise Unavailable (`database_replaced`) if the file was deleted since it was opened."""
        ...

    def read(self) -> AbstractContextManager[Reader]:
        """Give one consistent snapshot for several queries."""
        ...

    def write(self, *, durable: bool = True) -> AbstractContextManager[Writer]:
        """Give one write transaction; if `durable`, it is on disk when it ends."""
        ...

    def write_own(self, *, durable: bool = True) -> AbstractContextManager[Writer]:
        """Give a write transaction for what this machine of a fleet has for itself: the journal.

        It waits for no other machine, and refuses to change what all machines share.
        """
        ...

    def write_one(self, query: str, *, durable: bool = True, **values: Value) -> int:
        """Execute one statement as a write transaction of its own; return how many rows changed."""
        ...


class SearchIndex(Protocol):
    """A full-text index of messages beside the store, derived from it and expendable."""

    def close(self) -> None:
        """Close the index."""
        ...

    def position(self) -> int:
        """Return the position up to which all messages are indexed."""
        ...

    def last(self) -> tuple[int, str]:
        """Return the position and the id of its message; 0 and empty for an empty index."""
        ...

    def add(self, texts: Sequence[tuple[int, str]], *, until: int, last_id: str) -> None:
        """Index the texts of messages, and move the position to `until`, the message `last_id`."""
        ...

    def find(self, expression: str, *, before: int, limit: int) -> list[int]:
        """Return the positions of matches below `before`, newest first."""
        ...

    def drop(self, seqs: Sequence[int]) -> None:
        """Remove single messages."""
        ...

    def drop_below(self, seq: int) -> None:
        """Remove every message below a position."""
        ...

    def clear(self) -> None:
        """Begin with an empty index again."""
        ...
