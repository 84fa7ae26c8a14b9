"""Start background jobs: detached, without streams, recognisable in `ps` by the name of our entry.

A job that must not run twice holds a lock; its caller looks at the lock first, to save a process.
On the hot path.
"""

from __future__ import annotations

import os
import sys

from gitworker import proc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

ENTRY = "gitworker.hookentry"
# Without PYTHON* variables and the working directory, but with packages from `pip install --user`
# (-I would hide them). The hooks use the same options.
BACKGROUND = ("-EP", "-m", ENTRY)
_started: set[int] = set()  # jobs that this process started and has not reaped


def start_job(name: str, *arguments: str, low_priority: bool = False) -> None:
    """Start a job of `hookentry`, which cleans its environment."""
    nice = ("nice",) if low_priority else ()
    _start([*nice, sys.executable, *BACKGROUND, name, *arguments])


def start_script(script: str, *arguments: str, env: Mapping[str, str] | None = None) -> None:
    """Start a script of the shell as a job of low priority; `$0` is the name of our entry."""
    _start(["nice", "/bin/sh", "-c", script, ENTRY, *arguments], env)


def start_reporting(argv: list[str], *, cwd: str, env: Mapping[str, str]) -> tuple[str, int]:
    """Start a detached command; return the first line that it prints, and its process.

    Waits for the line; it is empty if the command ends without one.
    """
    _reap()
    pid, fd = proc.spawn_reporting(argv, cwd=cwd, env=env)
    _started.add(pid)
    with open(fd, encoding="utf-8", errors="replace") as stream:
        return stream.readline(), pid


def start_readable(argv: list[str], *, cwd: str, env: Mapping[str, str]) -> tuple[int, int]:
    """Start a detached command; return its process, and its output, which the caller closes.

    Reading never blocks.
    """
    _reap()
    pid, fd = proc.spawn_reporting(argv, cwd=cwd, env=env)
    _started.add(pid)
    os.set_blocking(fd, False)
    return pid, fd


def start_served(argv: list[str], orders: int, *, cwd: str, env: Mapping[str, str]) -> int:
    """Start a detached command that reads `orders` as its standard input; return its process."""
    _reap()
    pid = proc.spawn_detached(argv, cwd=cwd, env=env, stdin=orders)
    _started.add(pid)
    return pid


def wait_job(pid: int) -> int:
    """Wait for the end of a job of this process; return its exit status as a shell reports it."""
    _started.discard(pid)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def end_job(pid: int) -> None:
    """Kill a job of this process, and reap it; does nothing if another part of us has reaped it.

    Its number may belong to a foreign process then.
    """
    _started.discard(pid)
    try:
        if not os.waitpid(pid, os.WNOHANG)[0]:  # it is our child, and runs
            os.kill(pid, proc.SIGKILL)
            os.waitpid(pid, 0)
    except ChildProcessError:
        return


def _start(argv: list[str], env: Mapping[str, str] | None = None) -> None:
    _reap()
    _started.add(proc.spawn_detached(argv, env=env))


def _reap() -> None:
    """Reap ended jobs, which would stay as zombies in a long-lived process."""
    for pid in list(_started):
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:  # a supervisor has reaped it
            ended = pid
        if ended:
            _started.discard(pid)
