"""Waiting for news and for the end, which all live views share."""

import select
from collections.abc import Mapping

from gitworker.bus.following.follow_messages import file_identity
from gitworker.bus.following.listen import listen
from gitworker.cli import output
from gitworker.lifecycle.take_up import publish_commits
from gitworker.session import Session


class ViewWaker:
    """Waits for events that may change a view of the repository.

    Waiting drains the hooks' spool at once, so that commits appear as they are made.
    """

    def __init__(self, session: Session) -> None:
        self._database = session.paths.database
        self._identity = file_identity(self._database)
        self._waker = listen(session, publish_commits)

    @property
    def is_over(self) -> bool:
        """Return whether the database was deleted or replaced."""
        return self._identity is None or file_identity(self._database) != self._identity

    def wait(self, seconds: float, *, also: Mapping[int, int] | None = None) -> bool:
        """Wait for news and return whether there are any.

        Ends early if a descriptor of `also` has one of its poll(2) events. Raises
        BrokenPipeError as soon as the reader of standard output has closed it.
        """
        news = self._waker.wait(seconds, also={output.OUT: 0, **(also or {})})
        require_reader()
        return news

    def rest(self, seconds: float, *, also: Mapping[int, int] | None = None) -> None:
        """Wait without looking for news; the next `wait` reports them."""
        poll = select.poll()
        for fd, events in {output.OUT: 0, **(also or {})}.items():
            poll.register(fd, events)
        poll.poll(max(0.0, seconds) * 1000)
        require_reader()

    def close(self) -> None:
        """Stop waiting."""
        self._waker.close()

    def __enter__(self) -> "ViewWaker":
        """Return the object itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop waiting."""
        self.close()


def require_reader() -> None:
    """Raise BrokenPipeError if the reader of standard output has closed it."""
    poll = select.poll()
    poll.register(output.OUT, 0)  # poll(2) always reports an error or a hang-up
    if any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0)):
        raise BrokenPipeError
