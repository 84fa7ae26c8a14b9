"""Waking up when somebody has written to the bus (BUS-FACTS, Waking a follower).

First choice is inotify on the directory of bus.db: the bell, which our publishers touch, and the
`-wal`, which foreign ones write. The `-wal` is written before a commit can be seen, so after a wake
that shows nothing we look again shortly after. Every 2 s we look anyway. Without inotify we
ask `PRAGMA data_version` every 25 to 250 ms; last comes seed 2's adaptive polling, which asks
nothing and lets its caller look.

A waker belongs to one thread: the one whose store it was given. No transaction and no cursor stays
open while it waits.
"""

from __future__ import annotations

import os
import select

from gitworker import clock
from gitworker.bus.following.inotify import LOST, Inotify
from gitworker.errors import Conflict

TYPE_CHECKING = False  # `poll --wait` is a hot verb: `typing` costs 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gitworker.paths import StatePaths
    from gitworker.store.api import Store

LOOK_ANYWAY_S = 2.0
# As late as a commit of a foreign program takes, and a slow disk's sync with it.
LOOK_AGAIN_S = (0.0003, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512)
VERSION_FIRST_S = 0.025
VERSION_LAST_S = 0.25
ADAPTIVE_FIRST_S = 0.2  # seed 2, adaptive polling
ADAPTIVE_LAST_S = 2.0
SLOWER = 1.5
INOTIFY = "inotify"
VERSION = "version"
ADAPTIVE = "adaptive"
HEARD = ("bell", "bus.db-wal", LOST)  # in the state directory: what concerns the bus
SPOOL_FILES = ("hooks", "ring")


class Waker:
    """Tells when somebody else may have committed; how, is for `open_waker` to choose.

    Loop: look at the bus, then `wait`. Nothing falls between the two, since `wait` compares with
    what stood there when it returned last (or the waker was made), not with what was seen.
    To wait for other things as well, watch `fileno()` (-1: nothing to watch) for at most `pause_s`
    seconds and ask `changed()`.
    """

    __slots__ = (
        "_inotify",
        "_on_spool",
        "_pauses",
        "_spool",
        "_step",
        "_store",
        "_version",
        "_way",
    )

    def __init__(
        self,
        store: Store,
        *,
        way: str,
        inotify: Inotify | None = None,
        spool: int | None = None,
        on_spool: Callable[[], object] | None = None,
    ) -> None:
        self._store = store
        self._way = way
        self._inotify = inotify
        self._spool = spool
        self._on_spool = on_spool
        self._pauses = PAUSES[way]
        self._step = len(self._pauses) - 1 if inotify else 0
        self._version: int | None = None
        if way != ADAPTIVE:
            self._version = self._read_version()

    def fileno(self) -> int:
        """Return the descriptor that is readable when there may be news; -1 where there is none."""
        return -1 if self._inotify is None else self._inotify.fd

    @property
    def pause_s(self) -> float:
        """Return after how many seconds at most `changed` is to be asked, whatever was heard."""
        return self._pauses[self._step]

    def changed(self) -> bool:
        """Tell whether somebody else has committed since this was last true; never blocks."""
        heard, is_drained = self._hear()
        news = is_drained  # our own commits leave our own version as it is
        if self._version is None:
            news = True
        else:
            version = self._read_version()
            news = news or version != self._version
            self._version = version
        if heard or (news and self._way == VERSION):
            self._step = 0  # also after news: what was heard may be a commit that comes just now
        elif news and self._way == INOTIFY:
            self._step = len(self._pauses) - 1
        else:
            self._step = min(self._step + 1, len(self._pauses) - 1)
        return news

    def wait(self, timeout_s: float, *, also: Mapping[int, int] | None = None) -> bool:
        """Block until somebody else has committed, for `timeout_s` at most; tell whether.

        `also` maps further descriptors to poll(2) events: where one of them has something, the
        wait ends too, and the caller sees for itself what.
        """
        poll = select.poll()
        if self._inotify is not None:
            poll.register(self._inotify.fd, select.POLLIN)
        for fd, events in (also or {}).items():
            poll.register(fd, events)
        deadline = clock.monotonic_ms() + timeout_s * 1000
        while True:
            left_ms = max(0.0, deadline - clock.monotonic_ms())
            found = self._sleep(poll, min(self.pause_s * 1000, left_ms))
            if self.changed():
                return True
            if any(fd != self.fileno() for fd, _ in found) or clock.monotonic_ms() >= deadline:
                return False

    def rest(self) -> None:
        """Begin anew with short pauses, since the caller found something (adaptive polling)."""
        if self._way == ADAPTIVE:
            self._step = 0

    def close(self) -> None:
        """Let the descriptor go."""
        if self._inotify is not None:
            self._inotify.close()

    def __enter__(self) -> Waker:
        """Use it in a `with`."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _sleep(self, poll: select.poll, pause_ms: float) -> list[tuple[int, int]]:
        if 0 < pause_ms < 1:  # poll(2) knows whole milliseconds only
            clock.sleep(pause_ms / 1000)
            pause_ms = 0
        return poll.poll(pause_ms)

    def _hear(self) -> tuple[bool, bool]:
        """Take what inotify has: whether it concerns the bus, and whether the spool was drained."""
        if self._inotify is None:
            return False, False
        names = self._inotify.take()
        is_rung = any(watch == self._spool and name in SPOOL_FILES for watch, name in names)
        if is_rung and self._on_spool is not None:
            self._on_spool()
        is_heard = any(watch != self._spool and name in HEARD for watch, name in names)
        return is_heard, is_rung

    def _read_version(self) -> int:
        """Return the database's version; the last one where some program locks readers out."""
        try:
            with self._store.read() as reader:
                row = reader.row("messages.version")
        except Conflict:
            return self._version or 0
        return 0 if row is None else int(row["data_version"])


def _growing(first_s: float, last_s: float) -> tuple[float, ...]:
    pauses = [first_s]
    while pauses[-1] < last_s:
        pauses.append(min(pauses[-1] * SLOWER, last_s))
    return tuple(pauses)


# How long to pause at most, step by step; the last one stays.
PAUSES = {
    INOTIFY: (*LOOK_AGAIN_S, LOOK_ANYWAY_S),
    VERSION: _growing(VERSION_FIRST_S, VERSION_LAST_S),
    ADAPTIVE: _growing(ADAPTIVE_FIRST_S, ADAPTIVE_LAST_S),
}


def open_waker(
    store: Store,
    paths: StatePaths,
    *,
    ways: tuple[str, ...] = (INOTIFY, VERSION, ADAPTIVE),
    on_spool: Callable[[], object] | None = None,
) -> Waker:
    """Return a waker for a bus, by the first of `ways` that this system can.

    `on_spool` is called when a hook has written to the spool: whoever listens drains it at once.
    The other ways do not see the spool: there the drain that the hook rings does it.
    """
    if INOTIFY in ways:
        inotify = None
        try:
            inotify = Inotify()
            inotify.watch(paths.root)
            is_watched = on_spool is not None and os.path.isdir(paths.spool)
            spool = inotify.watch(paths.spool) if is_watched else None
            return Waker(store, way=INOTIFY, inotify=inotify, spool=spool, on_spool=on_spool)
        except OSError:  # no inotify here, or this user has too many of them
            if inotify is not None:
                inotify.close()
    return Waker(store, way=VERSION if VERSION in ways else ADAPTIVE)
