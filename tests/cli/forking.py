"""Run `git-worker` in a process of its own without the start of an interpreter.

A server process has imported the program's modules and has run none of its commands. For each
command it forks; the child gets the words, the directory, the environment and the streams of a
program that a shell starts, and ends by the program's own exit. `test_verbs_and_states.py` compares
the answers with those of the installed program. A command whose environment changes how programs
or interpreters start (`STARTS`) is started as usual.
"""

import gc
import importlib
import json
import os
import pkgutil
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gitworker

ROOT = Path(__file__).parents[2]
PROGRAM = "git-worker"
LENGTH_BYTES = 8
# Clients of packages of their own, which few commands start.
NOT_IMPORTED = ("gitworker.acp", "gitworker.mcp", "gitworker.web")
# Variables of the loader, of the interpreter, and of the locale that it reads at its start.
STARTS = ("LD_", "PYTHON", "LC_", "LANG")


class ProgramServer:
    """The server process; it ends when this process ends. Threads may share it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c",
                 f"import sys; sys.path.append({str(ROOT)!r}); "
                 "from tests.cli.forking import serve; serve()"],
                cwd="/", env=environment, stdin=theirs,
            )  # fmt: skip

    def serves(self, environment: Mapping[str, str]) -> bool:
        """Return whether a program with this environment starts as the server did."""
        ours, wanted = (
            {name: value for name, value in one.items() if name.startswith(STARTS)}
            for one in (self._environment, environment)
        )
        return ours == wanted and _program_in(environment) == _program_in(self._environment)

    def run(
        self, cwd: Path | str, words: tuple[str | bytes, ...], *,
        environment: Mapping[str, str], stdin: bytes = b"", patience_s: float = 120.0,
    ) -> "subprocess.CompletedProcess[bytes]":  # fmt: skip
        """Run `git-worker WORDS` as `subprocess.run` does. Raises TimeoutExpired."""
        request = {
            "argv": [_program_in(environment), *map(os.fsdecode, words)], "cwd": str(cwd),
            "env": dict(environment), "umask": _umask(),
        }  # fmt: skip
        with tempfile.TemporaryFile() as source:
            source.write(stdin)
            source.seek(0)
            pipes = [os.pipe() for _ in range(3)]  # output, errors, exit status
            self._order(request, [source.fileno(), *(write for _, write in pipes)])
        for _, write in pipes:
            os.close(write)
        out, err, status = _read_all([read for read, _ in pipes], words, patience_s)
        return subprocess.CompletedProcess([PROGRAM, *words], int(status), out, err)

    def _order(self, request: Mapping[str, Any], fds: list[int]) -> None:
        text = json.dumps(request).encode()
        with self._lock:
            socket.send_fds(self._socket, [len(text).to_bytes(LENGTH_BYTES)], fds)
            self._socket.sendall(text)

    def close(self) -> None:
        """End the server."""
        self._socket.close()
        self._process.wait(timeout=30)


def _program_in(environment: Mapping[str, str]) -> str | None:
    return shutil.which(PROGRAM, path=environment.get("PATH", ""))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _read_all(fds: list[int], words: tuple[str | bytes, ...], patience_s: float) -> list[bytes]:
    """Read these pipes to their ends, and close them."""
    texts = {fd: bytearray() for fd in fds}
    deadline = time.monotonic() + patience_s
    with selectors.DefaultSelector() as selector:
        for fd in fds:
            selector.register(fd, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(deadline - time.monotonic())
            if not ready and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired([PROGRAM, *map(os.fsdecode, words)], patience_s)
            for key, _ in ready:
                part = os.read(key.fd, 1 << 16)
                texts[key.fd] += part
                if not part:
                    selector.unregister(key.fd)
                    os.close(key.fd)
    return [bytes(texts[fd]) for fd in fds]


def serve() -> None:
    """Fork a child for each request on the socket at standard input; report its exit status."""
    for module in pkgutil.walk_packages(gitworker.__path__, "gitworker."):
        if not module.name.startswith(NOT_IMPORTED) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    program = importlib.import_module("gitworker.__main__")
    _save_coverage()
    gc.freeze()  # a collection in a fork would copy the memory of all modules
    reports: dict[int, int] = {}

    def report(*_: object) -> None:
        while reports:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            fd = reports.pop(pid)
            os.write(fd, str(os.waitstatus_to_exitcode(status)).encode())
            os.close(fd)

    signal.signal(signal.SIGCHLD, report)
    orders = socket.socket(fileno=0)
    while True:
        length, fds, _, _ = socket.recv_fds(orders, LENGTH_BYTES, 4)
        if not length:
            os._exit(0)
        text = b""
        while len(text) < int.from_bytes(length):
            text += orders.recv(int.from_bytes(length) - len(text))
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        child = os.fork()
        if child == 0:
            os.close(orders.detach())
            for other in reports.values():  # it would keep them open until its own end
                os.close(other)
            _become(json.loads(text), fds)
            sys.exit(program.main())
        reports[child] = fds[3]
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        for fd in fds[:3]:
            os.close(fd)


def _become(request: Mapping[str, Any], fds: list[int]) -> None:
    """Take the words, the directory, the environment and the streams of a request."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    sys.argv = request["argv"]
    os.chdir(request["cwd"])
    os.umask(request["umask"])
    os.environ.clear()
    os.environ.update(request["env"])
    for number, fd in enumerate(fds[:3]):
        os.dup2(fd, number)
    for fd in range(3, max(fds) + 1):
        if fd in fds:
            os.close(fd)
    ours = (sys.stdin, sys.stdout, sys.stderr)
    sys.stdin, sys.stdout, sys.stderr = (
        open(  # noqa: SIM115
            number, mode, encoding=old.encoding, errors=old.errors, closefd=False,
            buffering=1 if number == 2 else -1,
        )
        for number, mode, old in zip(range(3), "rww", ours, strict=True)
    )  # fmt: skip


def _save_coverage() -> None:
    """Store what coverage has measured of the imports, so that no child stores it again."""
    if "coverage" in sys.modules:
        current = sys.modules["coverage"].Coverage.current()
        if current is not None:
            current.save()
