"""Wait between two ticks of a run."""

from __future__ import annotations

import os
import select
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitworker.store.api import Waker


def wait_for_change(
    waker: Waker, left_s: float, *, ends_of: Iterable[int], readable: Iterable[int]
) -> None:
    """Wait for a change of the bus, the end of a process, or a readable descriptor.

    `left_s` is the limit. Descriptors below 0 are ignored.
    """
    with _process_ends(ends_of) as also:
        also.update((fd, select.POLLIN) for fd in readable if fd >= 0)
        waker.wait(left_s, also=also)


@contextmanager
def _process_ends(pids: Iterable[int]) -> Iterator[dict[int, int]]:
    """Give descriptors that become readable at the end of a process, with their poll(2) events."""
    with ExitStack() as opened:
        found = {}
        for pid in pids if hasattr(os, "pidfd_open") else ():
            try:
                fd = os.pidfd_open(pid)
            except OSError:  # it has ended: the next tick sees it
                continue
            opened.callback(os.close, fd)
            found[fd] = select.POLLIN
        yield found
