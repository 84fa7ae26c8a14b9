"""The standard streams of an agent: a pty if the caller has a terminal, otherwise pipes."""

from __future__ import annotations

import fcntl
import os

from gitworker.paths import open_regular

PIPE_BYTES = 1 << 20  # fewer switches between the agent and us
F_SETPIPE_SZ = 1031  # fcntl(2), Linux only; `fcntl` names it from 3.10 on, not everywhere
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gitworker.agents.adapters.transcript import Transcript
    from gitworker.agents.process.agent_log import AgentLog
    from gitworker.agents.process.copy_output import KeyPump, Pump
    from gitworker.agents.process.orphaned_output import Heir
    from gitworker.agents.process.terminal import Terminal

IN, OUT, ERR = 0, 1, 2
OF_TERMINAL = -1


class Streams:
    """The agent's descriptors 0, 1 and 2 (`for_agent`; -1 is the pty at `path`), and our ends.

    Standard input is the caller's own unless it is a terminal. With `is_silent` nothing is copied
    to the caller: standard output is reserved for another answer. An agent whose output is
    translated (`transcript`) gets neither a terminal nor the caller's input.
    """

    def __init__(self, *, is_silent: bool = False, transcript: Transcript | None = None) -> None:
        fill_gaps()
        self.is_silent = is_silent
        self._translations: dict[int, Callable[[bytes | None], bytes]] = {}
        self.terminal: Terminal | None = None
        self.path: str | None = None
        self._ours: list[tuple[int, int | None]] = []  # pairs of source and destination
        self._theirs: list[int] = []
        self._pumps: list[Pump] = []
        self._keys: KeyPump | None = None
        self._heir: Heir | None = None
        fds = [IN, OUT, ERR]
        if transcript is not None or (os.isatty(IN) and not _is_in_front()):
            fds[IN] = self._open_nothing()
        if not is_silent and transcript is None and os.isatty(OUT):
            self._open_terminal(fds)
        for fd in (OUT, ERR):
            if fds[fd] != OF_TERMINAL:
                fds[fd] = self._open_pipe(None if is_silent else fd)
                if transcript is not None:
                    source = self._ours[-1][0]
                    self._translations[source] = (
                        transcript.output if fd == OUT else transcript.error
                    )
        self.for_agent: tuple[int, int, int] = (fds[0], fds[1], fds[2])

    @property
    def has_keys(self) -> bool:
        """Return True if the caller has a terminal with a keyboard."""
        return self.terminal is not None and self.terminal.keys is not None

    def feed(self, path: str) -> None:
        """Make a file the agent's standard input; to be called before it is started."""
        fd = open_regular(path, os.O_RDONLY)
        self._theirs.append(fd)
        self.for_agent = (fd, *self.for_agent[1:])

    def begin(self, log: AgentLog) -> None:
        """Begin to copy keys and output; output is copied to the log too, also after our death."""
        from gitworker.agents.process.copy_output import (  # threads: 4 ms, while the agent starts
            KeyPump,
            Pump,
        )
        from gitworker.agents.process.orphaned_output import Heir, copy_to_log

        self.forget_theirs()
        terminal = self.terminal
        sources = [source for source, _ in self._ours]
        keys = terminal.copy_keys() if terminal is not None else None

        def inherit() -> None:
            if keys is not None:
                keys.restore()
            copy_to_log(sources, log)

        self._heir = heir = Heir(inherit, keep=[*sources, *([keys.fd] if keys else [])])
        if keys is not None:
            keys.close()  # the heir has a copy
        for source, sink in self._ours:
            keeps = terminal is not None and source == terminal.master
            pump = Pump(
                source, sink, log, keeps_source=keeps, on_broken=heir.release,
                translate=self._translations.get(source),
            )  # fmt: skip
            self._pumps.append(pump)
        if terminal is not None and terminal.keys is not None:
            terminal.make_raw()
            self._keys = KeyPump(terminal.keys, terminal.master)
            self._keys.start()
        for pump in self._pumps:
            pump.start()

    def end(self) -> None:
        """Restore the terminal and take the rest of the agent's output; then call `wait`."""
        if self._keys is not None:
            self._keys.finish()
        if self.terminal is not None:
            self.terminal.close_slave()
        self.restore()
        for pump in self._pumps:
            pump.finish()

    def wait(self) -> None:
        """Wait until everything is copied, as long as the caller's reader takes."""
        for pump in self._pumps:
            pump.join()
        if self._heir is not None:
            self._heir.release()

    def resume(self) -> None:
        """Pass keys on again after a `restore`, with the terminal's present size."""
        if self.terminal is not None:
            self.terminal.make_raw()
            self.terminal.resize()

    def restore(self) -> None:
        """Restore the modes of the caller's terminal."""
        if self.terminal is not None:
            self.terminal.restore()

    def forget_theirs(self) -> None:
        """Close our copies of the agent's ends, so that we see when it closes its own."""
        for fd in self._theirs:
            os.close(fd)
        self._theirs = []

    def _open_terminal(self, fds: list[int]) -> None:
        from gitworker.agents.process.terminal import (
            Terminal,  # not needed without a terminal
        )

        has_keys = fds[IN] == IN and os.isatty(IN)
        self.terminal = Terminal(keys=IN if has_keys else None, out=OUT)
        self.path = self.terminal.path
        self._ours.append((self.terminal.master, OUT))
        fds[OUT] = OF_TERMINAL
        if has_keys:
            fds[IN] = OF_TERMINAL
        if os.isatty(ERR):
            fds[ERR] = OF_TERMINAL

    def _open_nothing(self) -> int:
        fd = os.open(os.devnull, os.O_RDONLY)
        self._theirs.append(fd)
        return fd

    def _open_pipe(self, sink: int | None) -> int:
        read, write = os.pipe()
        _widen(read)
        self._ours.append((read, sink))
        self._theirs.append(write)
        return write


def _widen(pipe: int) -> None:
    try:
        fcntl.fcntl(pipe, F_SETPIPE_SZ, PIPE_BYTES)
    except OSError:  # another system, or this user has too many large pipes
        return


def _is_in_front() -> bool:
    """Return True if the terminal's keys are for us; in the background they are for another job."""
    try:
        return os.tcgetpgrp(IN) == os.getpgrp()
    except OSError:  # not our controlling terminal, so no job of it has the keys
        return True


def fill_gaps() -> None:
    """Open /dev/null for standard streams that the caller closed: no pipe may get their numbers."""
    while True:
        fd = os.open(os.devnull, os.O_RDWR)
        if fd > ERR:
            os.close(fd)
            return
        os.set_inheritable(fd, True)
