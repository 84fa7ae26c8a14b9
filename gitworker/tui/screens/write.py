"""The dialog in which a person writes a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import TextArea

from gitworker.rules_text import editable
from gitworker.tui.row_view import RowView
from gitworker.tui.rows.row import BOLD, DIM, Part, row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.events import Paste

    from gitworker.tui.room import Room


class Written(NamedTuple):
    """A text; `is_second`: it was sent by the second way."""

    text: str
    is_second: bool = False


class PlainArea(TextArea):
    """A field for text; control characters of a paste are escaped."""

    async def _on_paste(self, event: Paste) -> None:  # the one of TextArea follows by itself
        event.text = editable(event.text.replace("\r\n", "\n").replace("\r", "\n"))


class WriteScreen(ModalScreen[Written | None]):
    """Asks for a text: `ways` are the words for Ctrl+S and, if there are two, Ctrl+T.

    A text that is left, or whose change is refused, is shown again for the same `purpose`.
    """

    CSS = """
    WriteScreen { align: center middle; background: ansi_default; }
    WriteScreen Vertical {
        width: 90%; max-width: 100; height: 60%; border: round ansi_cyan; background: ansi_default;
    }
    WriteScreen RowView { height: auto; max-height: 4; background: ansi_default; }
    WriteScreen TextArea { height: 1fr; border: none; background: ansi_default; }
    """
    BINDINGS: ClassVar[list[Any]] = [
        Binding("ctrl+s,ctrl+enter", "save", "Save", priority=True),
        Binding("ctrl+t", "second", "Send as comments", priority=True),
        Binding("escape", "leave", "Leave", priority=True),
    ]

    def __init__(
        self, heading: Sequence[str], *, purpose: str, ways: Sequence[str], text: str = ""
    ) -> None:
        super().__init__()
        self._heading, self._purpose, self._ways, self._text = heading, purpose, ways, text

    def compose(self) -> ComposeResult:
        """Make the heading, the field and the line of keys."""
        with Vertical():
            heading, keys = RowView(id="heading"), RowView(id="ways")
            heading.can_focus = keys.can_focus = False
            yield heading
            text = self._texts.get(self._purpose, self._text)
            yield PlainArea(editable(text), soft_wrap=True, id="text")
            yield keys

    def on_mount(self) -> None:
        """Give the keys to the field before the heading asks for a text."""
        area = self.query_one(PlainArea)
        area.move_cursor(area.document.end)
        area.focus()
        self.call_after_refresh(self._show_heading)

    def _show_heading(self) -> None:
        self.query_one("#heading", RowView).show_heading(self._heading)
        names = (*zip(("Ctrl+S", "Ctrl+T"), self._ways, strict=False), ("Esc", "leave"))
        parts = [part for key, word in names for part in (Part(key, BOLD), Part(f" {word}  ", DIM))]
        ways = self.query_one("#ways", RowView)
        ways.styles.height = 1
        ways.show([row(*parts)])

    def on_text_area_changed(self) -> None:
        """Keep the text, however this dialog ends."""
        self._take()

    def action_save(self) -> None:
        """Return the text."""
        self.dismiss(Written(self._take()))

    def action_second(self) -> None:
        """Return the text by the second way, if there is one."""
        if len(self._ways) > 1:
            self.dismiss(Written(self._take(), is_second=True))

    def action_leave(self) -> None:
        """Return nothing, and keep the text."""
        self._take()
        self.dismiss(None)

    @property
    def _texts(self) -> dict[str, str]:
        return cast("Room", self.app).texts

    def _take(self) -> str:
        """Return the text; it is kept until a change has accepted it."""
        text = self.query_one(PlainArea).text.strip()
        self._texts.pop(self._purpose, None)
        if text and text != self._text.strip():
            self._texts[self._purpose] = text
        return text
