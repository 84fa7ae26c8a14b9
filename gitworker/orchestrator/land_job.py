"""Land handed-in work in a process of its own, so that agents start while commands verify."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from gitworker.processes.jobs import start_readable
from gitworker.repo.plumbing.git_environment import HELD_ENV, LOCAL_ENV

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.session import Session

VERIFIER = "verifier"
CHUNK = 65_536


class LandJob:
    """A running `git worker land`; `fileno` is readable when it has printed something or ended."""

    __slots__ = ("_fd", "_output", "workers")

    def __init__(self, session: Session, workers: Sequence[str]) -> None:
        """Start the landing of workers; an interrupt of our terminal does not reach it."""
        argv = [
            sys.executable, "-P", "-m", "gitworker", "land", *workers, "--as", VERIFIER, "--json",
        ]  # fmt: skip
        left_out = (*LOCAL_ENV, HELD_ENV)
        env = {name: value for name, value in os.environ.items() if name not in left_out}
        self.workers = tuple(workers)
        self._output = bytearray()
        self._fd = start_readable(argv, cwd=session.main_top, env=env)

    def fileno(self) -> int:
        """Return the descriptor of its output."""
        return self._fd

    def has_ended(self) -> bool:
        """Read its output as far as it is there; return whether it has ended. Never blocks long."""
        try:
            while chunk := os.read(self._fd, CHUNK):
                self._output += chunk
        except BlockingIOError:
            return False
        os.close(self._fd)
        return True

    def refusals(self) -> dict[str, str]:
        """Return the reason for each worker that did not land; all of them if it was refused."""
        document = _decoded(bytes(self._output))
        if "results" not in document:
            reason = _words(document.get("error"))
            return dict.fromkeys(self.workers, reason)
        return {
            str(one["worker"]): _words(one.get("error"))
            for one in document["results"]
            if not one["landed"]
        }


def _decoded(output: bytes) -> dict[str, Any]:
    try:
        found = json.loads(output)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _words(error: object) -> str:
    """Return an error of a JSON document in one line."""
    if not isinstance(error, dict):
        return "the landing was interrupted"
    return " ".join(str(error.get("message", "")).split())
