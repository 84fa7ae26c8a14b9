"""The opening and closing of a repository for one call, which all methods of the service share."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Self

from gitworker.lifecycle.find import require_worker
from gitworker.progress import Notice
from gitworker.service.request import (
    Request,
    open_for_change,
    open_quickly,
    open_settled,
    open_to_read,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitworker.journal.settled import Settled
    from gitworker.model.ids import Oid, Ref
    from gitworker.session import Session
    from gitworker.store.workers import Worker


class _SharedReading:
    """The session that several views share; `stack` closes it."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.opened: tuple[Session, dict[Ref, Oid]] | None = None

    def open(self, request: Request) -> tuple[Session, dict[Ref, Oid]]:
        """Return the session, with the tips of the branches when it was opened."""
        if self.opened is None:
            self.opened = open_to_read(request)
            self._stack.callback(self.opened[0].store.close)
        return self.opened


class ServiceBase:
    """Opens a session for each call and closes its database afterwards."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._shared: _SharedReading | None = None

    @contextmanager
    def one_reading(self) -> Iterator[Self]:
        """Yield a service of which all views share one session, for one thread.

        The first view opens it, so later ones do not see commits that nobody has published since.
        """
        with ExitStack() as stack:
            together = type(self)(self._take_request())
            together._shared = _SharedReading(stack)
            yield together

    def _take_request(self) -> Request:
        """Return the request; answers that were requested from git serve one session only."""
        request = self._request
        if request.opening is not None:
            self._request = request._replace(opening=None)
        return request

    @contextmanager
    def _acting(self) -> Iterator[Session]:
        session = open_for_change(self._take_request())
        try:
            yield session
        finally:
            session.store.close()

    @contextmanager
    def _settled(self, *, create: bool) -> Iterator[tuple[Session, Settled]]:
        opened = open_settled(self._take_request(), create=create)
        try:
            yield opened.session, opened.settled
        finally:
            opened.session.store.close()

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        with self._reading_tips() as (session, _):
            yield session

    @contextmanager
    def _reading_tips(self) -> Iterator[tuple[Session, dict[Ref, Oid]]]:
        if self._shared is not None:
            yield self._shared.open(self._request)
            return
        session, tips = open_to_read(self._take_request())
        try:
            yield session, tips
        finally:
            session.store.close()

    @contextmanager
    def _quickly(self) -> Iterator[Session]:
        if self._shared is not None and self._shared.opened is not None:
            yield self._shared.opened[0]
            return
        session = open_quickly(self._take_request())
        try:
            yield session
        finally:
            session.store.close()

    def _without_secrets(self, text: str) -> str:
        """Return a person's or an agent's text as it may be shared; report a change.

        All text for messages, verdicts, questions and reasons passes here: it reaches the bus, the
        logs and `refs/worker/log`.
        """
        from gitworker.bus.limits.rules_secrets import LEFT_OUT, redacted  # not for a view

        shared = redacted(text)
        if shared != text:
            self._request.report(Notice(LEFT_OUT))
        return shared

    @staticmethod
    def _worker(session: Session, name: str | None) -> Worker:
        with session.store.read() as reader:
            return require_worker(reader, name, session)
