"""Screens of text: the help, the output of a verification, the changes since the last look."""

from __future__ import annotations

from gitworker.tui.keys import TABLES, WRITING
from gitworker.tui.rows.list_rows import comparison_rows, text_rows
from gitworker.tui.rows.row import BAD, BOLD, GOOD, SHORT, Part, row, title
from gitworker.tui.view import Loaded, View

WIDTH = 12


class HelpView(View):
    """The keys."""

    TITLE_TEXT = "Help"
    STOPS_EVERYWHERE = True
    FOLLOWS = False

    def read(self, width: int) -> Loaded:
        """Return the tables of keys."""
        del width
        rows = []
        for name, keys in TABLES:
            rows.append(title(name))
            rows += [
                row("  ", Part(f"{one.shown:<{WIDTH}}", BOLD), one.effect)
                for one in keys if one.shown
            ]  # fmt: skip
            rows.append(row())
        rows.append(title("While you write"))
        rows += [row("  ", Part(f"{name:<{WIDTH}}", BOLD), effect) for name, effect in WRITING]
        return Loaded(rows)

    def action_help(self) -> None:
        """Close the help."""
        self.room.pop_screen()


class VerifyView(View):
    """The newest verdict on a commit, with the end of its output."""

    STOPS_EVERYWHERE = True

    def __init__(self, commit: str) -> None:
        super().__init__()
        self._commit = commit

    def title_text(self) -> str:
        """Return the commit."""
        return f"Verification of {self._commit[:SHORT]}"

    def read(self, width: int) -> Loaded:
        """Return the verdict and the output."""
        del width
        found = self.room.service.verify_output(self._commit)
        verdict = found.verified.verdict
        style = GOOD if verdict == "passed" else BAD
        head = row(Part(verdict, style), f"  {found.verified.reason}" * bool(found.verified.reason))
        output = text_rows(found.lines) or [row("no output is left")]
        return Loaded([head, row(), *output])


class RoundsView(View):
    """The changes of a worker since the reader's last look, or from round to round."""

    STOPS_EVERYWHERE = True
    FOLLOWS = False

    def __init__(self, worker: str, rounds: str | None) -> None:
        super().__init__()
        self._worker, self._rounds = worker, rounds

    def title_text(self) -> str:
        """Return the worker and the rounds."""
        return f"{self._worker}: changes {self._rounds or 'since your last look'}"

    def read(self, width: int) -> Loaded:
        """Return the comparison."""
        del width
        return Loaded(comparison_rows(self.room.service.compare_rounds(self._worker, self._rounds)))
