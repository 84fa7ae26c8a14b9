"""Run a command of the user to its end, with a time limit and a limit for its output."""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from gitworker import clock
from gitworker.automations.rules_automation import OUTPUT_MAX, capped
from gitworker.proc import InterruptDelay
from gitworker.processes.jobs import start_readable, wait_job
from gitworker.processes.table import is_running
from gitworker.repo.plumbing.git_environment import HELD_ENV, LOCAL_ENV

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

LOOK_S, SHORT_S = 2.0, 0.1  # the second: once it has closed its output, only its end is new
CHUNK = 65_536
KEPT_BYTES = 4 * OUTPUT_MAX  # of at most four bytes for each character


class Ended(NamedTuple):
    """The exit status of a command and its output; the status is 124 after the time limit."""

    status: int
    output: str


def run_capped(
    argv: Sequence[str],
    *,
    cwd: str,
    variables: Mapping[str, str],
    limit_s: float,
    look: Callable[[], None] = lambda: None,
) -> Ended:
    """Run a command in a session of its own; `look` is called every two seconds meanwhile.

    Its end is that of its first process: one that it leaves behind may keep the output open.
    """
    left_out = {*LOCAL_ENV, HELD_ENV}
    env = {name: value for name, value in os.environ.items() if name not in left_out}
    until_ms = clock.monotonic_ms() + int(limit_s * 1000)
    output, is_late = bytearray(), False
    poll = select.poll()
    is_open = True
    pid = fd = -1
    try:
        with InterruptDelay():  # an interrupt finds `pid` known, or nothing started
            pid, fd = start_readable(list(argv), cwd=cwd, env={**env, **variables})
        poll.register(fd, select.POLLIN)
        while is_running(pid, None) is not False:
            if is_open and _has_closed(fd, output):
                is_open = False
                poll.unregister(fd)  # it may go on without output
            poll.poll(int((LOOK_S if is_open else SHORT_S) * 1000))
            look()
            if clock.monotonic_ms() >= until_ms and not is_late:
                is_late = True
                with suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)
        _has_closed(fd, output)  # the rest
    except BaseException:  # its time limit would not hold any more
        if pid > 0:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        raise
    finally:
        if fd >= 0:
            os.close(fd)
    status = wait_job(pid)
    text = capped(output.decode(errors="replace"))
    return Ended(124 if is_late else status, text)


def _has_closed(fd: int, output: bytearray) -> bool:
    """Read the output that is there; return whether the command has closed it."""
    try:
        while chunk := os.read(fd, CHUNK):
            output += chunk[: KEPT_BYTES - len(output)]
    except BlockingIOError:
        return False
    return True
