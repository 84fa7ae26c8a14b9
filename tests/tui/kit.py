"""The control room under Textual's pilot, on a real repository."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from textual.pilot import Pilot

from gitworker import clock
from gitworker.service import Service, open_repository
from gitworker.tui.app import ControlRoom
from gitworker.tui.feed import Feed
from gitworker.tui.row_view import RowView
from gitworker.tui.view import View
from tests.workers.world import World

DEADLINE_MS = 20_000
SIZE = (80, 24)


@dataclass(frozen=True)
class Room:
    """A control room with a person at its keys."""

    app: ControlRoom
    pilot: Pilot[int]

    @property
    def service(self) -> Service:
        """Return the service that the screens use."""
        return self.app.service

    def text(self) -> str:
        """Return the whole screen as the terminal gets it."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips)

    @property
    def view(self) -> View:
        """Return the present screen."""
        assert isinstance(self.app.screen, View)
        return self.app.screen

    @property
    def body(self) -> RowView:
        """Return the rows of the present screen."""
        return self.view.body

    async def until(self, condition: Callable[[], object], about: str = "") -> None:
        """Wait until a condition holds."""
        deadline_ms = clock.monotonic_ms() + DEADLINE_MS
        while not condition():
            assert clock.monotonic_ms() < deadline_ms, f"{about}\n{self.text()}"
            await self.pilot.pause(0.02)

    async def see(self, *texts: str) -> None:
        """Wait until the screen shows texts."""
        for text in texts:
            await self.until(partial(self.shows, text), f"not shown: {text}")

    def shows(self, text: str) -> bool:
        """Return whether the screen shows a text."""
        return text in self.text()

    async def miss(self, text: str) -> None:
        """Wait until the screen does not show a text."""
        await self.until(lambda: text not in self.text(), f"still shown: {text}")

    async def press(self, *keys: str, sees: str = "") -> None:
        """Press keys, and wait until the screen shows a text."""
        await self.pilot.press(*keys)
        if sees:
            await self.see(sees)

    async def write(self, text: str, *, save: str = "ctrl+s") -> None:
        """Write a text into the open dialog and save it."""
        from gitworker.tui.screens.write import PlainArea

        await self.until(lambda: self.app.screen.query(PlainArea))
        self.app.screen.query_one(PlainArea).insert(text)
        await self.press(save)

    async def choose(self, text: str) -> None:
        """Move down until the row of the cursor has a text."""
        await self.press("home")
        await self.until(lambda: self.body.cursor is not None)
        while text not in self.line():
            before = self.body.cursor
            await self.press("down")
            assert self.body.cursor != before, f"no row {text}\n{self.text()}"

    async def choose_item(self, text: str) -> None:
        """Move down through the items until the row of the cursor has a text."""
        await self.press("home")
        while text not in self.line():
            before = self.body.cursor
            await self.press("j")
            assert self.body.cursor != before, f"no item {text}\n{self.text()}"

    def line(self) -> str:
        """Return the row of the cursor."""
        at = self.body.cursor
        assert at is not None
        return "".join(part.text for part in self.body.rows[at].parts)

    async def run(self, name: str) -> None:
        """Call a command of the palette."""
        found = {name: run for name, _, run in self.app.commands(self.app.screen)}
        found[name]()
        await self.pilot.pause()


@asynccontextmanager
async def opened(
    world: World, *, worker: str | None = None, size: tuple[int, int] = SIZE, service: Any = None
) -> AsyncIterator[Room]:
    """Open the control room of a repository."""
    chosen = service or open_repository(str(world.root))
    feed = Feed(chosen)
    app = ControlRoom(chosen, feed, chosen.reader(), worker=worker)
    try:
        async with app.run_test(size=size) as pilot:
            yield Room(app, pilot)
    finally:
        feed.close()
        app.close_threads()
        app.wait()


def play(world: World, story: Callable[[Room], Awaitable[None]], **options: Any) -> None:
    """Play a story in the control room of a repository."""

    async def run() -> None:
        async with opened(world, **options) as room:
            await story(room)

    asyncio.run(run())
