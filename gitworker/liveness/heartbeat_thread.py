"""The heartbeat thread: its own connection, a queue of commands, a heartbeat every ten seconds.

It sends heartbeats for any number of agents of this machine, so that an agent in a long call (a
model's answer takes minutes) does not look dead. A busy or failing database loses one heartbeat but
does not end the thread.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass

from gitworker import clock
from gitworker.errors import GitWorkerError
from gitworker.store.api import Store
from gitworker.store.claims import renew_claims
from gitworker.store.heartbeats import record_heartbeat, renew_heartbeat


@dataclass(frozen=True, slots=True)
class Report:
    """Send heartbeats for `agent` with these values; None keeps the last reported value."""

    agent: str
    status: str | None = None
    task: str | None = None
    progress: float | None = None


@dataclass(frozen=True, slots=True)
class Remove:
    """Stop the heartbeats of `agent`."""

    agent: str


@dataclass(frozen=True, slots=True)
class ChangeInterval:
    """Send the heartbeats of all agents now, and then every `every_s` seconds."""

    every_s: float


class StopThread:
    """End the thread."""


Command = Report | Remove | ChangeInterval | StopThread


class HeartbeatThread:
    """Sends heartbeats in the background until it is stopped.

    `open_store` is called in the thread, since a connection belongs to one thread. `on_heartbeat`
    gets the times of the heartbeats by agent, `on_error` the error of a failed one.
    """

    def __init__(
        self,
        open_store: Callable[[], Store],
        *,
        every_s: float = 10,
        on_heartbeat: Callable[[dict[str, int]], None] | None = None,
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        self._open_store = open_store
        self._every_s = every_s
        self._on_heartbeat = on_heartbeat
        self._on_error = on_error
        self._store: Store | None = None
        self._commands: queue.Queue[Command] = queue.Queue()
        self._agents: dict[str, Report] = {}
        self._thread = threading.Thread(target=self._loop, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def put(self, command: Report | Remove | ChangeInterval) -> None:
        """Change the agents or the values that it reports for one; effective at once."""
        self._commands.put(command)

    def stop(self, timeout_s: float = 5) -> None:
        """End the thread and wait for it."""
        self._commands.put(StopThread())
        self._thread.join(timeout_s)

    @property
    def is_alive(self) -> bool:
        """Return whether the thread runs."""
        return self._thread.is_alive()

    def _loop(self) -> None:
        due_ms = clock.monotonic_ms()
        while True:
            command = self._next(due_ms)
            if isinstance(command, StopThread):
                return
            if isinstance(command, Remove):
                self._agents.pop(command.agent, None)
            elif isinstance(command, Report):
                self._agents[command.agent] = command
                self._try({command.agent: command})
            else:
                if isinstance(command, ChangeInterval):
                    self._every_s = command.every_s
                due_ms = clock.monotonic_ms() + int(self._every_s * 1000)
                self._try(self._agents)

    def _next(self, due_ms: int) -> Command | None:
        """Wait for a command; return None when the heartbeats of all agents are due."""
        wait_s = (due_ms - clock.monotonic_ms()) / 1000
        try:
            return self._commands.get(timeout=max(0.0, wait_s))
        except queue.Empty:
            return None

    def _try(self, agents: dict[str, Report]) -> None:
        if not agents:
            return
        try:
            self._store = self._store or self._open_store()
            times = self._beat(self._store, agents)
            if self._on_heartbeat is not None:
                self._on_heartbeat(times)
        except (GitWorkerError, OSError) as error:  # the next heartbeat tries again
            if self._on_error is not None:
                self._on_error(error)

    def _beat(self, store: Store, agents: dict[str, Report]) -> dict[str, int]:
        times = {}
        with store.write_own(durable=False) as writer:
            for agent, report in agents.items():
                status, task = report.status, report.task
                if status is None:
                    times[agent] = renew_heartbeat(writer, agent, task=task)
                else:
                    times[agent] = record_heartbeat(
                        writer, agent, status=status, task=task, progress=report.progress
                    )
                renew_claims(writer, agent)
        return times
