"""The reader of standard output, whose end also ends a view that continues."""

import select
from collections.abc import Mapping

from gitworker.cli import output
from gitworker.service.live.watch import Pause


def pause_for_reader(after_s: float = 2.0, *, also: Mapping[int, int] | None = None) -> Pause:
    """Return pauses at which `require_reader` can notice a closed standard output at once."""
    return Pause(after_s, {output.OUT: 0, **(also or {})})  # poll(2) always reports a closed reader


def require_reader() -> None:
    """Raise BrokenPipeError if the reader of standard output has closed it."""
    poll = select.poll()
    poll.register(output.OUT, 0)
    if any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0)):
        raise BrokenPipeError


def report_deletion() -> None:
    """Give the reason for the end of a view that its reader did not end."""
    output.narrate("the state directory was deleted")
