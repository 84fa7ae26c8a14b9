"""The queue: its order, the newest windows with their verdicts, and the ways back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from gitworker import clock
from gitworker.service.outcome_words import Outcome, landing_outcome
from gitworker.tui.keys import QUEUE
from gitworker.tui.rows.queue_rows import Undoable, Verdict, Waiting, queue_rows
from gitworker.tui.view import Loaded, View, bindings

if TYPE_CHECKING:
    from textual.timer import Timer

RECORDS_READ, RECORDS_SHOWN = 20, 8  # a removal after a landing is a part of the landing
LIVE_S, QUIET_S = 0.5, 5.0  # between two reads while a landing or a verification runs, and without
BEGINS_MS = 5000  # in which a landing that was begun here takes its lock
LINES_READ = 20


class QueueView(View):
    """The landing queue."""

    KEYS = QUEUE
    BINDINGS: ClassVar[list[Any]] = bindings(QUEUE)
    TITLE_TEXT = "Queue"

    def __init__(self) -> None:
        super().__init__()
        self._look: Timer | None = None
        self._live_until_ms = 0

    def read(self, width: int) -> Loaded:
        """Return the queue and the newest operations that can be undone."""
        del width
        queue = self.room.service.queue()
        runs = self.room.service.running_verifications(lines=LINES_READ)
        listed = self.room.service.undo_records(limit=RECORDS_READ)
        records = [one for one in listed if not one.needs_number][:RECORDS_SHOWN]
        rows = queue_rows(queue, runs, records, now_ms=clock.now_ms())
        return Loaded(rows, queue.is_running or bool(runs))

    def loaded(self) -> None:
        """Read the rows again soon: neither a verdict nor a line of output changes the status."""
        if self.data or clock.monotonic_ms() < self._live_until_ms:
            self.load_later(LIVE_S)
        else:
            self._look_later()

    def failed(self) -> None:
        """Look again later, because the next read may succeed."""
        self._look_later()

    def _look_later(self) -> None:
        if self._look is None:
            self._look = self.set_timer(QUIET_S, self._look_now)

    def _look_now(self) -> None:
        """Look whether a verification has begun, which costs less than reading all rows."""
        self._look = None
        if self.room.screen is not self:
            self._is_stale = True
            return
        service = self.room.service
        self.room.read(lambda: service.running_verifications(lines=1), self._looked, self._looked)

    def _looked(self, found: object) -> None:
        if not self.has_parts:
            return
        if isinstance(found, list) and found:
            self.load()
        else:
            self._look_later()

    def action_open(self) -> None:
        """Review a worker, or show the output of a verification."""
        from gitworker.tui.screens.text import VerifyView

        key = self.body.key
        if isinstance(key, Waiting):
            self.room.show_worker(key.worker)
        elif isinstance(key, Verdict):
            self.room.push_screen(VerifyView(key.commit))

    def action_land(self) -> None:
        """Land the worker under the cursor, or all approved work."""
        if self.is_lost():
            return
        key, service = self.body.key, self.room.service
        self._live_until_ms = clock.monotonic_ms() + BEGINS_MS
        self.load_later(LIVE_S)
        if isinstance(key, Waiting):
            name = key.worker
            self.room.change(f"land {name}", lambda: landing_outcome(service.merge([name])))
            return
        self.room.change("land all", lambda: landing_outcome(service.merge(everything=True)))

    def action_undo(self) -> None:
        """Undo the operation under the cursor, or else the newest that can be undone."""
        if self.is_lost():
            return
        key, service = self.body.key, self.room.service
        if not isinstance(key, Undoable):
            found = [one.key for one in self.body.rows if isinstance(one.key, Undoable)]
            if not found:
                self.refuse("nothing can be undone")
                return
            key = found[0]
        number = key.number
        self.room.change(f"undo {key.kind}", lambda: Outcome(service.undo(number).message))

    def commands(self) -> Any:
        """Yield the commands of the queue."""
        yield "Land", QUEUE[0].effect, self.action_land
        yield "Undo", QUEUE[1].effect, self.action_undo
