"""The process behind `processes/standby.py`: load the modules of `exec`, then fork for each order.

It must have no thread and no open database when it forks; SQLite forbids to use one after a fork.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import sys
from contextlib import suppress
from socket import recv_fds, socket

from gitworker import proc
from gitworker.processes.standby import LENGTH_BYTES, RECEIPT

NAME_BYTES = 15  # the kernel cuts the rest

# The modules with which `exec` supervises an agent from its start to its end.
MODULES = (
    "click", "ctypes", "encodings.ascii", "gitworker.agents.adapters.report",
    "gitworker.agents.environment.reset_variables", "gitworker.agents.finish",
    "gitworker.agents.monitor", "gitworker.agents.process.agent_log",
    "gitworker.agents.process.orphaned_output", "gitworker.agents.process.copy_output",
    "gitworker.agents.record_start", "gitworker.agents.rounds.return_prompt",
    "gitworker.agents.run_heartbeats", "gitworker.agents.usage.watch_usage",
    "gitworker.bus.following.branch_watch", "gitworker.cli.call", "gitworker.cli.early",
    "gitworker.cli.group", "gitworker.cli.hot.exec", "gitworker.cli.run", "gitworker.config",
    "gitworker.lifecycle.state_files", "gitworker.liveness.current_settings",
    "gitworker.model.run_outcome", "gitworker.repo.hooks.config_files",
    "gitworker.repo.worktrees.ownership", "gitworker.store.workers",
)  # fmt: skip


def await_order() -> list[str]:
    """Return, in a fork of this process, the words of each order; the process itself never returns.

    It ends when its caller ends. The fork has a session of its own, the order's environment, and
    the order's pipe as its standard output.
    """
    for name in MODULES:
        importlib.import_module(name)
    gc.freeze()  # a collection in a fork would copy all pages
    signal.signal(signal.SIGCHLD, _reap)
    orders = socket(fileno=0)
    while True:
        length, fds, _, _ = recv_fds(orders, LENGTH_BYTES, 1)
        text = _read(orders, int.from_bytes(length)) if fds else b""
        if not text:
            os._exit(0)
        words, env = json.loads(text)
        with suppress(OSError):  # too many processes: the caller sees the end of its pipe
            if proc.fork() == 0:
                _begin(fds[0], env, orders)
                sys.argv[1:] = words
                _set_name(words)
                return list(words)
        os.close(fds[0])
        with suppress(OSError):  # the caller has ended
            orders.send(RECEIPT)


def _begin(report: int, env: dict[str, str], orders: socket) -> None:
    """Let a fork become a process as our caller would have started it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    orders.detach()
    os.dup2(null, 0)
    os.dup2(report, 1)
    os.close(null)
    os.close(report)
    os.environ.clear()
    os.environ.update(env)


def _set_name(words: list[str]) -> None:
    """Let `ps` and `top` show the worker; the command line is that of the process that forked."""
    with suppress(OSError), open("/proc/self/comm", "w", encoding="utf-8") as file:
        file.write(f"gw-{words[1]}"[:NAME_BYTES])


def _read(orders: socket, left: int) -> bytes:
    """Return the rest of an order; nothing if the caller has ended meanwhile."""
    parts = []
    while left:
        part = orders.recv(left)
        if not part:
            return b""
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _reap(*_: object) -> None:
    """Reap the ended forks."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
