"""The board: every worker by what it needs, from the newest status."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from gitworker import clock
from gitworker.observe.queue.board_columns import choices
from gitworker.observe.queue.board_filter import parse_filter
from gitworker.tui.keys import BOARD
from gitworker.tui.rows.board_rows import board_rows
from gitworker.tui.view import View, bindings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Board(View):
    """The first screen. It needs no thread: its data are the application's."""

    KEYS = BOARD
    BINDINGS: ClassVar[list[Any]] = bindings(BOARD)
    TITLE_TEXT = "Board"

    def __init__(self) -> None:
        super().__init__()
        self.every = False
        self.filter = ""

    def title_text(self) -> str:
        """Return the name, with the filter if there is one."""
        return f"Board, only {self.filter}" if self.filter else "Board"

    def load(self) -> None:
        """Show the newest status."""
        self.draw()

    def grow(self) -> None:
        """Show the present ages."""
        self.draw()

    def draw(self) -> None:
        """Show the board with the present ages."""
        frame, _ = self.room.feed.newest
        if frame is not None and self.has_parts:
            rows = board_rows(
                frame, self.room.facts, now_ms=clock.now_ms(), every=self.every,
                chosen=parse_filter(self.filter),
            )  # fmt: skip
            self.body.show(rows)

    def commands(self) -> Iterator[tuple[str, str, Callable[[], None]]]:
        """Yield the commands of the board."""
        yield "Show or hide old landings", "on the board", self.action_old
        yield "Filter the board", "key /", self.action_filter
        if self.filter:
            yield "Show all workers", "without the filter", partial(self.set_filter, "")
        for name, values in choices(self.room.facts.values()).items():
            for value in values:
                text = f"{name}:{value}"
                yield f"Show only {text}", "on the board", partial(self.set_filter, text)

    def action_open(self) -> None:
        """Review the worker under the cursor."""
        if self.body.key is not None:
            self.room.show_worker(self.body.key)

    def action_old(self) -> None:
        """Show or hide old landings."""
        self.every = not self.every
        self.draw()

    def action_filter(self) -> None:
        """Ask for the filter."""
        from gitworker.tui.screens.ask import AskScreen

        known = choices(self.room.facts.values())
        values = [f"{name}:{value}" for name, found in known.items() for value in found]
        heading = ["Show only the workers with these words", *values]
        self.room.push_screen(AskScreen(heading, text=self.filter), self._end_filter)

    def _end_filter(self, text: str | None) -> None:
        if text is not None:
            self.set_filter(text)

    def set_filter(self, text: str) -> None:
        """Show only the workers that a filter accepts; all without a text."""
        self.filter = text
        self.show_top()
        self.draw()

    def action_back(self) -> None:
        """Remove the notice, or else the filter."""
        if self.room.outcome is None and self.filter:
            self.set_filter("")
            return
        super().action_back()
