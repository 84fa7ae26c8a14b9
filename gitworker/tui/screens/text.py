"""Screens of text: the help, the output of a verification, the changes since the last look."""

from __future__ import annotations

from gitworker import clock
from gitworker.errors import NotFound
from gitworker.tui.keys import TABLES, WRITING
from gitworker.tui.rows.list_rows import comparison_rows, text_rows
from gitworker.tui.rows.row import BAD, BOLD, DIM, GOOD, NOTED, SHORT, Part, age, row, title
from gitworker.tui.view import Loaded, View

WIDTH = 12
LIVE_S = 0.5


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
    """The output of the verify commands on a commit: while they run, or with their verdict."""

    STOPS_EVERYWHERE = True

    def __init__(self, commit: str) -> None:
        super().__init__()
        self._commit = commit
        self._last = 0  # the number of the last row that was shown

    def title_text(self) -> str:
        """Return the commit."""
        return f"Verification of {self._commit[:SHORT]}"

    def read(self, width: int) -> Loaded:
        """Return the verdict and the output."""
        del width
        runs = self.room.service.running_verifications()
        run = next((one for one in runs if one.commit == self._commit), None)
        if run is not None:
            since = f"  for {age(clock.now_ms(), run.started_at_ms)}"
            head = row(Part("running", NOTED), Part(since, DIM))
            return Loaded([head, row(), *text_rows(run.lines)], True)
        try:
            found = self.room.service.verify_output(self._commit)
        except NotFound:
            if not self.data:
                raise
            head = row(Part("ended", NOTED), Part("  without a verdict so far", DIM))
            return Loaded([head, *self.body.rows[1:]], True)
        verdict = found.verified.verdict
        style = GOOD if verdict == "passed" else BAD
        head = row(Part(verdict, style), f"  {found.verified.reason}" * bool(found.verified.reason))
        output = text_rows(found.lines) or [row("no output is left")]
        return Loaded([head, row(), *output], False)

    def loaded(self) -> None:
        """Follow the output of a run, and its end while the last line is on the screen."""
        body = self.body
        if (body.cursor or 0) >= self._last and (self.data or self._last):
            body.edge(1)
        self._last = len(body.rows) - 1
        if self.data:
            self.load_later(LIVE_S)

    def failed(self) -> None:
        """Go on following a run after a read that was refused."""
        if self.data:
            self.load_later(LIVE_S)


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
