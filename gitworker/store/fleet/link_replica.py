"""The replica as the link sees it: what others have written comes in, its own changes go out."""

from __future__ import annotations

import os
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

from gitworker.store.fleet.changes import Recording, divided
from gitworker.store.fleet.replica import (
    BEFORE_RESTART,
    LogEntry,
    apply_entries,
    belongs_to,
    find_location,
    find_position,
    find_server,
    is_followed,
    is_member,
    is_migrated,
    lacks_rows,
    replace_shared_rows,
    set_server,
    unguarded,
)
from gitworker.store.sqlite.database import Database
from gitworker.store.sqlite.migrate import read_meta

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gitworker.store.api import Writer
    from gitworker.store.fleet.changes import RowChange
    from gitworker.store.fleet.replica import Columns, Snapshot


class LinkReplica(Database):
    """bus.db of a machine of a fleet; `machine` is empty in a repository of its own."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.writes_to_the_fleet = True
        read_meta(self)
        self.machine = self.fleet_machine or ""
        self.location = find_location(self)

    @property
    def position(self) -> int:
        """Return the position of the last entry in the replica."""
        return find_position(self)

    def is_followed(self) -> bool:
        """Return whether this machine has followed all that others have recorded."""
        return is_followed(self)

    def is_member(self) -> bool:
        """Return whether the machine has neither left, nor has another joined as it since."""
        return is_member(self)

    def belongs(self) -> bool:
        """Return whether the store is still that of this machine of this fleet."""
        return belongs_to(self, self.machine, self.location)

    def is_migrated(self) -> bool:
        """Return whether the shared rows have to be read again, since bus.db was migrated."""
        return is_migrated(self)

    @property
    def server(self) -> str:
        """Return the start of the server that the rows were read from; empty if none was noted."""
        return find_server(self)

    def note_server(self, started: str) -> None:
        """Record that the rows are those of the server that started then."""
        set_server(self, started)

    def apply(self, entries: Iterable[LogEntry], *, is_answer: bool = False) -> None:
        """Bring the replica forward; entries that it has already are left out.

        `is_answer`: a command waits for them, which then writes its files itself.
        """
        apply_entries(self, entries, is_answer=is_answer)

    def replace(self, read: Callable[[Columns], Snapshot], *, own: Iterable[LogEntry]) -> None:
        """Replace all shared rows; `own` are this machine's entries that were not applied yet.

        A copy of bus.db is kept if it has messages or transitions that the server has lost.
        """

        def reading(columns: Columns) -> Snapshot:
            found = read(columns)
            if lacks_rows(self, found):
                self._keep_copy()
            return found

        replace_shared_rows(self, reading, own=own)

    def _keep_copy(self) -> None:
        """Copy bus.db; older copies stay."""
        names = (f"{self.path}{BEFORE_RESTART}-{number}" for number in count(1))
        self.backup(next(name for name in names if not os.path.lexists(name)))

    def record(
        self, body: Callable[[Writer, int], None], now_ms: int
    ) -> tuple[list[RowChange], list[RowChange]]:
        """Run a transaction and roll it back; return the shared and the own changes."""
        with self.gate():
            self.execute("BEGIN IMMEDIATE")
            try:
                recording = Recording(self)
                try:
                    body(self, now_ms)
                    return divided(recording.changes())
                finally:
                    recording.close()
            finally:
                self.execute("ROLLBACK")

    @contextmanager
    def unguarded_write(self) -> Iterator[Writer]:
        """Give a write transaction of this machine alone, without triggers."""
        with unguarded(self), self.write(durable=False) as writer:
            yield writer
