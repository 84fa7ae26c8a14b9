"""What doctor finds: one sentence, how bad it is, and what helps."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad a finding is; `fail` makes doctor's exit status 1."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of one check."""

    level: Level
    check: str
    message: str
    hint: str | None = None


def ok(check: str, message: str) -> Finding:
    """Return that all is well."""
    return Finding(Level.OK, check, message)


def warn(check: str, message: str, hint: str | None = None) -> Finding:
    """Return what works, but not as it should."""
    return Finding(Level.WARN, check, message, hint)


def fail(check: str, message: str, hint: str | None = None) -> Finding:
    """Return what is broken."""
    return Finding(Level.FAIL, check, message, hint)
