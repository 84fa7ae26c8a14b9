"""Waiting for news of one repository, which all continuing views share."""

from __future__ import annotations

import math
import select
from typing import TYPE_CHECKING, NamedTuple, Self

from gitworker.bus.following.listen import listen
from gitworker.errors import REPLACED, Unavailable
from gitworker.lifecycle.take_up import publish_commits
from gitworker.paths import file_identity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.session import Session


class Pause(NamedTuple):
    """Lets a view yield None, so that its caller can react, although there is no news.

    It does so after `after_s` seconds, and as soon as a descriptor of `also` has one of its poll(2)
    events.
    """

    after_s: float = math.inf
    also: Mapping[int, int] = {}


class Watch:
    """Waits for changes of a repository; holds one inotify watch until `close`.

    Waiting drains the hooks' spool at once, so that commits appear as they are made.
    """

    def __init__(self, session: Session, pause: Pause | None) -> None:
        self._database = session.paths.database
        self._identity = file_identity(self._database)
        self._pause = pause or Pause()
        self._waker = listen(session, publish_commits)

    @property
    def is_over(self) -> bool:
        """Return whether the database was deleted or replaced."""
        return self._identity is None or file_identity(self._database) != self._identity

    def wait(self, seconds: float) -> bool:
        """Wait for news and return whether there are any; a pause of the caller ends it, too."""
        limit_s = max(0.0, min(seconds, self._pause.after_s))
        try:
            return self._waker.wait(limit_s, also=self._pause.also)
        except Unavailable as error:
            if error.code != REPLACED:
                raise
            return False  # `is_over` ends the caller's loop

    def rest(self, seconds: float) -> None:
        """Wait without looking for news; the next `wait` reports them."""
        poll = select.poll()
        for fd, events in self._pause.also.items():
            poll.register(fd, events)
        poll.poll(max(0.0, seconds) * 1000)

    def __enter__(self) -> Self:
        """Return the object itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop waiting."""
        self._waker.close()
