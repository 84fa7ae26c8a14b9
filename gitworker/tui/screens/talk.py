"""The messages: of all, and with one worker; the log of an agent."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any, ClassVar

from gitworker import clock
from gitworker.errors import Invalid
from gitworker.service.live.log_lines import follow_lines
from gitworker.service.outcome_words import Outcome
from gitworker.tui.keys import MESSAGES, TALK
from gitworker.tui.rows.list_rows import (
    MessageKey,
    conversation_rows,
    found_rows,
    message_rows,
    text_rows,
)
from gitworker.tui.rows.row import DIM, Part, row
from gitworker.tui.view import Loaded, View, bindings

if TYPE_CHECKING:
    from gitworker.tui.screens.write import Written

LINES_KEPT = 5000
MESSAGES_SHOWN, FOUND_SHOWN = 200, 100
KINDS = frozenset({"message", "commit"})


class TalkView(View):
    """The messages of and to one worker."""

    KEYS = TALK
    BINDINGS: ClassVar[list[Any]] = bindings(TALK)

    def __init__(self, worker: str) -> None:
        super().__init__()
        self._worker = worker

    def title_text(self) -> str:
        """Return the worker."""
        return f"Conversation with {self._worker}"

    def read(self, width: int) -> Loaded:
        """Return the messages."""
        said = self.room.service.show(self._worker).conversation
        return Loaded(conversation_rows(said, width=width))

    def action_answer(self) -> None:
        """Write a message to the worker."""
        from gitworker.tui.screens.write import WriteScreen

        service, name = self.room.service, self._worker
        label = f"send to {name}"

        def send(written: Written | None) -> None:
            if written is not None:
                self.room.change(label, lambda: note(written.text), purpose=label)

        def note(text: str) -> Outcome:
            if not text:
                raise Invalid("the text is empty")
            service.send_note(name, text)
            return Outcome(f"sent to {name}")

        heading = [f"Your message to {name}"]
        self.room.push_screen(WriteScreen(heading, purpose=label, ways=["send"]), send)

    def commands(self) -> Any:
        """Yield the commands of the conversation."""
        yield "Write a message", f"to {self._worker}", self.action_answer


class MessagesView(View):
    """The newest messages and commits of all, or the messages that have some words."""

    KEYS = MESSAGES
    BINDINGS: ClassVar[list[Any]] = bindings(MESSAGES)

    def __init__(self) -> None:
        super().__init__()
        self._words = ""

    def title_text(self) -> str:
        """Return the name, with the words of a search."""
        return f"Messages with {self._words}" if self._words else "Messages"

    def read(self, width: int) -> Loaded:
        """Return the messages."""
        service = self.room.service
        if self._words:
            found = service.search(self._words.split(), limit=FOUND_SHOWN)
            return Loaded(found_rows(found, width=width))
        events = service.log(limit=MESSAGES_SHOWN, types=KINDS).events
        return Loaded(message_rows(events, now_ms=clock.now_ms(), width=width))

    def action_open(self) -> None:
        """Show the conversation with the worker that has sent the message, or got it."""
        key = self.body.key
        frame, _ = self.room.feed.newest
        known = {one.worker for one in (frame.workers if frame else ())}
        names = (key.sender, key.to) if isinstance(key, MessageKey) else ()
        worker = next((one for one in names if one in known), None)
        if worker is not None:
            self.room.push_screen(TalkView(worker))

    def action_search(self) -> None:
        """Ask for words, and show the messages that have all of them."""
        from gitworker.tui.screens.ask import AskScreen

        heading = ["Search the messages for these words"]
        self.room.push_screen(AskScreen(heading, text=self._words), self._search)

    def _search(self, words: str | None) -> None:
        if words is not None:
            self._words = words
            self.load()

    def action_back(self) -> None:
        """Remove the notice, or the search, or go back."""
        if self.room.outcome is None and self._words:
            self._search("")
            return
        super().action_back()

    def commands(self) -> Any:
        """Yield the commands of the messages."""
        yield "Search the messages", "key /", self.action_search


class LogView(View):
    """The log of a worker's agent; it follows the end while the last line is on the screen."""

    FOLLOWS = False
    STOPS_EVERYWHERE = True

    def __init__(self, worker: str) -> None:
        super().__init__()
        self._worker = worker
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._lines: deque[str] = deque(maxlen=LINES_KEPT)
        self._reason = ""
        self._is_started = self._is_due = False

    def title_text(self) -> str:
        """Return the worker."""
        return f"Log of {self._worker}"

    def load(self) -> None:
        """Begin to follow the log."""
        if not self._is_started:
            self._is_started = True
            threading.Thread(target=self._follow, name="log", daemon=True).start()

    def on_unmount(self) -> None:
        """Stop following."""
        self._stopped.set()

    def _follow(self) -> None:
        end = follow_lines(
            self.room.service, self._worker, self._add, self._stopped.is_set, name="gitworker.tui"
        )
        with self._lock:
            self._reason = end
        self._wake()

    def _add(self, lines: list[str]) -> None:
        with self._lock:
            self._lines.extend(lines)
        self._wake()

    def _wake(self) -> None:
        with self._lock:
            is_new, self._is_due = not self._is_due, True
        if is_new and not self._stopped.is_set():
            self.room.post(self._draw)

    def _draw(self) -> None:
        if not self.has_parts:
            return
        with self._lock:
            self._is_due = False
            rows = text_rows(list(self._lines))
            if self._reason:
                rows.append(row(Part(self._reason, DIM)))
        body = self.body
        is_at_end = body.cursor is None or body.cursor >= len(body.rows) - 1
        body.show(rows)
        if is_at_end:
            body.edge(1)
