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


def _start(argv: list[str], env: Mapping[str, str] | None = None) -> None:
    """Start a job, and reap ended ones, which would stay as zombies in a long-lived process."""
    for pid in list(_started):
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:  # a supervisor has reaped it
            ended = pid
        if ended:
            _started.discard(pid)
    _started.add(proc.spawn_detached(argv, env=env))
