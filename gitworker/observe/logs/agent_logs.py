"""Follow the logs of agents: one worker's across its tasks, or those of all workers at work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.observe.logs.tail import Tail, find_agent_log, log_size
from gitworker.observe.rules_agents import is_expected

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitworker.store.workers import Worker


class AgentLogs:
    """Follow the lines that agents write from now on; each line comes with its worker's id.

    With a `worker`, its log is followed in every state, also a log that was kept after its worktree
    was removed. Without one, the logs of the workers at work are followed, and only their files are
    open. Lines written before this object was made are skipped; those of the worker after the byte
    `start` are not, if it is given.
    """

    def __init__(
        self,
        kept_logs: str,
        workers: Iterable[Worker],
        worker: Worker | None,
        *,
        start: int | None = None,
    ) -> None:
        self._kept_logs = kept_logs
        self._only = worker.worker_id if worker else None
        self._tails: dict[str, Tail] = {}
        self._sizes: dict[str, int] = {}  # of the logs that existed when we began
        if worker is not None:
            path = find_agent_log(kept_logs, worker)
            self._tails[worker.worker_id] = Tail(path, whole=start is not None, start=start or 0)
            return
        known = list(workers)
        for one in known:
            path = self._log_of(one)
            if path is not None:
                self._sizes[path] = log_size(path)
        self.follow(known)

    @property
    def is_following(self) -> bool:
        """Return True if a log is followed. Logs send no notification, so they must be polled."""
        return any(tail.path is not None for tail in self._tails.values())

    def follow(self, workers: Iterable[Worker]) -> None:
        """Follow the workers to their present logs, and begin with those that are at work now."""
        for one in workers:
            name, path = one.worker_id, self._log_of(one)
            if self._only is not None:
                if name == self._only and path is not None:
                    self._open_tail(name, path)
            elif path is not None and is_expected(one.state):
                self._open_tail(name, path, start=self._sizes.pop(path, 0))

    def _log_of(self, one: Worker) -> str | None:
        return None if one.worktree is None else find_agent_log(self._kept_logs, one)

    def forget(self, workers: Iterable[Worker]) -> None:
        """Close the logs of workers that are no longer at work; call it after `read`."""
        if self._only is not None:
            return
        at_work = {one.worker_id for one in workers if is_expected(one.state)}
        for name in self._tails.keys() - at_work:
            tail = self._tails.pop(name)
            if tail.path is not None:
                self._sizes[tail.path] = log_size(tail.path)
            tail.close()

    def read(self) -> list[tuple[str, str]]:
        """Return the new complete lines with their workers, at most one mebibyte per worker."""
        return [(name, line) for name in sorted(self._tails) for line in self._tails[name].read()]

    def rest(self) -> list[tuple[str, str]]:
        """Return the lines without an end; their agents have ended."""
        return [(name, line) for name in sorted(self._tails) for line in self._tails[name].rest()]

    def close(self) -> None:
        """Close the files."""
        for tail in self._tails.values():
            tail.close()

    def _open_tail(self, name: str, path: str, *, start: int = 0) -> None:
        before = self._tails.get(name)
        if before is None or before.path != path:
            if before is not None:
                before.close()
            self._tails[name] = Tail(path, whole=True, start=start)
