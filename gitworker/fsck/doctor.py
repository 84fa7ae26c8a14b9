"""doctor: run the quick checks and report every finding; nothing is changed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gitworker.config import InvalidSetting
from gitworker.errors import GitWorkerError
from gitworker.fsck.finding import Finding, Level, fail, warn
from gitworker.fsck.registry import HINTS, QUICK, STATE, WITHOUT_DATABASE, run_checks
from gitworker.observe.text import BOLD, GREEN, RED, YELLOW, cut, one_line, paint
from gitworker.paths import DAMAGED, Repository, state_paths
from gitworker.rules_text import count_text

if TYPE_CHECKING:
    from gitworker.session import Session

LEVEL_COLORS = {Level.OK: GREEN, Level.WARN: YELLOW, Level.FAIL: RED}
LEVEL_WIDTH = 4
CHECK_WIDTH = 10
HARMLESS = frozenset({"not_initialised"})
UNREADABLE = frozenset({"git_too_old", "untrusted_owner"})  # git opens no repository


@dataclass(frozen=True, slots=True)
class Doctor:
    """Every finding, in the order of the checks."""

    findings: tuple[Finding, ...]

    @property
    def is_healthy(self) -> bool:
        """Return whether no check failed; warnings do not count."""
        return all(finding.level is not Level.FAIL for finding in self.findings)


def read_doctor(session: Session) -> Doctor:
    """Run every quick check."""
    return Doctor(tuple(run_checks(QUICK, session)))


def read_doctor_without_session(repository: Repository, error: GitWorkerError) -> Doctor:
    """Run the checks that need no database; `error` is the reason why it cannot be opened."""
    has_state = os.path.lexists(state_paths(repository).root)
    is_setting = isinstance(error, InvalidSetting)
    skip = not has_state and (is_setting or error.code in HARMLESS | UNREADABLE)
    checks = [check for check in WITHOUT_DATABASE if not (skip and check is STATE)]
    findings = tuple(run_checks(checks, repository))
    if error.code == DAMAGED or is_setting:  # a check has reported it
        return Doctor(findings)
    level = warn if error.code in HARMLESS else fail
    name = "repository" if error.code in UNREADABLE else "database"
    return Doctor((*findings, level(name, error.message, HINTS.get(error.code, error.hint))))


def render_doctor(doctor: Doctor, *, width: int | None, color: bool) -> str:
    """Return one line per finding, its hint below it, and a summary. Hints are never cut."""
    lines = []
    for one in doctor.findings:
        level = paint(f"{one.level:<{LEVEL_WIDTH}}", LEVEL_COLORS[one.level], color=color)
        room = None if width is None or one.hint else width - LEVEL_WIDTH - CHECK_WIDTH - 4
        lines.append(f"{level}  {one.code:<{CHECK_WIDTH}}  {cut(one_line(one.message), room)}")
        if one.hint:
            lines.append(f"{'':<{LEVEL_WIDTH + CHECK_WIDTH + 4}}→ {one_line(one.hint)}")
    return "\n".join([*lines, "", paint(_summary(doctor), BOLD, color=color)])


def json_doctor(doctor: Doctor) -> dict[str, Any]:
    """Return the findings as JSON data."""
    return {
        "healthy": doctor.is_healthy,
        "findings": [
            {
                "level": one.level.value, "check": one.code, "message": one.message,
                "hint": one.hint or None,
            }
            for one in doctor.findings
        ],
    }  # fmt: skip


def _summary(doctor: Doctor) -> str:
    levels = [one.level for one in doctor.findings]
    failed, warned = levels.count(Level.FAIL), levels.count(Level.WARN)
    if not failed and not warned:
        return f"all {len(levels)} checks passed; the state of the work: git worker status"
    problems = count_text(failed, "problem")
    return f"{problems}, {count_text(warned, 'warning')}"
