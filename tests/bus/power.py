"""A disk that loses at a power cut every unsynced write, played from a recording.

Between its last sync and the cut, the writes to a file may have reached the disk entirely, not at
all, up to some byte, in any parts and order, or in single sectors. A name is on disk with the first
sync of its file (as on ext4, xfs and btrfs), a rename with the sync of its directory.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Event = tuple[Any, ...]
Files = dict[str, bytes]
SECTOR = 512


@dataclass
class Disk:
    """The synced content of the files, and the writes since then."""

    safe: dict[str, bytearray] = field(default_factory=dict)
    unsynced: dict[str, list[tuple[int, Event]]] = field(default_factory=dict)
    renames: list[tuple[int, str, str]] = field(default_factory=list)

    def play(self, number: int, event: Event) -> None:
        """Play one event of a recording."""
        kind = event[0]
        if kind in ("write", "cut"):
            self.unsynced.setdefault(event[1], []).append((number, event))
        elif kind == "drop":
            self.safe.pop(event[1], None)
            self.unsynced.pop(event[1], None)
        elif kind == "rename":
            self.renames.append((number, event[1], event[2]))
        elif kind == "sync":
            self._sync(event[1], covered=event[3])

    def cut_power(self, chance: random.Random) -> Files:
        """Return the files as they may be afterwards; the disk itself is not changed."""
        found = {path: bytearray(content) for path, content in self.safe.items()}
        for path, events in self.unsynced.items():
            kept = list(chance.choice(WAYS)([event for _, event in events], chance))
            if kept or path in found:
                content = found.setdefault(path, bytearray())
                for event in kept:
                    _apply(content, event)
        for _, old, new in self.renames[: chance.randint(0, len(self.renames))]:
            if old in found:
                found[new] = found.pop(old)
        return {path: bytes(content) for path, content in found.items()}

    def _sync(self, path: str, *, covered: int) -> None:
        events = self.unsynced.pop(path, [])
        content = self.safe.setdefault(path, bytearray()) if events else bytearray()
        for number, event in events:
            if number < covered:
                _apply(content, event)
            else:
                self.unsynced.setdefault(path, []).append((number, event))
        late = []
        for number, old, new in self.renames:
            if number < covered and old.startswith(f"{path}/") and old in self.safe:
                self.safe[new] = self.safe.pop(old)
            else:
                late.append((number, old, new))
        self.renames = late


def without_our_syncs(events: list[Event]) -> list[Event]:
    """Return the recording with only the syncs of SQLite at synchronous=NORMAL."""

    def is_ours(event: Event) -> bool:
        return event[0] == "sync" and event[1].endswith("-wal") and event[2] == "ours"

    return [("nothing", "") if is_ours(event) else event for event in events]


def without_syncs(events: list[Event]) -> list[Event]:
    """Return the recording as a disk that ignores every sync would have seen it."""
    return [event for event in events if event[0] != "sync"]


def _apply(content: bytearray, event: Event) -> None:
    if event[0] == "cut":
        size = event[2]
        content[size:] = bytes(max(0, size - len(content)))
        return
    offset, data = event[2], event[3]
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


def _none(events: list[Event], _: random.Random) -> list[Event]:
    return events[:0]


def _all(events: list[Event], _: random.Random) -> list[Event]:
    return events


def _first(events: list[Event], chance: random.Random) -> list[Event]:
    return events[: chance.randint(0, len(events))]


def _any(events: list[Event], chance: random.Random) -> list[Event]:
    return [event for event in events if chance.random() < 0.5]


def _sectors(events: list[Event], chance: random.Random) -> Iterator[Event]:
    for event in events:
        if event[0] == "cut":
            if chance.random() < 0.5:
                yield event
            continue
        _, path, offset, data = event
        for start in range(0, len(data), SECTOR):
            if chance.random() < 0.5:
                yield ("write", path, offset + start, data[start : start + SECTOR])


WAYS: tuple[Callable[[list[Event], random.Random], Any], ...] = (
    _none, _all, _first, _any, _sectors,
)  # fmt: skip
