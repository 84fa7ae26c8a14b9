"""The board: every worker by what it needs, from the newest status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from gitworker import clock
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

    def load(self) -> None:
        """Show the newest status."""
        self.draw()

    def draw(self) -> None:
        """Show the board with the present ages."""
        frame, _ = self.room.feed.newest
        if frame is not None and self.has_parts:
            facts = self.room.facts
            self.body.show(board_rows(frame, facts, now_ms=clock.now_ms(), every=self.every))

    def commands(self) -> Iterator[tuple[str, str, Callable[[], None]]]:
        """Yield the commands of the board."""
        yield "Show or hide old landings", "on the board", self.action_old

    def action_open(self) -> None:
        """Review the worker under the cursor."""
        if self.body.key is not None:
            self.room.show_worker(self.body.key)

    def action_old(self) -> None:
        """Show or hide old landings."""
        self.every = not self.every
        self.draw()
