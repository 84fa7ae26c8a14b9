"""One progress line on standard error's terminal, redrawn in place."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from gitworker.cli import output
from gitworker.cli.call import show_event
from gitworker.errors import GitWorkerError
from gitworker.observe.logs.tail import last_lines
from gitworker.observe.text import cut, one_line, without_escapes
from gitworker.progress import Event, Replaying, RunProgress, VerificationNotice, Verifying

if TYPE_CHECKING:
    from collections.abc import Sequence

START, REST_OF_LINE = "\r", "\x1b[K"
WIDTH = 80


class ProgressLine:
    """Shows events, and replays and verify commands on a line that the end of the `with` removes.

    There is no such line if standard error is not a terminal that can redraw it. If `is_brief`, the
    beginning and the end of a verification are not shown.
    """

    def __init__(self, *, is_brief: bool = False) -> None:
        self._is_brief = is_brief
        self._can_draw = output.is_terminal(output.ERR) and os.environ.get("TERM", "dumb") != "dumb"
        self._is_drawn = False

    def __call__(self, event: Event, /) -> None:
        """Show one event; other lines are written above the progress line."""
        if isinstance(event, Verifying):
            self.show(event.runs)
        elif isinstance(event, Replaying):
            self._show_text(replay_text(event))
        elif not (self._is_brief and isinstance(event, VerificationNotice)):
            self.clear()
            show_event(event)

    def show(self, runs: Sequence[RunProgress]) -> None:
        """Redraw the line: each run with its seconds, and the last output of the first one."""
        if runs:
            self._show_text(runs_text(runs))

    def clear(self) -> None:
        """Remove the line."""
        if self._is_drawn:
            self._draw("")
            self._is_drawn = False

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the line."""
        self.clear()

    def _show_text(self, text: str) -> None:
        if self._can_draw:
            self._draw(cut(text, _columns() - 1))

    def _draw(self, text: str) -> None:
        with suppress(OSError, GitWorkerError):  # ignore a closed terminal
            output.steer(f"{START}{text}{REST_OF_LINE}")
        self._is_drawn = True


def replay_text(event: Replaying) -> str:
    """Return the worker whose commits are replayed."""
    place = f" ({event.number} of {event.total})" if event.total > 1 else ""
    return f"rebasing {event.worker}{place}"


def runs_text(runs: Sequence[RunProgress]) -> str:
    """Return running commands as one line without control sequences."""
    begun = [run for run in runs if run.log]
    parts = [f"{run.label} {run.elapsed_ms // 1000}s" for run in begun]
    if len(begun) < len(runs):
        parts.append(f"{len(runs) - len(begun)} waiting")
    output_lines = last_lines(begun[0].log, 1)[0] if begun else []
    text = f"verifying {', '.join(parts)}"
    if begun:
        text += f"  `{begun[0].command}`"
    if output_lines:
        text += f"  {without_escapes(output_lines[0]).strip()}"
    return one_line(text)


def _columns() -> int:
    try:
        return os.get_terminal_size(output.ERR).columns or WIDTH
    except OSError:
        return WIDTH
