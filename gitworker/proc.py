"""The only module that starts other processes, with posix_spawn.

`subprocess` costs a hot verb twice a bare interpreter start (25 ms against 11.7), so a call here is
one posix_spawn and one poll loop. `GITWORKER_TRACE=FILE` appends every command line to FILE, one
per line: tests use it to pin the number of processes that a command starts.
"""

from __future__ import annotations

import fcntl
import os
import select

from gitworker.clock import monotonic_ms
from gitworker.errors import GitWorkerError, Unavailable

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

SIGPIPE = 13  # the same on every known system; importing `signal` costs 2 ms
SIGKILL = 9
SIGTERM = 15
SILENCE_MS = 5000  # a process that wrote nothing for so long may wait for something
LAST_WORDS_MS = 2000
_IN_DIRECTORY = 'cd "$1" && shift && exec "$@"'
_GATE_FD = 3
# Holds descriptor 3 while the command runs; processes that the command leaves do not inherit it.
_HOLDING = '"$@" 3>&-; exit $?'
# Waits for a line; if the gate is closed without one, the command never runs.
_GATED = (
    'while IFS= read -r go <&3; do if [ -n "$go" ]; then export "$go"; continue; fi;'
    ' exec 3<&- && cd "$1" && shift && exec "$@"; exit; done; exit 1'
)


class Completed:
    """A finished process: its exit status (negative: killed by that signal) and its output."""

    __slots__ = ("argv", "err", "out", "status")

    def __init__(self, argv: tuple[str, ...], status: int, out: bytes, err: bytes) -> None:
        self.argv = argv
        self.status = status
        self.out = out
        self.err = err

    @property
    def text(self) -> str:
        """Return standard output as text, undecodable bytes kept by surrogate escapes."""
        return os.fsdecode(self.out)

    @property
    def complaint(self) -> str:
        """Return standard error as stripped text."""
        return self.err.decode("utf-8", "replace").strip()


class Running:
    """A running process with pipes to us; end it with `finish` or `abandon`."""

    __slots__ = ("_argv", "_fds", "_leads", "_pid", "_stdin")

    def __init__(
        self, argv: tuple[str, ...], pid: int, fds: list[int], stdin: bytes, *, leads: bool
    ) -> None:
        self._argv = argv
        self._pid = pid
        self._fds = fds
        self._leads = leads
        self._stdin = memoryview(stdin)
        if stdin:  # fill the pipe, so that the process can begin while we are busy
            os.set_blocking(fds[0], False)
            self._stdin = _feed(fds[0], self._stdin)

    def finish(
        self,
        timeout_s: float | None = None,
        *,
        on_silence: Callable[[], GitWorkerError | None] | None = None,
    ) -> Completed:
        """Wait for the end and return status and output; raise Unavailable after `timeout_s`.

        `on_silence` is called after 5 s without output, and again after 10, 20 and so on. If it
        returns an error, the process is ended (SIGTERM first: git removes its locks) and the error
        raised.
        """
        wait = _Wait(self._pid, timeout_s, on_silence)
        try:
            out, err = _exchange(self._fds, self._stdin, wait)
        except BaseException:
            self.abandon()
            raise
        _, wait_status = os.waitpid(self._pid, 0)
        self._pid = 0
        return Completed(self._argv, os.waitstatus_to_exitcode(wait_status), out, err)

    def abandon(self) -> None:
        """Kill the process unless it has finished; a second call does nothing."""
        while self._fds:
            os.close(self._fds.pop())
        if self._pid:
            (os.killpg if self._leads else os.kill)(self._pid, SIGKILL)
            os.waitpid(self._pid, 0)
            self._pid = 0


def run(
    argv: Sequence[str],
    *,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    timeout_s: float | None = None,
    inherit_fd: int | None = None,
    on_silence: Callable[[], GitWorkerError | None] | None = None,
) -> Completed:
    """Run a command to its end and return status and output; `on_silence` as in `finish`.

    `inherit_fd` stays open in the child and its own children: they keep a flock on it after our
    end. Raises Unavailable if the program cannot be started or exceeds `timeout_s` (it is killed).
    """
    running = start(argv, cwd=cwd, env=env, stdin=stdin, inherit_fd=inherit_fd)
    return running.finish(timeout_s, on_silence=on_silence)


def start(
    argv: Sequence[str],
    *,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    inherit_fd: int | None = None,
    new_session: bool = False,
) -> Running:
    """Start a command as `run` does and return it while it runs; the caller must finish it.

    In a `new_session` it has no terminal, and is killed together with the processes that it has
    started. Raises Unavailable if the program cannot be started.
    """
    given, out, err = os.pipe(), os.pipe(), os.pipe()
    ours, theirs = [given[1], out[0], err[0]], (given[0], out[1], err[1])
    actions = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(theirs)]
    if inherit_fd is not None:  # under another number, because dup2 onto itself may do nothing
        actions.append((os.POSIX_SPAWN_DUP2, inherit_fd, 3 if inherit_fd != 3 else 4))
    try:
        pid = _spawn(argv, cwd, env, actions, new_session=new_session)
    except BaseException:
        for fd in ours:
            os.close(fd)
        raise
    finally:
        for fd in theirs:
            os.close(fd)
    return Running(tuple(argv), pid, ours, stdin, leads=new_session)


def run_to_end(
    argv: Sequence[str], *, env: Mapping[str, str] | None = None, lock_fd: int | None = None
) -> Completed:
    """Run a command that must not be interrupted, and return status and output.

    The command survives our end: it writes to files instead of pipes and has a session of its
    own, away from our terminal and process group. `lock_fd`, an open flock, stays held until the
    command has ended, but not by a daemon that it leaves. An interrupt (Ctrl-C) is raised after
    the command has ended, a second one at once. Raises Unavailable if it cannot be started.
    """
    null = os.open(os.devnull, os.O_RDWR)  # first: no source is below its copy
    out, err = _open_sink(), _open_sink()
    actions = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate((null, out, err))]
    before: tuple[str, ...] = ()
    if lock_fd is not None:
        actions.append((os.POSIX_SPAWN_DUP2, lock_fd, 3 if lock_fd != 3 else 4))
        before = ("/bin/sh", "-c", _HOLDING if lock_fd != 3 else _HOLDING.replace("3", "4"), "sh")
    with InterruptDelay():
        try:
            pid = _spawn(argv, None, env, actions, new_session=True, before=before)
            _, wait_status = os.waitpid(pid, 0)
            status = os.waitstatus_to_exitcode(wait_status)
            return Completed(tuple(argv), status, _read_sink(out), _read_sink(err))
        finally:
            for fd in (out, err, null):
                os.close(fd)


def run_attached(
    argv: Sequence[str], *, cwd: str | None = None, env: Mapping[str, str] | None = None
) -> int:
    """Run a command on our own standard streams and return its exit status."""
    pid = _spawn(argv, cwd, env, [])
    _, wait_status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(wait_status)


def run_fed(argv: Sequence[str], stdin: bytes, *, env: Mapping[str, str] | None = None) -> int:
    """Run a command that reads `stdin` and has our other streams, as a pager; return its status.

    An interrupt ends the writing, not the command, which handles it itself.
    """
    read, write = os.pipe()
    try:
        pid = _spawn(argv, None, env, [(os.POSIX_SPAWN_DUP2, read, 0)])
    except BaseException:
        os.close(write)
        raise
    finally:
        os.close(read)
    left = memoryview(stdin)
    try:
        while left:
            left = left[os.write(write, left) :]
    except (BrokenPipeError, KeyboardInterrupt):
        pass
    finally:
        os.close(write)
    while True:
        try:
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        except KeyboardInterrupt:
            continue


def spawn_detached(
    argv: Sequence[str],
    *,
    cwd: str = "/",
    env: Mapping[str, str] | None = None,
    stdin: int | None = None,
    stdout: int | None = None,
) -> int:
    """Start a command in a session of its own, with no other streams; return its pid at once."""
    null = os.open(os.devnull, os.O_RDWR)
    fds = (null if stdin is None else stdin, null if stdout is None else stdout, null)
    try:
        actions = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(fds)]
        return _spawn(argv, cwd, env, actions, new_session=True)
    finally:
        os.close(null)


def spawn_reporting(
    argv: Sequence[str], *, cwd: str, env: Mapping[str, str] | None = None
) -> tuple[int, int]:
    """Start a command in a session of its own that reports its start on standard output.

    Returns its pid and our end of the pipe, which the caller must close. The command has no other
    stream, and outlives us and our terminal.
    """
    read, write = os.pipe()
    try:
        return spawn_detached(argv, cwd=cwd, env=env, stdout=write), read
    except BaseException:
        os.close(read)
        raise
    finally:
        os.close(write)


def spawn_gated(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    fds: tuple[int, int, int],
    terminal: str | None = None,
) -> tuple[int, int]:
    """Start a command that waits at a gate, in a session and process group of its own.

    Returns its pid and the gate. `open_gate` starts the command in the process with that pid;
    closing the gate without one, as our death does, ends the process without
    starting the command. `fds` become its standard streams; -1 means the terminal at that path,
    which becomes the session's controlling terminal.
    """
    read, write = os.pipe()
    gate = fcntl.fcntl(read, fcntl.F_DUPFD_CLOEXEC, 10)  # above the numbers used below
    os.close(read)
    actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = []
    seen = -1
    for number, fd in enumerate(fds):
        if fd >= 0:
            actions.append((os.POSIX_SPAWN_DUP2, fd, number))
        elif seen < 0 and terminal is not None:
            actions.append((os.POSIX_SPAWN_OPEN, number, terminal, os.O_RDWR, 0))
            seen = number
        else:
            actions.append((os.POSIX_SPAWN_DUP2, seen, number))
    actions.append((os.POSIX_SPAWN_DUP2, gate, _GATE_FD))
    try:
        pid = _spawn(
            ["/bin/sh", "-c", _GATED, "sh", cwd, *argv], None, env, actions, new_session=True
        )
    except BaseException:
        os.close(write)
        raise
    finally:
        os.close(gate)
    return pid, write


def spawn_piped(argv: Sequence[str], env: Mapping[str, str] | None = None) -> tuple[int, int, int]:
    """Start a command with our standard error; return its pid, and our ends of input and output."""
    (in_read, in_write), (out_read, out_write) = os.pipe(), os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, in_read, 0), (os.POSIX_SPAWN_DUP2, out_write, 1)]
    pid = _spawn(argv, None, env, actions)
    os.close(in_read)
    os.close(out_write)
    return pid, in_write, out_read


def open_gate(gate: int, variables: Mapping[str, str]) -> None:
    """Start the command behind a gate, with more variables; their values have no line feed."""
    lines = [os.fsencode(f"{name}={value}\n") for name, value in variables.items()]
    os.write(gate, b"".join(lines) + b"\n")


def fork() -> int:
    """Fork this process; return the child's pid, and 0 in the child, which must end by `_exit`.

    To be called before other threads exist. Raises OSError.
    """
    return os.fork()


def _spawn(
    argv: Sequence[str],
    cwd: str | None,
    env: Mapping[str, str] | None,
    actions: Sequence[tuple[object, ...]],
    *,
    new_session: bool = False,
    before: tuple[str, ...] = (),
) -> int:
    _trace(argv)
    argv = [*before, *argv]
    if cwd is not None:
        argv = ["/bin/sh", "-c", _IN_DIRECTORY, "sh", cwd, *argv]
    try:
        return os.posix_spawnp(
            argv[0],
            list(argv),
            dict(os.environ if env is None else env),
            file_actions=actions,
            setsigdef=[SIGPIPE],  # Python ignores it; children must not inherit that
            setsid=new_session,
        )
    except OSError as error:
        raise Unavailable(f"cannot run {argv[0]}: {error.strerror}") from error
    except ValueError as error:
        raise Unavailable(f"cannot run {argv[0]}: {error}") from error


def _open_sink() -> int:
    """Open an unnamed file for writing and reading."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("gitworker")
    from tempfile import mkstemp  # 8 ms, only without memfd (macOS)

    fd, path = mkstemp()
    os.unlink(path)
    return fd


def _read_sink(fd: int) -> bytes:
    size = os.fstat(fd).st_size
    return os.pread(fd, size, 0)


class InterruptDelay:
    """Delays the first interrupt until the end of a block; a second one is raised at once.

    Works only in the main thread, which alone receives interrupts, and only with the default
    handler.
    """

    def __enter__(self) -> None:
        import signal  # 2 ms, only for a block that must not be interrupted

        self._interrupts = 0
        self._is_held = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if self._is_held:
            try:
                signal.signal(signal.SIGINT, self._note)
            except ValueError:  # not the main thread
                self._is_held = False

    def _note(self, number: int, frame: object) -> None:
        self._interrupts += 1
        if self._interrupts > 1:
            raise KeyboardInterrupt

    def __exit__(self, *exception: object) -> None:
        """Restore the handler and raise a delayed interrupt."""
        import signal

        if self._is_held:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self._interrupts == 1:
            raise KeyboardInterrupt


def _trace(argv: Sequence[str]) -> None:
    path = os.environ.get("GITWORKER_TRACE")
    if path:
        with open(path, "a", encoding="utf-8", errors="surrogateescape") as file:
            file.write(" ".join(argv).replace("\n", "\\n") + "\n")


class _Wait:
    """The time to wait for output of a process, and the action if none comes."""

    def __init__(
        self,
        pid: int,
        timeout_s: float | None,
        on_silence: Callable[[], GitWorkerError | None] | None,
    ) -> None:
        self._pid = pid
        self._timeout_s = timeout_s
        self._deadline = None if timeout_s is None else monotonic_ms() + int(timeout_s * 1000)
        self._on_silence = on_silence
        self._silence_ms = SILENCE_MS

    def left_ms(self) -> int | None:
        """Return how long to poll now; None: for ever."""
        left = None if self._deadline is None else max(0, self._deadline - monotonic_ms())
        if self._on_silence is None:
            return left
        return self._silence_ms if left is None else min(left, self._silence_ms)

    def check(self, poll: select.poll) -> None:
        """Raise the error that explains why nothing came, if there is one."""
        if self._deadline is not None and monotonic_ms() >= self._deadline:
            raise Unavailable(f"process {self._pid} did not finish within {self._timeout_s:g} s")
        error = self._on_silence() if self._on_silence else None
        if error is not None:
            os.kill(self._pid, SIGTERM)
            poll.poll(LAST_WORDS_MS)
            raise error
        self._silence_ms *= 2


def _exchange(fds: list[int], pending: memoryview, wait: _Wait) -> tuple[bytes, bytes]:
    """Feed standard input and collect both outputs until all three streams are closed.

    `fds` holds our ends (in, out, err); each end that is closed is removed from it.
    """
    in_write, out_read, err_read = fds
    chunks: dict[int, list[bytes]] = {out_read: [], err_read: []}
    poll = select.poll()
    for fd in chunks:
        poll.register(fd, select.POLLIN)
    if pending:
        poll.register(in_write, select.POLLOUT)
    else:
        _close(in_write, fds)
    while fds:
        ready = poll.poll(wait.left_ms())
        if not ready or wait.left_ms() == 0:  # a process that always writes ends, too
            wait.check(poll)
        for fd, _ in ready:
            if fd == in_write:
                pending = _feed(fd, pending)
                finished = not pending
            else:
                chunk = os.read(fd, 65536)
                chunks[fd].append(chunk)
                finished = not chunk
            if finished:
                poll.unregister(fd)
                _close(fd, fds)
    return b"".join(chunks[out_read]), b"".join(chunks[err_read])


def _feed(fd: int, pending: memoryview) -> memoryview:
    try:
        return pending[os.write(fd, pending[:65536]) :]
    except BrokenPipeError:  # the process reads no more
        return pending[:0]
    except BlockingIOError:
        return pending


def _close(fd: int, fds: list[int]) -> None:
    fds.remove(fd)
    os.close(fd)
