"""The heir of a supervisor: a process that copies the agent's output after the supervisor's death.

Without it a killed supervisor would end its agent by SIGPIPE, or its pty by a hang-up.
"""

from __future__ import annotations

import os
import signal

from gitworker import proc
from gitworker.agents.process.copy_output import Pump
from gitworker.paths import open_streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gitworker.agents.process.agent_log import AgentLog

UNCATCHABLE = frozenset({signal.SIGKILL, signal.SIGSTOP})


class Heir:
    """A fork that calls `inherit` if we end before `release`; to be made before other threads.

    It has a session of its own, works in /, and holds no descriptor but those in `keep`: no lock
    and no stream of ours. If no process can be made, there is no heir.
    """

    def __init__(self, inherit: Callable[[], None], *, keep: Sequence[int]) -> None:
        read, self._write = os.pipe()
        try:
            child = proc.fork()
        except OSError:  # too many processes; the agent is more important
            child = -1
        if child == 0:
            _wait(read, inherit, keep)
        os.close(read)

    def release(self) -> None:
        """End the heir, which then closes its copies; safe to repeat."""
        write, self._write = self._write, -1
        if write < 0:
            return
        try:
            os.write(write, b"\n")
        except BrokenPipeError:  # the heir has ended
            pass
        finally:
            os.close(write)


def copy_to_log(sources: Sequence[int], log: AgentLog) -> None:
    """Copy what is written to these pipes or ptys to the log, until their writers have closed."""
    log.is_new = False  # our process has begun the file
    pumps = [Pump(source, None, log) for source in sources]
    for pump in pumps:
        pump.start()
    for pump in pumps:
        pump.join()


def _wait(read: int, inherit: Callable[[], None], keep: Sequence[int]) -> None:
    """Be the heir; does not return."""
    try:
        signal.set_wakeup_fd(-1)
        for number in signal.valid_signals() - UNCATCHABLE:
            signal.signal(number, signal.SIG_IGN if number == signal.SIGPIPE else signal.SIG_DFL)
        os.setsid()
        os.chdir("/")
        low = 0
        for fd in (*sorted({read, *keep}), os.sysconf("SC_OPEN_MAX")):
            os.closerange(low, fd)
            low = fd + 1
        open_streams()
        if not os.read(read, 1):
            inherit()
    finally:
        os._exit(0)
