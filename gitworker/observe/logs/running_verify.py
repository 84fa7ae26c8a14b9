"""The verify commands that run now, in any process, with their output so far.

A run has no row before its end. Its verify worktree has a record of its process and its log, which
holds while that process is alive: the log of a killed run is not shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.observe.logs.rules_screen import rendered
from gitworker.observe.logs.rules_verify_log import parse_head
from gitworker.observe.logs.tail import first_bytes, last_lines
from gitworker.verify.verify_worktree import running_logs

if TYPE_CHECKING:
    from gitworker.session import Session

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
    logs = sorted(running_logs(session), reverse=True)  # a name begins with the time of the start
    return [one for one in (_read(path, lines) for path in logs) if one is not None]


def _read(path: str, lines: int) -> RunningVerify | None:
    """Return the run of a log; None if the log was deleted."""
    last, _ = last_lines(path, lines)
    head = parse_head(first_bytes(path, HEAD_BYTES).decode("utf-8", "replace"))
    if head is None:
        return None
    text = "\n".join(last)[-CHARACTERS_SHOWN:]
    started_ms = clock.find_time_ms(head.started) or 0
    return RunningVerify(head.commit, head.label, started_ms, tuple(rendered(text)))


def json_running(run: RunningVerify) -> dict[str, Any]:
    """Return a run as JSON data."""
    return run._asdict() | {"lines": list(run.lines)}
