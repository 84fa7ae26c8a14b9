"""`status --watch`: redraw the screen after every change, without polling.

The status is read again after news on the bus, and every `every_s` seconds. Between two reads only
the ages on the screen grow.
"""

from contextlib import ExitStack
from functools import partial
from typing import Any

from gitworker import clock
from gitworker.cli import output
from gitworker.cli.call import CommandLine, Renderer
from gitworker.cli.live.live import ViewWaker
from gitworker.cli.output_screen import Screen
from gitworker.errors import Conflict
from gitworker.journal.settle import settle
from gitworker.lifecycle.take_up import publish_commits
from gitworker.model.ids import Oid, Ref
from gitworker.observe.workers.status import StatusScreen, read_status
from gitworker.observe.workers.status_text import json_status, render_status
from gitworker.proc import Completed
from gitworker.repo.plumbing.git import Git
from gitworker.session import Session

AGES_GROW_S = 1.0
REST_S = 0.2  # after each read, so that a busy bus costs only a part of one processor


def watch_status(
    call: CommandLine, session: Session, *, every_s: float, include_all: bool = False
) -> None:
    """Show the status until the reader quits or the state directory is deleted.

    On a terminal it is one screen; otherwise a text for every change, or with --json a line.
    """
    with ExitStack() as held:
        lookout = held.enter_context(ViewWaker(session))
        if call.as_json:
            _show_changes(session, lookout, _Document(), every_s=every_s)
        elif output.has_screen():
            render = partial(render_status, include_all=include_all)
            _draw(session, lookout, held.enter_context(Screen()), render, every_s=every_s)
        else:
            _show_changes(session, lookout, _Text(include_all=include_all), every_s=every_s)
    if lookout.is_over:
        output.narrate("the state directory was deleted")


class _Text:
    """Writes one snapshot after another, with an empty line between them."""

    every_subject = False

    def __init__(self, *, include_all: bool) -> None:
        self._has_begun = False
        self._include_all = include_all

    def __call__(self, status: StatusScreen) -> None:
        """Write one snapshot."""
        text = render_status(status, width=None, color=False, include_all=self._include_all)
        output.answer_rendered(f"\n{text}" if self._has_begun else text)
        self._has_begun = True


class _Document:
    """Writes each snapshot as a line of JSON."""

    every_subject = True

    def __call__(self, status: StatusScreen) -> None:
        """Write one snapshot."""
        output.document(json_status(status))


class _StatusReader:
    """Reads the status as `status` does: first applies timeouts and publishes commits.

    Asks git about a commit once: while no branch moves, a read starts no process.
    """

    def __init__(self, session: Session, *, every_subject: bool) -> None:
        self._session = session
        self._git = _CachedGit(session.git.directory)
        self._every_subject = every_subject
        self._refs: dict[Ref, Oid] = {}
        self._last: StatusScreen | None = None

    def read_again(self) -> StatusScreen:
        """Return the current status; the last one if the database is too busy."""
        try:
            self._last = self._read()
        except Conflict:
            if self._last is None:
                raise
        return self._last

    def _read(self) -> StatusScreen:
        session = self._session
        _, workers = settle(session)
        refs = publish_commits(session, workers)
        if refs != self._refs:
            self._git.forget()
            self._refs = refs
        cached = session._replace(git=self._git)
        return read_status(cached, refs, every_subject=self._every_subject)


class _CachedGit(Git):
    """Caches the answer to each question to git until `forget`."""

    def __init__(self, directory: str) -> None:
        super().__init__(directory)
        self._answers: dict[tuple[object, ...], Completed] = {}

    def run(self, *args: str, stdin: bytes = b"", **options: Any) -> Completed:
        """Return the cached answer of `git ARGS`, or run it."""
        key = (args, stdin)
        if key not in self._answers:
            self._answers[key] = super().run(*args, stdin=stdin, **options)
        return self._answers[key]

    def forget(self) -> None:
        """Drop all cached answers."""
        self._answers.clear()


def _show_changes(
    session: Session, lookout: ViewWaker, show: _Text | _Document, *, every_s: float
) -> None:
    reader = _StatusReader(session, every_subject=show.every_subject)
    shown: StatusScreen | None = None
    while not lookout.is_over:
        status = reader.read_again()
        timeless = status._replace(now_ms=0)
        if timeless != shown:
            show(status)
            shown = timeless
        lookout.rest(REST_S)
        lookout.wait(every_s)


def _draw(
    session: Session,
    lookout: ViewWaker,
    screen: Screen,
    render: Renderer[StatusScreen],
    *,
    every_s: float,
) -> None:
    reader = _StatusReader(session, every_subject=False)
    status, read_ms = reader.read_again(), clock.monotonic_ms()
    while not lookout.is_over and not screen.is_left:
        columns, _ = screen.size()
        aged = status._replace(now_ms=clock.now_ms())
        screen.draw(render(aged, width=columns, color=output.wants_color()))
        left_s = every_s - (clock.monotonic_ms() - read_ms) / 1000
        news = lookout.wait(max(0.0, min(AGES_GROW_S, left_s)), also=screen.input_fds)
        screen.handle()
        if news or left_s <= AGES_GROW_S:
            lookout.rest(REST_S - (clock.monotonic_ms() - read_ms) / 1000, also=screen.input_fds)
            status, read_ms = reader.read_again(), clock.monotonic_ms()
