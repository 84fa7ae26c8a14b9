"""What every live view has in common: waiting for something new, and knowing when to end."""

import select
from collections.abc import Mapping

from gitworker.bus.following.follow_messages import file_identity
from gitworker.bus.following.listen import listen
from gitworker.cli import output
from gitworker.session import Session


class Lookout:
    """Waits for whatever may change a view of the repository.

    Whoever waits drains the hooks' spool at once, so that commits are seen as they are made.
    """

    def __init__(self, session: Session) -> None:
        self._database = session.paths.database
        self._identity = file_identity(self._database)
        self._waker = listen(session)

    @property
    def is_over(self) -> bool:
        """Tell whether the database has gone, or another one stands in its place."""
        return self._identity is None or file_identity(self._database) != self._identity

    def wait(self, seconds: float, *, also: Mapping[int, int] | None = None) -> bool:
        """Wait for news; tell whether there are any.

        Ends early where a descriptor of `also` has one of its poll(2) events. Raises
        BrokenPipeError as soon as nobody reads standard output any more.
        """
        news = self._waker.wait(seconds, also={output.OUT: 0, **(also or {})})
        require_reader()
        return news

    def rest(self, seconds: float, *, also: Mapping[int, int] | None = None) -> None:
        """Wait without caring for news, which the next `wait` tells of all the same."""
        poll = select.poll()
        for fd, events in {output.OUT: 0, **(also or {})}.items():
            poll.register(fd, events)
        poll.poll(max(0.0, seconds) * 1000)
        require_reader()

    def close(self) -> None:
        """Stop waiting."""
        self._waker.close()

    def __enter__(self) -> "Lookout":
        """Use it in a `with`."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def require_reader() -> None:
    """Raise BrokenPipeError where nobody reads standard output any more."""
    poll = select.poll()
    poll.register(output.OUT, 0)  # only what is always told: an error, a hang-up
    if any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0)):
        raise BrokenPipeError
