"""The control room: the room with its screens and its commands."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from textual.command import DiscoveryHit, Hit, Provider

from gitworker.states.worker_machine import state_label
from gitworker.tui.room import Room
from gitworker.tui.screens.board import Board
from gitworker.tui.view import View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual.command import Hits

    from gitworker.service import Service
    from gitworker.service.queue.board import Reader
    from gitworker.tui.feed import Feed

AGES_GROW_S = 10.0
PLACES = {  # and the module and the class of each, which are loaded when it is shown
    "board": ("board", "Board"), "inbox": ("inbox", "InboxView"), "queue": ("queue", "QueueView"),
    "tasks": ("tasks", "TasksView"), "agents": ("agents", "AgentsView"),
    "messages": ("talk", "MessagesView"), "settings": ("settings", "SettingsView"),
}  # fmt: skip


class Palette(Provider):
    """The commands of the palette: those of the screen, then those of the room."""

    async def discover(self) -> Hits:
        """Yield all commands."""
        for name, help, run in self._commands():
            yield DiscoveryHit(name, run, help=help)

    async def search(self, query: str) -> Hits:
        """Yield the commands that match some letters."""
        matcher = self.matcher(query)
        for name, help, run in self._commands():
            score = matcher.match(name)
            if score > 0:
                yield Hit(score, matcher.highlight(name), run, help=help)

    def _commands(self) -> Iterator[tuple[str, str, Callable[[], None]]]:
        room = self.app
        if isinstance(room, ControlRoom):
            yield from room.commands(self.screen)


class ControlRoom(Room):
    """The application with its screens; with `worker` it begins with that review."""

    CSS = """
    Screen { background: ansi_default; color: ansi_default; layers: base; }
    #top { height: 1; overflow: hidden hidden; }
    #notice { height: auto; max-height: 6; display: none; overflow: hidden hidden; }
    #keys { height: 1; overflow: hidden hidden; }
    """
    COMMANDS: ClassVar[set[Any]] = {Palette}

    def __init__(
        self, service: Service, feed: Feed, reader: Reader, *, worker: str | None = None
    ) -> None:
        super().__init__(service, feed, reader)
        self._first = worker

    def on_mount(self) -> None:
        """Show the first screen, and follow the status."""
        self.push_screen(Board())
        if self._first is not None:
            self.show_worker(self._first)
        self.follow_status()
        self.set_interval(AGES_GROW_S, self._grow)

    def _grow(self) -> None:
        if isinstance(self.screen, View):
            self.screen.grow()

    def shown(self) -> Iterator[tuple[View, bool]]:
        """Yield the screens, and whether each is above all others."""
        for one in list(self.screen_stack):
            if isinstance(one, View):
                yield one, one is self.screen

    def show_place(self, name: str) -> None:
        """Show one of PLACES instead of all other screens."""
        self.report(None)  # the outcome of a change was for the screen before
        while len(self.screen_stack) > 2:
            self.pop_screen()
        if name != "board":
            module, kind = PLACES[name]
            self.push_screen(getattr(import_module(f"gitworker.tui.screens.{module}"), kind)())

    def show_worker(self, worker: str) -> None:
        """Show the review of a worker."""
        from gitworker.tui.screens.review import ReviewView

        self.report(None)
        self.push_screen(ReviewView(worker))

    def show_help(self) -> None:
        """Show the keys."""
        from gitworker.tui.screens.text import HelpView

        self.push_screen(HelpView())

    def commands(self, screen: object) -> Iterator[tuple[str, str, Callable[[], None]]]:
        """Yield the commands of a screen and of the room: name, help and call."""
        if isinstance(screen, View):
            yield from screen.commands()
        for name in PLACES:
            yield f"Show the {name}", "", partial(self.show_place, name)
        frame, _ = self.feed.newest
        for line in frame.workers if frame else ():
            run = partial(self.show_worker, line.worker)
            yield f"Review {line.worker}", state_label(line.state), run
        yield "Quit", "Close the control room", self.exit
