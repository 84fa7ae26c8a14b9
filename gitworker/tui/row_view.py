"""The widget that shows rows: it renders only the lines on the screen, however many there are.

All text of screens passes here, and nothing else writes text of agents to the terminal: each part
is made one line without control characters, and is never read as markup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from gitworker.observe.text_width import width_of
from gitworker.tui.rows.row import BOLD, DIM, Part, clean, row

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.events import Click
    from textual.geometry import Region
    from textual.timer import Timer

    from gitworker.tui.rows.row import AnyRow

STRIPS_KEPT = 200
REST_S = 0.05  # rows are coloured once the screen rests, so that no step waits for it
STYLES: dict[str, Style] = {}


def style_of(name: str) -> Style:
    """Return the style with a name, such as `bold red`."""
    if name not in STYLES:
        STYLES[name] = Style.parse(name) if name else Style.null()
    return STYLES[name]


class RowView(ScrollView, can_focus=True, inherit_bindings=False):
    """Shows rows with a cursor. `stops_everywhere`: the arrows stop at each row, else at items."""

    DEFAULT_CSS = """
    RowView { height: 1fr; overflow-x: auto; overflow-y: auto; scrollbar-size: 1 1; }
    RowView:focus { background-tint: transparent; }
    """

    class Chosen(Message):
        """The row under the cursor was clicked twice."""

    def __init__(self, *, stops_everywhere: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.rows: Sequence[AnyRow] = ()
        self.cursor: int | None = None
        self.first: int | None = None  # the other end of a range
        self.is_lost = False  # the item under the cursor has vanished, and no other was chosen yet
        self._stops_everywhere = stops_everywhere
        self._strips: dict[tuple[int, bool], Strip] = {}
        self._width = 0
        self._style: Style | None = None
        self._rest: Timer | None = None

    def show_heading(self, lines: Sequence[str]) -> None:
        """Show lines as the heading of a dialog, the first one bold, in as many rows."""
        self.styles.height = len(lines)
        self.show([row(Part(line, DIM if at else BOLD)) for at, line in enumerate(lines)])

    def show(self, rows: Sequence[AnyRow]) -> None:
        """Show rows; the cursor stays at its item, also in other rows, and on the screen.

        If that item has vanished, none is chosen until the next move (`is_lost`); where each row is
        a stop, the cursor stays at its row.
        """
        item = self._item()
        beyond = 0 if item is None or self.cursor is None else self.cursor - item
        wanted = None if item is None else self.rows[item].key
        offset = None if self.cursor is None else self.cursor - self.scroll_offset.y
        self.rows = rows
        self._strips.clear()
        self._width = max((one.width for one in rows), default=0)
        self.virtual_size = Size(self._width, len(rows))
        self.first = None
        found = None if wanted is None else self._find(wanted)
        if found is not None:
            found = min(found + beyond, len(rows) - 1)
        else:
            found = self._nearest(self.cursor or 0)
            self.is_lost |= wanted is not None and not self._stops_everywhere
        self.cursor = found
        if found is not None and offset is not None and 0 <= offset < self.size.height:
            self._scroll(found - offset)
        elif found is not None:
            self._reveal(found)
        self.refresh()

    @property
    def key(self) -> Any:
        """Return the key of the row under the cursor, or of the item that it belongs to."""
        item = self._item()
        return None if item is None else self.rows[item].key

    @property
    def keys(self) -> list[Any]:
        """Return the keys of the chosen range of rows, in their order."""
        if self.cursor is None:
            return []
        ends = sorted((self.cursor, self.cursor if self.first is None else self.first))
        chosen = self.rows[ends[0] : ends[1] + 1]
        return [one.key for one in chosen if one.key is not None] or [self.key]

    def move(self, step: int, *, is_wanted: Callable[[AnyRow], bool] | None = None) -> bool:
        """Move the cursor to the next row that is wanted, by default a stop; return whether."""
        if self.is_lost and self.cursor is not None:
            self._go(self.cursor)
            return True
        wanted = is_wanted or self._is_stop
        at = -1 if self.cursor is None and step > 0 else (self.cursor or 0)
        while 0 <= (at := at + step) < len(self.rows):
            if wanted(self.rows[at]):
                self._go(at)
                return True
        if not self._stops_everywhere and is_wanted is None:
            self.scroll_relative(y=step, animate=False)  # rows without an item at the ends
        return False

    def extend(self, step: int) -> None:
        """Move the cursor by one row of the same file, and keep the range from its beginning."""
        at = (self.cursor or 0) + step
        if not 0 <= at < len(self.rows) or self.rows[at].is_file:
            return
        self._go(at, first=self.cursor if self.first is None else self.first)

    def page(self, step: int) -> None:
        """Move by one screen."""
        size = step * max(1, self.size.height - 1)
        at = min(max((self.cursor or 0) + size, 0), max(0, len(self.rows) - 1))
        top = self.scroll_offset.y + size
        self._scroll(top)
        found = self._nearest(at)
        if found is not None:
            self._go(found)

    def edge(self, step: int) -> None:
        """Move to the first or the last stop, and show the rows beyond it."""
        found = self._nearest(0 if step < 0 else len(self.rows))
        if found is not None:
            self._go(found)
        self._scroll(0 if step < 0 else len(self.rows))

    def _scroll(self, y: int) -> None:
        """Scroll at once, so that it is drawn only once.

        The scrollbar of rows that did not fill the screen before comes with the next layout.
        """
        self.scroll_to(y=y, animate=False, immediate=True, force=True)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the lines of a region.

        Textual would compute styles for each line, and take three times as long; it still does so
        without colours, which it filters there.
        """
        if self.app.no_color:
            return super().render_lines(crop)
        return [self._line(y, crop.x, crop.right) for y in crop.line_range]

    def render_line(self, y: int) -> Strip:
        """Return one line of the screen."""
        return self._line(y, 0, self.size.width)

    def _line(self, y: int, left: int, right: int) -> Strip:
        scroll_x, scroll_y = self.scroll_offset
        at = scroll_y + y
        if at >= len(self.rows):
            return Strip.blank(right - left, self._base)
        return self._strip(at).crop_extend(scroll_x + left, scroll_x + right, self._base)

    @property
    def _base(self) -> Style:
        """Return the style of the background; computing it takes as long as rendering a line."""
        if self._style is None:
            self._style = self.rich_style
        return self._style

    def _strip(self, at: int) -> Strip:
        """Return the whole row, from the cache if it was on the screen before."""
        known = (at, self._is_chosen(at))
        strip = self._strips.get(known)
        if strip is None:
            base = self._base + style_of("reverse") if known[1] else self._base
            parts = [
                Segment(clean(one.text), base + style_of(one.style)) for one in self.rows[at].parts
            ]
            length = sum(width_of(one.text) for one in parts)
            width = self.size.width
            if length < width:  # or Textual makes a second strip, which takes as long
                parts.append(Segment(" " * (width - length), base))
            strip = Strip(parts, max(length, width))
            if len(self._strips) >= STRIPS_KEPT:
                self._strips.clear()
            self._strips[known] = strip
            self._color_later()
            if length > self._width and not known[1]:
                self._width = length
                self.call_after_refresh(self._widen)
        return strip

    def _color_later(self) -> None:
        """Colour the rows of the screen once no new ones come."""
        if self._rest is None:
            self._rest = self.set_timer(REST_S, self.color)
        else:
            self._rest.reset()

    def color(self) -> None:
        """Colour the rows of the screen, and draw those that were without colours again."""
        if self._rest is not None:
            self._rest.stop()
            self._rest = None
        top = self.scroll_offset.y
        shown = self.rows[top : top + self.size.height]
        is_new = [one.color() for one in shown]
        if any(is_new):
            self._strips.clear()
            self.refresh()

    def _widen(self) -> None:
        self.virtual_size = Size(self._width, len(self.rows))

    def notify_style_update(self) -> None:
        """Forget the rendered rows, which have the old colours."""
        super().notify_style_update()
        self._style = None
        self._strips.clear()

    def on_resize(self) -> None:
        """Render again, because the cursor is as wide as the screen."""
        self._strips.clear()
        if self.cursor is not None:
            self._reveal(self.cursor)

    def on_click(self, event: Click) -> None:
        """Move the cursor to a row; a second click chooses it."""
        at = self.scroll_offset.y + event.y
        if at >= len(self.rows) or not (self._stops_everywhere or self.rows[at].key is not None):
            return
        was = self.cursor
        if event.shift and self._stops_everywhere:
            self._go(at, first=was)
        else:
            self._go(at)
            if was == at and event.chain > 1:
                self.post_message(self.Chosen())

    def _go(self, at: int, *, first: int | None = None) -> None:
        """Move the cursor; `first` is the other end of a range."""
        before, offset = self.cursor, self.scroll_offset
        self.is_lost = False
        is_range = self.first is not None or first is not None
        self.cursor, self.first = at, first
        self._reveal(at)
        if before is None or is_range or offset != self.scroll_offset:
            self.refresh()
            return
        self.refresh_line(before)
        self.refresh_line(at)

    def _reveal(self, at: int) -> None:
        top, height = self.scroll_offset.y, max(1, self.size.height)
        if at < top:
            self._scroll(0 if self._is_at_start(at) else at)
        elif at >= top + height:
            self._scroll(at - height + 1)

    def _is_at_start(self, at: int) -> bool:
        """Return whether no stop is before a row, so that the heading above it is shown."""
        return at < self.size.height and not any(map(self._is_stop, self.rows[:at]))

    def _is_chosen(self, at: int) -> bool:
        if self.cursor is None or self.is_lost or not self.has_focus:
            return False
        first = self.cursor if self.first is None else self.first
        return min(first, self.cursor) <= at <= max(first, self.cursor)

    def _is_stop(self, one: AnyRow) -> bool:
        return self._stops_everywhere or one.key is not None

    def _item(self) -> int | None:
        """Return the row of the item that the cursor is on."""
        if self.cursor is None or not self.rows:
            return None
        earlier = range(min(self.cursor, len(self.rows) - 1), -1, -1)
        return next((at for at in earlier if self.rows[at].key is not None), None)

    def _find(self, key: Any) -> int | None:
        """Return the row of the same item; a key that has facts of its item has an `identity`."""
        if not hasattr(key, "identity"):
            return next((at for at, one in enumerate(self.rows) if one.key == key), None)
        wanted, kind = key.identity, type(key)
        rows = enumerate(self.rows)
        same = (at for at, one in rows if type(one.key) is kind and one.key.identity == wanted)
        return next(same, None)

    def find_again(self) -> None:
        """Choose the item that is at the place of the one that has vanished."""
        self.is_lost = False
        self.refresh()

    def _nearest(self, at: int) -> int | None:
        """Return the first stop from a row on, or the last one before it."""
        after = (one for one in range(at, len(self.rows)) if self._is_stop(self.rows[one]))
        earlier = range(min(at, len(self.rows)) - 1, -1, -1)
        before = (one for one in earlier if self._is_stop(self.rows[one]))
        return next(after, next(before, None))
