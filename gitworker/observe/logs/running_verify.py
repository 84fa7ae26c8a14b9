"""The verify commands that run now, in any process, with their output so far.

A run has no row before its end. Its verify worktree has a record of its process, which is compared
with the running ones; its log has no last line yet.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.observe.logs.rules_screen import rendered
from gitworker.observe.logs.rules_verify_log import is_ended, parse_head
from gitworker.observe.logs.tail import first_bytes, last_lines
from gitworker.verify.verify_worktree import count_running

if TYPE_CHECKING:
    from gitworker.session import Session

LOGS_READ = 20  # the newest ones
HEAD_BYTES = 1 << 16
CHARACTERS_SHOWN = 1 << 16


class RunningVerify(NamedTuple):
    """A run on a commit, its name for a person, its start, and the last lines of its output."""

    commit: str
    label: str
    started_at_ms: int
    lines: tuple[str, ...]


def read_running(session: Session, *, lines: int) -> list[RunningVerify]:
    """Return the runs that have not ended, the newest first."""
    wanted = count_running(session)
    if not wanted:
        return []
    root = f"{session.paths.logs}/verify"
    found: list[RunningVerify] = []
    for name in sorted(os.listdir(root), reverse=True)[:LOGS_READ] if os.path.isdir(root) else ():
        one = _read(f"{root}/{name}", lines)
        if one is not None:
            found.append(one)
    return found[:wanted]


def _read(path: str, lines: int) -> RunningVerify | None:
    """Return the run of a log; None if it has ended."""
    last, _ = last_lines(path, lines)
    head = parse_head(first_bytes(path, HEAD_BYTES).decode("utf-8", "replace"))
    if head is None or is_ended(last):
        return None
    text = "\n".join(last)[-CHARACTERS_SHOWN:]
    started_ms = clock.find_time_ms(head.started) or 0
    return RunningVerify(head.commit, head.label, started_ms, tuple(rendered(text)))


def json_running(run: RunningVerify) -> dict[str, Any]:
    """Return a run as JSON data."""
    return run._asdict() | {"lines": list(run.lines)}
