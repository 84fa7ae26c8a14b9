"""Jobs in sessions of their own, whose output is read while a run does other work."""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gitworker import clock
from gitworker.processes.jobs import start_readable
from gitworker.processes.table import find_start, is_running
from gitworker.repo.plumbing.git_environment import HELD_ENV, LOCAL_ENV

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CHUNK = 65_536
OUTPUT_MAX_BYTES = 16_777_216


class OutputJob:
    """A running job; `fileno` is readable when it has printed something or ended.

    An interrupt of our terminal does not reach it. After `limit_s` seconds it is killed. It ends
    with its first process: one that this leaves behind may keep the output open. The last
    OUTPUT_MAX_BYTES of the output are kept.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        limit_s: float | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        left_out = (*LOCAL_ENV, HELD_ENV)
        if env is None:
            env = {name: value for name, value in os.environ.items() if name not in left_out}
        self.output = bytearray()
        self._pid, self._fd = start_readable(list(argv), cwd=cwd, env=env)
        self._start = find_start(self._pid)
        self._until_ms = None if limit_s is None else clock.monotonic_ms() + limit_s * 1000

    def fileno(self) -> int:
        """Return the descriptor of its output."""
        return self._fd

    def has_ended(self) -> bool:
        """Read its output as far as it is there; return whether it has ended."""
        is_late = self._until_ms is not None and clock.monotonic_ms() >= self._until_ms
        if is_late and find_start(self._pid) == self._start is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._pid, signal.SIGKILL)
        is_over = is_running(self._pid, self._start) is False
        try:
            while chunk := os.read(self._fd, CHUNK):
                self.output += chunk
                if len(self.output) > 2 * OUTPUT_MAX_BYTES:
                    del self.output[:-OUTPUT_MAX_BYTES]
        except BlockingIOError:
            if not (is_late or is_over):
                return False
        os.close(self._fd)
        return True


class CommandJob(OutputJob):
    """A running command of ours, as `actor`."""

    def __init__(self, cwd: str, actor: str, *words: str) -> None:
        argv = [sys.executable, "-P", "-m", "gitworker", *words, "--as", actor, "--json"]
        super().__init__(argv, cwd=cwd)

    def document(self) -> dict[str, Any]:
        """Return the JSON document that the ended command printed; empty if it was killed."""
        try:
            found = json.loads(self.output)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}
