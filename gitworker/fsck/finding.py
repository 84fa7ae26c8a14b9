"""The result of a check, for `doctor` and for `fsck`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitworker.session import Session

Repair = Callable[["Session"], object]


class Level(StrEnum):
    """The severity of a finding; `fail` makes doctor's exit status 1."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of one check.

    `code` is the kind of the finding (for a quick check, the check's name), `subject` a ref, path,
    worker or row, `message` one sentence. `hint` describes the effect of `repair` if there is one,
    else it is a command for the user. A repair runs under the lock of worktrees unless it
    `locks_itself`.
    """

    code: str
    subject: str
    message: str
    hint: str = ""
    repair: Repair | None = field(default=None, compare=False)
    level: Level = Level.FAIL
    locks_itself: bool = False


def ok(check: str, message: str) -> Finding:
    """Return a quick check's finding without a complaint."""
    return Finding(check, "", message, level=Level.OK)


def warn(check: str, message: str, hint: str | None = None) -> Finding:
    """Return a quick check's finding of a flaw that breaks nothing."""
    return Finding(check, "", message, hint or "", level=Level.WARN)


def fail(check: str, message: str, hint: str | None = None) -> Finding:
    """Return a quick check's finding of damage."""
    return Finding(check, "", message, hint or "")
