"""doctor: looks at everything that can be wrong and says how to repair it; changes nothing.

A check that cannot be made is a finding itself and stops no other. With a database that cannot be
opened, whatever does not need it is checked all the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gitworker.errors import GitWorkerError
from gitworker.fsck.finding import DoctorFinding, Level, fail, warn
from gitworker.fsck.quick.database_checks import check_database, check_log, check_operations
from gitworker.fsck.quick.hook_checks import check_hooks
from gitworker.fsck.quick.state_directory import (
    check_directory,
    check_excludes,
    check_file_system,
    check_link,
)
from gitworker.fsck.quick.system import check_git, check_python, check_sqlite
from gitworker.fsck.quick.target_branch import check_target
from gitworker.fsck.quick.target_history import check_history
from gitworker.fsck.quick.worktree_checks import check_beater, check_branches, check_worktrees
from gitworker.observe.text import BOLD, GREEN, RED, YELLOW, count_text, cut, one_line, paint
from gitworker.paths import DAMAGED, Repository, state_paths
from gitworker.repo.plumbing.git import Git

if TYPE_CHECKING:
    from gitworker.session import Session

Check = Callable[[], Iterable[DoctorFinding]]
LEVEL_COLORS = {Level.OK: GREEN, Level.WARN: YELLOW, Level.FAIL: RED}
LEVEL_WIDTH = 4
CHECK_WIDTH = 10
# What an error says helps is `doctor` itself in these cases, so doctor must know better.
HINTS = {
    "database_damaged": "keep a copy of the state directory, then: sqlite3 bus.db .recover",
    "read_only": "make the state directory writable, or free the disk",
    "disk": "df -h",
}
HARMLESS = frozenset({"not_initialised"})
UNREADABLE = frozenset({"git_too_old", "untrusted_owner"})  # it is git that opens no repository


@dataclass(frozen=True, slots=True)
class Doctor:
    """Every finding, in the order of the checks."""

    findings: tuple[DoctorFinding, ...]

    @property
    def is_healthy(self) -> bool:
        """Tell whether nothing has failed; warnings do not count."""
        return all(finding.level is not Level.FAIL for finding in self.findings)


def read_doctor(session: Session) -> Doctor:
    """Make every check."""
    checks: tuple[tuple[str, Check], ...] = (
        ("git", lambda: check_git(session.git)),
        ("python", check_python),
        ("sqlite", lambda: check_sqlite(session)),
        ("state", lambda: check_directory(session.paths)),
        ("disk", lambda: check_file_system(session.paths)),
        ("link", lambda: check_link(session)),
        ("excludes", lambda: check_excludes(session)),
        ("database", lambda: check_database(session)),
        ("operations", lambda: check_operations(session)),
        ("log", lambda: check_log(session)),
        ("worktrees", lambda: check_worktrees(session)),
        ("branches", lambda: check_branches(session)),
        ("hooks", lambda: check_hooks(session)),
        ("beater", lambda: check_beater(session)),
        ("target", lambda: check_target(session)),
        ("history", lambda: check_history(session)),
    )
    return Doctor(tuple(_all(checks)))


def read_doctor_without_session(repository: Repository, error: GitWorkerError) -> Doctor:
    """Check what needs no database; `error` is why there is none to be had."""
    paths = state_paths(repository)
    checks: tuple[tuple[str, Check], ...] = (
        ("git", lambda: check_git(Git(repository.top or repository.common_dir))),
        ("python", check_python),
        ("state", lambda: check_directory(paths)),
        ("disk", lambda: check_file_system(paths)),
        ("session", lambda: [_of_error(error)] if error.code != DAMAGED else []),
    )
    if error.code in HARMLESS | UNREADABLE and not os.path.isdir(paths.root):
        checks = tuple(check for check in checks if check[0] != "state")
    return Doctor(tuple(_all(checks)))


def render_doctor(doctor: Doctor, *, width: int | None, color: bool) -> str:
    """Return one line per finding, its hint below it, and a summary. Hints are never cut."""
    lines = []
    for one in doctor.findings:
        level = paint(f"{one.level:<{LEVEL_WIDTH}}", LEVEL_COLORS[one.level], color=color)
        room = None if width is None or one.hint else width - LEVEL_WIDTH - CHECK_WIDTH - 4
        lines.append(f"{level}  {one.check:<{CHECK_WIDTH}}  {cut(one_line(one.message), room)}")
        if one.hint:
            lines.append(f"{'':<{LEVEL_WIDTH + CHECK_WIDTH + 4}}→ {one_line(one.hint)}")
    return "\n".join([*lines, "", paint(_summary(doctor), BOLD, color=color)])


def json_doctor(doctor: Doctor) -> dict[str, Any]:
    """Return the findings as JSON data."""
    return {
        "healthy": doctor.is_healthy,
        "findings": [
            {
                "level": one.level.value, "check": one.check, "message": one.message,
                "hint": one.hint,
            }
            for one in doctor.findings
        ],
    }  # fmt: skip


def _all(checks: Iterable[tuple[str, Check]]) -> Iterator[DoctorFinding]:
    for name, check in checks:
        try:
            yield from list(check())
        except GitWorkerError as error:
            yield fail(name, error.message, _hint(error))
        except OSError as error:
            yield fail(name, f"{error.filename}: {error.strerror}")


def _of_error(error: GitWorkerError) -> DoctorFinding:
    say = warn if error.code in HARMLESS else fail
    check = "repository" if error.code in UNREADABLE else "database"
    return say(check, error.message, _hint(error))


def _hint(error: GitWorkerError) -> str | None:
    return HINTS.get(error.code, error.hint)


def _summary(doctor: Doctor) -> str:
    levels = [one.level for one in doctor.findings]
    failed, warned = levels.count(Level.FAIL), levels.count(Level.WARN)
    if not failed and not warned:
        return f"all {len(levels)} checks are well"
    problems = count_text(failed, "problem")
    return f"{problems}, {count_text(warned, 'warning')}"
