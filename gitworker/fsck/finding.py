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
class DoctorFinding:
    """One finding of one check."""

    level: Level
    check: str
    message: str
    hint: str | None = None


def ok(check: str, message: str) -> DoctorFinding:
    """Return that all is well."""
    return DoctorFinding(Level.OK, check, message)


def warn(check: str, message: str, hint: str | None = None) -> DoctorFinding:
    """Return what works, but not as it should."""
    return DoctorFinding(Level.WARN, check, message, hint)


def fail(check: str, message: str, hint: str | None = None) -> DoctorFinding:
    """Return what is broken."""
    return DoctorFinding(Level.FAIL, check, message, hint)
