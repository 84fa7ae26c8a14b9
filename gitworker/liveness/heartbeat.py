"""The heartbeat thread (seed 2): its own connection, a queue of commands, a beat every ten seconds.

It beats for any number of agents of this machine, so that long calls of theirs (a model's answer
takes minutes) never look like death. A busy or failing database costs a beat, never the thread.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass

from gitworker.errors import GitWorkerError
from gitworker.store.api import Store
from gitworker.store.heartbeats import beat, touch


@dataclass(frozen=True, slots=True)
class Tell:
    """Beat for `agent` from now on, telling this; None keeps what was told last."""

    agent: str
    status: str | None = None
    task: str | None = None
    progress: float | None = None


@dataclass(frozen=True, slots=True)
class Forget:
    """Beat for `agent` no more."""

    agent: str


class Stop:
    """End the thread."""


Command = Tell | Forget | Stop


class HeartbeatThread:
    """Beats in the background until stopped.

    `open_store` is called in the thread (a connection belongs to one thread). `on_error` hears
    what went wrong with a beat.
    """

    def __init__(
        self,
        open_store: Callable[[], Store],
        *,
        every_s: float = 10,
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        self._open_store = open_store
        self._every_s = every_s
        self._on_error = on_error
        self._commands: queue.Queue[Command] = queue.Queue()
        self._agents: dict[str, Tell] = {}
        self._thread = threading.Thread(target=self._loop, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Start beating."""
        self._thread.start()

    def tell(self, command: Tell | Forget) -> None:
        """Change whom it beats for, or what it tells; effective at once."""
        self._commands.put(command)

    def stop(self, timeout_s: float = 5) -> None:
        """End the thread and wait for it."""
        self._commands.put(Stop())
        self._thread.join(timeout_s)

    @property
    def is_alive(self) -> bool:
        """Tell whether the thread runs."""
        return self._thread.is_alive()

    def _loop(self) -> None:
        store: Store | None = None
        while True:
            try:
                command = self._commands.get(timeout=self._every_s)
            except queue.Empty:
                command = None
            if isinstance(command, Stop):
                return
            if isinstance(command, Forget):
                self._agents.pop(command.agent, None)
                continue
            if isinstance(command, Tell):
                self._agents[command.agent] = command
            try:
                store = store or self._open_store()
                self._beat(store, self._agents if command is None else {command.agent: command})
            except GitWorkerError as error:  # the next beat tries again
                if self._on_error is not None:
                    self._on_error(error)

    def _beat(self, store: Store, agents: dict[str, Tell]) -> None:
        with store.write(durable=False) as writer:
            for agent, told in agents.items():
                if told.status is None:
                    touch(writer, agent, task=told.task)
                else:
                    beat(writer, agent, status=told.status, task=told.task, progress=told.progress)
