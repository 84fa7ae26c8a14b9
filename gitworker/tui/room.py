"""The application below its screens: the threads, the newest status, the results of changes."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from textual.app import App
from textual.message import Message

from gitworker.errors import GitWorkerError, Internal, as_gitworker_error
from gitworker.service.outcome_words import Outcome, refusal_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gitworker.observe.queue.worker_facts import CardFacts
    from gitworker.service import Service
    from gitworker.service.queue.board import Reader
    from gitworker.tui.feed import Feed

THREADS = 4


class Shown(Protocol):
    """A screen that shows the status and the outcome of changes."""

    def load(self) -> None:
        """Read the rows again."""

    def show_notice(self) -> None:
        """Show the outcome of the last change."""

    def status_changed(self, *, is_shown: bool) -> None:
        """Show the new status; `is_shown`: no other screen is above this one."""


class Done(Message):
    """Work of a thread has ended; `run` shows its result in the loop of the screens."""

    bubble = False

    def __init__(self, run: Callable[[], None]) -> None:
        super().__init__()
        self.run = run


class Room(App[int]):
    """The application. `feed` is already reading; it is closed by the caller.

    Its result is the number of the signal that has ended it, if one has.
    """

    def __init__(self, service: Service, feed: Feed, reader: Reader) -> None:
        color = os.environ.get("NO_COLOR")
        super().__init__()
        if color is not None:
            os.environ["NO_COLOR"] = color  # Textual removes it; verify commands need it
        self.theme = "ansi-dark"  # the terminal's own colours
        self.service, self.feed, self.reader = service, feed, reader
        self.needs: int | None = None
        self.facts: Mapping[str, CardFacts] = {}
        self.outcome: Outcome | None = None
        self.texts: dict[str, str] = {}  # by their purpose: written, but not accepted yet
        self._changing = 0
        self._lock = threading.Lock()
        self._unseen: list[Outcome] = []  # of changes that have ended
        self._reads = ThreadPoolExecutor(THREADS, "read")
        self._changes = ThreadPoolExecutor(THREADS, "change")
        self._is_reading = self._is_due = False

    # ------------------------------------------------------------------ for the screens
    def shown(self) -> Iterable[tuple[Shown, bool]]:
        """Return the screens, and whether each is above all others."""
        raise NotImplementedError

    def show_place(self, name: str) -> None:
        """Show a place, such as the board, instead of all other screens."""
        raise NotImplementedError

    def show_worker(self, worker: str) -> None:
        """Show the review of a worker."""
        raise NotImplementedError

    async def action_quit(self) -> None:
        """Close the control room by Ctrl+Q; a dialog is only left, which keeps its text."""
        leave = getattr(self.screen, "action_leave", self.exit)
        leave()

    def action_suspend_process(self) -> None:
        """Give the terminal back to the shell, which also waits for the `git` that started us."""
        if not self.is_headless:
            with self.suspend():
                os.kill(0, signal.SIGSTOP)  # until the shell continues the whole job

    def show_help(self) -> None:
        """Show the keys."""
        raise NotImplementedError

    # ------------------------------------------------------------------ threads
    def on_done(self, message: Done) -> None:
        """Show the result of a thread."""
        message.run()

    def post(self, run: Callable[[], None]) -> None:
        """Call `run` in the loop of the screens, from any thread; not after their end."""
        with suppress(RuntimeError):  # the loop is closed
            self.post_message(Done(run))

    def read(
        self,
        read: Callable[[], Any],
        show: Callable[[Any], None],
        fail: Callable[[GitWorkerError], None],
    ) -> None:
        """Call `read` in a thread, then `show` with its value, or `fail` with its refusal."""

        def work() -> None:
            try:
                value = read()
            except Exception as error:  # noqa: BLE001 -- a bug in one view must not end the screens
                self.post(partial(fail, _refusal(error)))
            else:
                self.post(partial(show, value))

        with suppress(RuntimeError):  # the screens are closing
            self._reads.submit(work)

    def close_threads(self) -> int:
        """Read nothing more; return the number of changes that have not ended."""
        self._reads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            return self._changing - len(self._unseen)

    def wait(self) -> list[Outcome]:
        """Wait for all changes, and return the outcomes that no screen has shown."""
        self._changes.shutdown(wait=True)
        return self._unseen

    # ------------------------------------------------------------------ changes
    def change(self, label: str, change: Callable[[], Outcome], *, purpose: str = "") -> None:
        """Make a change in a thread and show its outcome; if it is refused, its text is kept."""
        with self._lock:
            self._changing += 1
        self.report(Outcome(f"{label} …"))

        def work() -> None:
            try:
                found = change()
            except Exception as error:  # noqa: BLE001 -- a bug in one change must not end the screens
                refusal = _refusal(error)
                found = Outcome(f"{label}: {refusal_words(refusal)}", refusal.hint, True)
            with self._lock:
                self._unseen.append(found)
            self.post(partial(self._end_change, found, purpose))

        self._changes.submit(work)

    def _end_change(self, found: Outcome, purpose: str) -> None:
        if self._exit or not self.is_running:
            return  # no person would see it on a screen that is closing
        with self._lock:
            self._changing -= 1
            self._unseen.remove(found)
        if not found.is_refused:
            self.texts.pop(purpose, None)
        self.report(found)
        for one, is_first in self.shown():
            if is_first:
                one.load()

    def report(self, outcome: Outcome | None) -> None:
        """Show an outcome, or remove the notice."""
        self.outcome = outcome
        for one, _ in self.shown():
            one.show_notice()

    # ------------------------------------------------------------------ the status
    def follow_status(self) -> None:
        """Show each new status from now on."""
        self.feed.listen(lambda: self.post(self._show_status))

    def _show_status(self) -> None:
        self._read_facts()
        self._update()

    def _read_facts(self) -> None:
        """Read the values that change only with the status; once more if it changes meanwhile."""
        if self._is_reading:
            self._is_due = True
            return
        self._is_reading, self._is_due = True, False
        service = self.service

        def show(found: tuple[int, Mapping[str, CardFacts]]) -> None:
            is_new = found != (self.needs, self.facts)
            self.needs, self.facts = found
            end(None)
            if is_new:
                self._update()

        def end(_error: GitWorkerError | None) -> None:
            self._is_reading = False
            if self._is_due:
                self._read_facts()

        self.read(lambda: (service.count_inbox(), service.worker_facts()), show, end)

    def _update(self) -> None:
        for one, is_first in self.shown():
            one.status_changed(is_shown=is_first)


def _refusal(error: Exception) -> GitWorkerError:
    """Return an error as a refusal; any other than ours and the system's is a bug."""
    if isinstance(error, GitWorkerError | OSError):
        return as_gitworker_error(error)
    return Internal(f"a bug in gitworker: {error!r}")
