"""The agents: those that are alive, with the orders to them, and those that are registered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from gitworker.service.outcome_words import Outcome, order_outcome
from gitworker.tui.keys import AGENTS
from gitworker.tui.rows.agent_rows import AliveKey, RegisteredKey, agent_rows
from gitworker.tui.view import Loaded, View, bindings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NO_RUN = "the cursor is on no agent that runs under supervision"


class AgentsView(View):
    """All agents."""

    KEYS = AGENTS
    BINDINGS: ClassVar[list[Any]] = bindings(AGENTS)
    TITLE_TEXT = "Agents"

    def read(self, width: int) -> Loaded:
        """Return both lists."""
        del width
        service = self.room.service
        return Loaded(agent_rows(service.agents(), service.list_registered()))

    def action_open(self) -> None:
        """Review the worker of the agent."""
        key = self.body.key
        if isinstance(key, AliveKey) and key.worker:
            self.room.show_worker(key.worker)

    def action_log(self) -> None:
        """Follow the log of the agent."""
        from gitworker.tui.screens.talk import LogView

        key = self.body.key
        if isinstance(key, AliveKey) and key.worker:
            self.room.push_screen(LogView(key.worker))

    def action_pause(self) -> None:
        """Pause an agent that runs or give a registered one no more tasks, or the reverse."""
        if self.is_lost():
            return
        key, service = self.body.key, self.room.service
        if isinstance(key, RegisteredKey):
            name, is_paused = key.agent, not key.is_paused

            def change() -> Outcome:
                state = service.change_agent(name, is_paused=is_paused)
                return Outcome(f"{name} is {state.lower()}")

            self.room.change(f"change {name}", change)
        elif isinstance(key, AliveKey):
            self._order("resume" if key.is_paused else "pause")
        else:
            self.refuse(NO_RUN)

    def action_stop(self) -> None:
        """Stop the agent under the cursor; its work stays."""
        self._order("stop")

    def _order(self, command: str) -> None:
        if self.is_lost():
            return
        key, service = self.body.key, self.room.service
        if not isinstance(key, AliveKey) or not key.worker or not key.has_run:
            self.refuse(NO_RUN)
            return
        name = key.worker
        self.room.change(f"{command} {name}", lambda: order_outcome(service, name, command))

    def commands(self) -> Iterator[tuple[str, str, Callable[[], None]]]:
        """Yield the keys of the screen."""
        for one in AGENTS:
            yield one.effect.capitalize(), f"key {one.shown}", getattr(self, f"action_{one.action}")
