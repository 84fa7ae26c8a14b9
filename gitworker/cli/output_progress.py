"""One line on the terminal of standard error that says what is going on, redrawn in its place."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from gitworker.cli import output
from gitworker.errors import GitWorkerError
from gitworker.observe.logs.tail import last_lines
from gitworker.observe.text import cut, one_line, without_escapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.verify.verify import Progress

START, REST_OF_LINE = "\r", "\x1b[K"
WIDTH = 80


class ProgressLine:
    """Shows runs while they go on; use it in a `with`, whose end takes the line away.

    Nothing is shown where standard error is no terminal that can redraw a line.
    """

    def __init__(self) -> None:
        self._can_draw = output.is_terminal(output.ERR) and os.environ.get("TERM", "dumb") != "dumb"
        self._is_drawn = False

    def show(self, runs: Sequence[Progress]) -> None:
        """Draw the line anew: each run with its seconds, of the first one the last output."""
        if self._can_draw and runs:
            self._draw(cut(runs_text(runs), _columns() - 1))

    def narrate(self, text: str) -> None:
        """Write lines that stay, above the line that is redrawn."""
        self.clear()
        output.narrate(text)

    def clear(self) -> None:
        """Take the line away."""
        if self._is_drawn:
            self._draw("")
            self._is_drawn = False

    def __enter__(self) -> ProgressLine:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """Take the line away."""
        self.clear()

    def _draw(self, text: str) -> None:
        with suppress(OSError, GitWorkerError):  # a terminal that has gone is nobody's failure
            output.steer(f"{START}{text}{REST_OF_LINE}")
        self._is_drawn = True


def runs_text(runs: Sequence[Progress]) -> str:
    """Return running commands as one line without anything that commands a terminal."""
    begun = [run for run in runs if run.log]
    parts = [f"{run.label} {run.elapsed_ms // 1000}s" for run in begun]
    if len(begun) < len(runs):
        parts.append(f"{len(runs) - len(begun)} waiting")
    said = last_lines(begun[0].log, 1)[0] if begun else []
    text = f"verifying {', '.join(parts)}"
    if begun:
        text += f"  `{begun[0].command}`"
    if said:
        text += f"  {without_escapes(said[0]).strip()}"
    return one_line(text)


def _columns() -> int:
    try:
        return os.get_terminal_size(output.ERR).columns or WIDTH
    except OSError:
        return WIDTH
