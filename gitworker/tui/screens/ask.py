"""The dialog in which a person writes one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from gitworker.rules_text import one_line
from gitworker.tui.row_view import RowView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.events import Paste

LINES_AT_MOST = 8


class PlainInput(Input):
    """A field for one line; control characters of a paste are escaped."""

    def _on_paste(self, event: Paste) -> None:  # the one of Input follows by itself
        event.text = one_line((event.text.splitlines() or [""])[0])


class AskScreen(ModalScreen[str | None]):
    """Asks for a line: Enter returns it, Esc returns None."""

    CSS = """
    AskScreen { align: center bottom; background: ansi_default; }
    AskScreen Vertical {
        width: 100%; height: auto; border: round ansi_cyan; background: ansi_default;
    }
    AskScreen RowView { height: auto; max-height: 8; background: ansi_default; }
    AskScreen Input { border: none; height: 1; padding: 0; background: ansi_default; }
    """
    BINDINGS: ClassVar[list[Any]] = [Binding("escape", "leave", "Leave", priority=True)]

    def __init__(self, heading: Sequence[str], *, text: str = "") -> None:
        super().__init__()
        self._heading, self._text = heading[:LINES_AT_MOST], text

    def compose(self) -> ComposeResult:
        """Make the heading and the field."""
        with Vertical():
            heading = RowView(id="heading")
            heading.can_focus = False
            yield heading
            yield PlainInput(one_line(self._text), id="line")

    def on_mount(self) -> None:
        """Give the keys to the field."""
        self.query_one(PlainInput).focus()
        self.call_after_refresh(self._show_heading)

    def _show_heading(self) -> None:
        self.query_one("#heading", RowView).show_heading(self._heading)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return the line."""
        self.dismiss(event.value.strip())

    def action_leave(self) -> None:
        """Return nothing."""
        self.dismiss(None)
