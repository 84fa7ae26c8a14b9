"""A screen of the control room: the title, the rows, the notice of the last change, the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from textual.binding import Binding
from textual.screen import Screen

from gitworker.errors import GitWorkerError, Invalid
from gitworker.rules_text import count_text
from gitworker.service.outcome_words import Outcome, refusal_words
from gitworker.tui.keys import EVERYWHERE
from gitworker.tui.row_view import RowView
from gitworker.tui.rows.row import BAD, BOLD, DIM, GOOD, NOTED, Part, paragraphs, row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from textual.app import ComposeResult
    from textual.timer import Timer

    from gitworker.tui.keys import Key
    from gitworker.tui.room import Room
    from gitworker.tui.rows.row import AnyRow

NOTICE_AT_MOST = 6
SHIFT = 8


class Loaded(NamedTuple):
    """The rows of a screen and the data that they were made from."""

    rows: Sequence[AnyRow]
    data: Any = None


def bindings(keys: Iterable[Key]) -> list[Any]:
    """Return a table of keys for Textual."""
    return [
        Binding(one.names, one.action, one.effect, show=False, priority=one.action == "show_help")
        for one in keys
    ]


class View(Screen[None]):
    """A screen that reads its rows in a thread: `read` there, then `loaded` here."""

    BINDINGS: ClassVar[list[Any]] = bindings(EVERYWHERE)
    KEYS: ClassVar[tuple[Key, ...]] = ()
    TITLE_TEXT = ""
    STOPS_EVERYWHERE = False
    FOLLOWS = True  # it is read again when the status changes

    def __init__(self) -> None:
        super().__init__()
        self.data: Any = None
        self.refusal: GitWorkerError | None = None  # of the last read
        self.is_reading = self._is_due = self._is_stale = False
        self._later: Timer | None = None

    # ------------------------------------------------------------------ for the screens
    def read(self, width: int) -> Loaded:
        """Return the rows; called in a thread."""
        raise NotImplementedError

    def title_text(self) -> str:
        """Return the name of the screen."""
        return self.TITLE_TEXT

    def loaded(self) -> None:
        """React to new data, in the loop."""

    def failed(self) -> None:
        """React to a read that was refused, in the loop."""

    def grow(self) -> None:
        """Show the present ages, without reading anything."""

    def commands(self) -> Iterator[tuple[str, str, Callable[[], None]]]:
        """Yield the screen's commands for the palette: name, help and call."""
        yield from ()

    # ------------------------------------------------------------------ parts
    @property
    def room(self) -> Room:
        """Return the application."""
        return cast("Room", self.app)

    @property
    def has_parts(self) -> bool:
        """Return whether the widgets exist: a result may come before or after them."""
        return bool(self.query("#keys"))

    @property
    def body(self) -> RowView:
        """Return the widget of the rows."""
        return self.query_one("#body", RowView)

    def compose(self) -> ComposeResult:
        """Make the parts."""
        top = RowView(id="top")
        notice, keys = RowView(id="notice"), RowView(id="keys")
        for one in (top, notice, keys):
            one.can_focus = False
        yield top
        yield RowView(id="body", stops_everywhere=self.STOPS_EVERYWHERE)
        yield notice
        yield keys

    def on_mount(self) -> None:
        """Read the rows."""
        self.body.focus()
        self.show_top()
        self.show_keys()
        self.show_notice()
        self.load()

    def on_screen_resume(self) -> None:
        """Read the rows again if the status has changed while another screen covered this one."""
        if self._is_stale:
            self.load()

    def load(self) -> None:
        """Read the rows in a thread; once more if this is called meanwhile."""
        if self.is_reading:
            self._is_due = True
            return
        self.is_reading, self._is_due, self._is_stale = True, False, False
        width = max(20, self.size.width or 80)
        self.room.read(lambda: self.read(width), self._show, self._fail)

    def load_later(self, seconds: float) -> None:
        """Read the rows again after a time, if this screen is the upper one by then."""
        if self._later is None:
            self._later = self.set_timer(seconds, self._load_now)

    def _load_now(self) -> None:
        self._later = None
        if self.room.screen is self:
            self.load()
        else:
            self._is_stale = True

    def _show(self, found: Loaded) -> None:
        self.data, self.refusal = found.data, None
        if self.has_parts:
            self.body.show(found.rows)
            self.loaded()
            self.show_top()
        self._end()

    def _fail(self, error: GitWorkerError) -> None:
        self.refusal = error
        if self.has_parts and not self.body.rows:
            text = [row(Part(line, BAD)) for line in refusal_words(error).split("\n")]
            hint = [row(Part(f"hint: {error.hint}", DIM))] if error.hint else []
            self.body.show([*text, *hint])
        elif self.has_parts:
            self.room.report(Outcome(refusal_words(error), error.hint, True))
        if self.has_parts:
            self.failed()
        self._end()

    def _end(self) -> None:
        self.is_reading = False
        if self._is_due:
            self.load()

    def status_changed(self, *, is_shown: bool) -> None:
        """Show the new status."""
        if self.has_parts:
            self.show_top()
            if self.FOLLOWS and is_shown:
                self.load()
            elif self.FOLLOWS:
                self._is_stale = True

    def show_top(self) -> None:
        """Show the line with the target, the identity and the number of things that wait."""
        frame, error = self.room.feed.newest
        reader = self.room.reader
        parts = [Part(f"{self.title_text()}", BOLD), Part(f"  onto {reader.target}", DIM)]
        parts.append(Part(f" as {reader.person or reader.identity}", DIM))
        if self.room.needs:
            parts.append(Part(f"  {count_text(self.room.needs, 'item')} in your inbox", NOTED))
        if error is not None:
            parts.append(Part(f"  {error.message}", BAD))
        elif frame is None:
            parts.append(Part("  reading …", DIM))
        self.query_one("#top", RowView).show([row(*parts)])

    def show_keys(self) -> None:
        """Show the line of keys."""
        known = [one for one in (*self.KEYS, *EVERYWHERE) if one.short]
        shown = sorted(known, key=lambda one: one.action != "help")  # a narrow screen has that one
        parts = [
            part for one in shown for part in (Part(one.shown, BOLD), Part(f" {one.short}  ", DIM))
        ]
        self.query_one("#keys", RowView).show([row(*parts)])

    def show_notice(self) -> None:
        """Show the outcome of the last change."""
        if not self.has_parts:
            return
        outcome, notice = self.room.outcome, self.query_one("#notice", RowView)
        notice.display = outcome is not None
        if outcome is None:
            return
        width = max(20, self.size.width or 80)
        style = BAD if outcome.is_refused else GOOD
        text = list(paragraphs(outcome.text, width=width, style=style))
        hint = f"hint: {outcome.hint}" if outcome.hint else ""
        hints = [row(Part(hint[at : at + width], DIM)) for at in range(0, len(hint), width)]
        left = max(1, NOTICE_AT_MOST - len(hints))
        rows = [*text[: left - 1], row(Part("…", style))] if len(text) > left else text
        rows += hints
        notice.styles.height = len(rows)
        notice.show(rows)

    def is_lost(self) -> bool:
        """Return whether the item under the cursor has vanished; say so, and choose the next."""
        if not self.body.is_lost:
            return False
        self.body.find_again()
        self.refuse("the item under the cursor is gone; the cursor is on the next one now")
        return True

    def refuse(self, error: GitWorkerError | str) -> None:
        """Show why a key does nothing."""
        found = Invalid(error) if isinstance(error, str) else error
        self.room.report(Outcome(found.message, found.hint, True))

    def on_resize(self) -> None:
        """Wrap the texts again."""
        if self.data is not None and self.FOLLOWS:
            self.load()

    # ------------------------------------------------------------------ keys
    def action_move(self, step: int) -> None:
        """Move to the next or previous item."""
        self.body.move(step, is_wanted=lambda one: one.key is not None)

    def action_step(self, step: int) -> None:
        """Move to the next or previous line."""
        self.body.move(step)

    def action_page(self, step: int) -> None:
        """Move by one screen."""
        self.body.page(step)

    def action_edge(self, step: int) -> None:
        """Move to the first or last line."""
        self.body.edge(step)

    def action_shift(self, step: int) -> None:
        """Move long lines to the side."""
        self.body.scroll_relative(x=step * SHIFT, animate=False)

    def action_show(self, name: str) -> None:
        """Show a place, such as the board."""
        self.room.show_place(name)

    def action_reload(self) -> None:
        """Read the rows again."""
        self.load()

    def action_back(self) -> None:
        """Remove the notice, or show the screen before this one."""
        if self.room.outcome is not None:
            self.room.report(None)
        elif len(self.room.screen_stack) > 2:
            self.room.pop_screen()

    def action_help(self) -> None:
        """Show the keys."""
        self.room.show_help()

    def action_quit(self) -> None:
        """Close the control room."""
        self.room.exit()

    def action_open(self) -> None:
        """Open the item under the cursor."""

    def on_row_view_chosen(self) -> None:
        """Open the item that was clicked twice."""
        self.action_open()
