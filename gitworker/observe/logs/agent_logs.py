"""The logs of agents, followed: one seat's from task to task, or everybody's who is at work."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitworker.observe.logs.tail import Tail, find_agent_log
from gitworker.observe.rules_agents import is_expected

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitworker.store.workers import Worker


class AgentLogs:
    """What agents write from now on, line by line, with whose it is.

    Of one `worker` whatever its seat does, also a log that was kept; else of those at work, whose
    files alone are open. What a log holds before somebody comes to work there anew is passed over.
    """

    def __init__(self, kept: str, workers: Iterable[Worker], worker: Worker | None) -> None:
        self._kept = kept
        self._only = worker.worker_id if worker else None
        self._tails: dict[str, Tail] = {}
        self._sizes: dict[str, int] = {}  # of the logs that were there when we began
        if worker is not None:
            self._tails[worker.worker_id] = Tail(find_agent_log(kept, worker))
            return
        seats = list(workers)
        for seat in seats:
            path = self._log_of(seat)
            if path is not None:
                self._sizes[path] = _size(path)
        self.follow(seats)

    @property
    def is_following(self) -> bool:
        """Tell whether there is a log to look at, since only looking at it shows what is new."""
        return any(tail.path is not None for tail in self._tails.values())

    def follow(self, workers: Iterable[Worker]) -> None:
        """Go with the seats to where they are now, and to those that are at work by now."""
        for seat in workers:
            name, path = seat.worker_id, self._log_of(seat)
            if self._only is not None:
                if name == self._only and path is not None:
                    self._go_to(name, path)
            elif path is not None and is_expected(seat.state):
                self._go_to(name, path, start=self._sizes.pop(path, 0))

    def _log_of(self, seat: Worker) -> str | None:
        return None if seat.worktree is None else find_agent_log(self._kept, seat)

    def forget(self, workers: Iterable[Worker]) -> None:
        """Close the logs of seats that are at work no more; for after a `read`."""
        if self._only is not None:
            return
        at_work = {seat.worker_id for seat in workers if is_expected(seat.state)}
        for name in self._tails.keys() - at_work:
            tail = self._tails.pop(name)
            if tail.path is not None:
                self._sizes[tail.path] = _size(tail.path)
            tail.close()

    def read(self) -> list[tuple[str, str]]:
        """Return whose lines were ended since the last look, a mebibyte each at most."""
        return [(name, line) for name in sorted(self._tails) for line in self._tails[name].read()]

    def close(self) -> None:
        """Close the files."""
        for tail in self._tails.values():
            tail.close()

    def _go_to(self, name: str, path: str, *, start: int = 0) -> None:
        before = self._tails.get(name)
        if before is None or before.path != path:
            if before is not None:
                before.close()
            self._tails[name] = Tail(path, whole=True, start=start)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
