"""Reading the status again and again at a low cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker.errors import Conflict
from gitworker.journal.settle import settle
from gitworker.lifecycle.take_up import publish_commits
from gitworker.observe.workers.status import read_status
from gitworker.repo.plumbing.git import Git

if TYPE_CHECKING:
    from gitworker.model.ids import Oid, Ref
    from gitworker.observe.workers.status import StatusScreen
    from gitworker.proc import Completed
    from gitworker.session import Session


class StatusReader:
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
