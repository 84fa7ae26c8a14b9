"""The only door to other processes, on posix_spawn.

`subprocess` costs a hot verb as much again as a bare interpreter start (GIT-FACTS: 25 ms against
11.7), so a call here is one posix_spawn and one poll loop. `GITWORKER_TRACE=FILE` appends every
command line to FILE, one per line: tests pin how many processes a command starts with it.
"""

from __future__ import annotations

import os
import select

from gitworker.clock import monotonic_ms
from gitworker.errors import Unavailable

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SIGPIPE = 13  # the same on every system we know; importing `signal` costs 2 ms
SIGKILL = 9
_IN_DIRECTORY = 'cd "$1" && shift && exec "$@"'


class Completed:
    """A finished process: exit status (negative: killed by that signal) and what it wrote."""

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


def run(
    argv: Sequence[str],
    *,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    timeout_s: float | None = None,
    inherit_fd: int | None = None,
) -> Completed:
    """Run a command to its end and return status and output.

    `inherit_fd` stays open in the child and in what it starts: a flock held through it outlives us
    for as long as they live.
    Raises Unavailable when the program cannot be started or exceeds `timeout_s` (it is killed).
    """
    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    ours = [in_write, out_read, err_read]
    actions = [
        (os.POSIX_SPAWN_DUP2, in_read, 0),
        (os.POSIX_SPAWN_DUP2, out_write, 1),
        (os.POSIX_SPAWN_DUP2, err_write, 2),
    ]
    if inherit_fd is not None:  # under another number, since dup2 onto itself may do nothing
        actions.append((os.POSIX_SPAWN_DUP2, inherit_fd, 3 if inherit_fd != 3 else 4))
    try:
        try:
            pid = _spawn(argv, cwd, env, actions)
        finally:
            for fd in (in_read, out_write, err_write):
                os.close(fd)
        try:
            out, err = _exchange(pid, ours, stdin, timeout_s)
        except BaseException:
            os.kill(pid, SIGKILL)
            os.waitpid(pid, 0)
            raise
    finally:
        for fd in ours:
            os.close(fd)
    _, wait_status = os.waitpid(pid, 0)
    return Completed(tuple(argv), os.waitstatus_to_exitcode(wait_status), out, err)


def run_attached(
    argv: Sequence[str], *, cwd: str | None = None, env: Mapping[str, str] | None = None
) -> int:
    """Run a command on our own standard streams and return its exit status."""
    pid = _spawn(argv, cwd, env, [])
    _, wait_status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(wait_status)


def spawn_detached(
    argv: Sequence[str], *, cwd: str = "/", env: Mapping[str, str] | None = None
) -> int:
    """Start a command in a session of its own, with no streams; return its pid at once."""
    null = os.open(os.devnull, os.O_RDWR)
    try:
        actions = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)]
        return _spawn(argv, cwd, env, actions, new_session=True)
    finally:
        os.close(null)


def _spawn(
    argv: Sequence[str],
    cwd: str | None,
    env: Mapping[str, str] | None,
    actions: list[tuple[int, int, int]],
    *,
    new_session: bool = False,
) -> int:
    _trace(argv)
    if cwd is not None:
        argv = ["/bin/sh", "-c", _IN_DIRECTORY, "sh", cwd, *argv]
    try:
        return os.posix_spawnp(
            argv[0],
            list(argv),
            dict(os.environ if env is None else env),
            file_actions=actions,
            setsigdef=[SIGPIPE],  # Python ignores it; our children must not inherit that
            setsid=new_session,
        )
    except OSError as error:
        raise Unavailable(f"cannot run {argv[0]}: {error.strerror}") from error
    except ValueError as error:
        raise Unavailable(f"cannot run {argv[0]}: {error}") from error


def _trace(argv: Sequence[str]) -> None:
    path = os.environ.get("GITWORKER_TRACE")
    if path:
        with open(path, "a", encoding="utf-8", errors="surrogateescape") as file:
            file.write(" ".join(argv).replace("\n", "\\n") + "\n")


def _exchange(
    pid: int, fds: list[int], stdin: bytes, timeout_s: float | None
) -> tuple[bytes, bytes]:
    """Feed standard input and collect both outputs until all three streams are closed.

    `fds` holds our ends (in, out, err); the ones closed here are taken off it.
    """
    in_write, out_read, err_read = fds
    chunks: dict[int, list[bytes]] = {out_read: [], err_read: []}
    poll = select.poll()
    for fd in chunks:
        poll.register(fd, select.POLLIN)
    pending = memoryview(stdin)
    if pending:
        os.set_blocking(in_write, False)
        poll.register(in_write, select.POLLOUT)
    else:
        _close(in_write, fds)
    deadline = None if timeout_s is None else monotonic_ms() + int(timeout_s * 1000)
    while fds:
        left = None if deadline is None else max(0, deadline - monotonic_ms())
        ready = poll.poll(left)
        if not ready and left is not None:
            raise Unavailable(f"process {pid} did not finish within {timeout_s:g} s")
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
    except BrokenPipeError:  # the process does not want more
        return pending[:0]
    except BlockingIOError:
        return pending


def _close(fd: int, fds: list[int]) -> None:
    fds.remove(fd)
    os.close(fd)
