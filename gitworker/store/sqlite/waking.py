"""Wake up when another connection has written to the bus.

The first choice is inotify on the directory of bus.db: our publishers touch `bell`, foreign ones
write the `-wal`. The `-wal` is written before a commit becomes visible, so a wake-up without news
is checked again after growing pauses, and every 2 s anyway. Without inotify the waker reads
the store's change mark every 25 to 250 ms. The last choice is adaptive polling, which only lets the
caller look again after 0.2 to 2 s. See docs/design.md, "Waking followers".

In a fleet, news of other machines comes by the link. Who waits starts it again if it has ended.

A waker belongs to one thread: the one whose store it was given. No transaction and no cursor stays
open while it waits.
"""

from __future__ import annotations

import os
import select

from gitworker import clock
from gitworker.errors import Conflict
from gitworker.store.sqlite.inotify import LOST, Inotify

TYPE_CHECKING = False  # `poll --wait` is a hot verb: `typing` costs 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gitworker.paths import StatePaths
    from gitworker.store.api import Store

MAX_WAIT_S = 2.0
LINK_CHECK_MS = 2000
# Long enough for a foreign program's commit to become visible, with a slow disk's sync.
RECHECK_DELAYS_S = (0.0003, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512)
VERSION_FIRST_S = 0.025
VERSION_LAST_S = 0.25
ADAPTIVE_FIRST_S = 0.2
ADAPTIVE_LAST_S = 2.0
SLOWER = 1.5
INOTIFY = "inotify"
VERSION = "version"
ADAPTIVE = "adaptive"
HEARD = ("bell", "bus.db-wal", LOST)  # names in the state directory that mean news on the bus
SPOOL_FILES = ("hooks", "ring")


class SqliteWaker:
    """Notices commits of other connections, in the way that `open_waker` chose.

    Loop: read the bus, then `wait`. No commit is missed in between, because `wait` compares with
    the version at its last return (or at the waker's creation), not with the rows that were read.
    To wait for other events as well, watch `fileno()` (-1: no descriptor) for at most `pause_s`
    seconds and call `changed()`.
    """

    __slots__ = (
        "_inotify",
        "_link_due_ms",
        "_on_spool",
        "_pauses",
        "_root",
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
        root: str,
        inotify: Inotify | None = None,
        spool: int | None = None,
        on_spool: Callable[[], object] | None = None,
    ) -> None:
        self._store = store
        self._way = way
        self._root = root
        self._inotify = inotify
        self._spool = spool
        self._on_spool = on_spool
        self._pauses = PAUSES[way]
        self._step = len(self._pauses) - 1 if inotify else 0
        self._link_due_ms = 0
        self._version: int | None = None
        if way != ADAPTIVE:
            self._version = self._read_version()

    def fileno(self) -> int:
        """Return the descriptor that is readable if there may be news; -1 without inotify."""
        return -1 if self._inotify is None else self._inotify.fd

    @property
    def pause_s(self) -> float:
        """Return the longest time in seconds until the next call of `changed`."""
        return self._pauses[self._step]

    def changed(self) -> bool:
        """Return whether another connection has committed since this was last true; never block."""
        heard, is_drained = self._hear()
        news = is_drained  # our own commits do not change our own change mark
        if self._version is None:
            news = True
        else:
            version = self._read_version()
            news = news or version != self._version
            self._version = version
        if heard or (news and self._way == VERSION):
            self._step = 0  # also after news: the event may belong to a commit not yet visible
        elif news and self._way == INOTIFY:
            self._step = len(self._pauses) - 1
        else:
            self._step = min(self._step + 1, len(self._pauses) - 1)
        return news

    def wait(self, timeout_s: float, *, also: Mapping[int, int] | None = None) -> bool:
        """Block until another connection has committed, for `timeout_s` at most; return whether.

        `also` maps further descriptors to poll(2) events; the wait also ends if one is ready.
        Raises Unavailable (`database_replaced`) if the database was deleted or replaced.
        """
        poll = select.poll()
        if self._inotify is not None:
            poll.register(self._inotify.fd, select.POLLIN)
        for fd, events in (also or {}).items():
            poll.register(fd, events)
        deadline = clock.monotonic_ms() + timeout_s * 1000
        while True:
            self._keep_link()
            self._store.require_present()
            left_ms = max(0.0, deadline - clock.monotonic_ms())
            found = self._sleep(poll, min(self.pause_s * 1000, left_ms))
            if self.changed():
                return True
            if any(fd != self.fileno() for fd, _ in found) or clock.monotonic_ms() >= deadline:
                return False

    def rest(self) -> None:
        """Return to short pauses, since the caller found something (adaptive polling)."""
        if self._way == ADAPTIVE:
            self._step = 0

    def close(self) -> None:
        """Close the descriptor."""
        if self._inotify is not None:
            self._inotify.close()

    def __enter__(self) -> SqliteWaker:
        """Return the waker for a `with` block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the waker."""
        self.close()

    def _keep_link(self) -> None:
        """In a fleet, start the link unless it runs: it ends without use, and may be killed."""
        if self._store.fleet_machine is None or self._store.is_read_only:
            return
        now_ms = clock.monotonic_ms()
        if now_ms >= self._link_due_ms:
            from gitworker.store.fleet.link_lock import start_link  # only in a fleet

            start_link(self._root)
            self._link_due_ms = now_ms + LINK_CHECK_MS

    def _sleep(self, poll: select.poll, pause_ms: float) -> list[tuple[int, int]]:
        if 0 < pause_ms < 1:  # poll(2) knows whole milliseconds only
            clock.sleep(pause_ms / 1000)
            pause_ms = 0
        return poll.poll(pause_ms)

    def _hear(self) -> tuple[bool, bool]:
        """Read the inotify events; return whether the bus was written and the spool drained."""
        if self._inotify is None:
            return False, False
        names = self._inotify.take()
        is_rung = any(watch == self._spool and name in SPOOL_FILES for watch, name in names)
        if is_rung and self._on_spool is not None:
            self._on_spool()
        is_heard = any(watch != self._spool and name in HEARD for watch, name in names)
        return is_heard, is_rung

    def _read_version(self) -> int:
        """Return the database's version, or the last one if a program locks readers out."""
        try:
            return self._store.change_mark()
        except Conflict:
            return self._version or 0


def _growing(first_s: float, last_s: float) -> tuple[float, ...]:
    pauses = [first_s]
    while pauses[-1] < last_s:
        pauses.append(min(pauses[-1] * SLOWER, last_s))
    return tuple(pauses)


# The longest pause of each step; the last one repeats.
PAUSES = {
    INOTIFY: (*RECHECK_DELAYS_S, MAX_WAIT_S),
    VERSION: _growing(VERSION_FIRST_S, VERSION_LAST_S),
    ADAPTIVE: _growing(ADAPTIVE_FIRST_S, ADAPTIVE_LAST_S),
}


def open_waker(
    store: Store,
    paths: StatePaths,
    *,
    ways: tuple[str, ...] = (INOTIFY, VERSION, ADAPTIVE),
    on_spool: Callable[[], object] | None = None,
) -> SqliteWaker:
    """Return a waker for a bus that uses the first of `ways` that this system supports.

    `on_spool` is called when a hook has written to the spool. Only inotify notices that; otherwise
    the drain that the hook starts publishes the commits.
    """
    if INOTIFY in ways:
        inotify = None
        try:
            inotify = Inotify()
            inotify.watch(paths.root)
            is_watched = on_spool is not None and os.path.isdir(paths.spool)
            spool = inotify.watch(paths.spool) if is_watched else None
            return SqliteWaker(
                store, way=INOTIFY, root=paths.root, inotify=inotify, spool=spool,
                on_spool=on_spool,
            )  # fmt: skip
        except OSError:  # no inotify, or the user's limit is reached
            if inotify is not None:
                inotify.close()
    way = VERSION if VERSION in ways else ADAPTIVE
    return SqliteWaker(store, way=way, root=paths.root)
