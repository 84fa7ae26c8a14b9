"""Tell the other machines of a fleet that a run here lands what its agents hand in.

The mark is a column of the machine's row. A lock of this process stands behind it: the link renews
the mark by the lock, so it ends with the run.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from gitworker.errors import GitWorkerError
from gitworker.liveness.life_lock import LANDS, LifeLock
from gitworker.store.fleet.machines import set_lands

if TYPE_CHECKING:
    from gitworker.session import Session


class LandingMark:
    """The mark of one run."""

    __slots__ = ("_lock", "_session")

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = LifeLock(session.paths, LANDS)

    def set(self, *, lands: bool) -> None:
        """Set or remove the mark; without the network, the next report of the link does it."""
        machine, was_held = self._session.store.fleet_machine, self._lock.is_held
        if machine is None:
            return
        if lands:
            self._lock.take()
        else:
            self._lock.release()
        if self._lock.is_held is not was_held:
            with suppress(GitWorkerError), self._session.store.write() as writer:
                set_lands(writer, machine, lands=lands)
