"""Every check, in order, and the runner of `doctor`, `fsck` and `fsck --repair`."""

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

from gitworker.errors import GitWorkerError, as_gitworker_error
from gitworker.fsck.checks import (
    derived_files,
    installed,
    misplaced,
    missing_objects,
    ref_rows,
    refs_and_locks,
    rows,
    worker_commits,
    worktree_places,
)
from gitworker.fsck.finding import Finding, fail
from gitworker.fsck.fleet_check import check_fleet
from gitworker.fsck.picture import Picture
from gitworker.fsck.quick import (
    agent_checks,
    database_checks,
    hook_checks,
    notify_checks,
    settings_checks,
    state_directory,
    system,
    target_branch,
    target_history,
    worktree_checks,
)
from gitworker.paths import Repository
from gitworker.session import Session

S = TypeVar("S")
# Hints for errors whose own hint is `doctor`.
HINTS = {
    "database_damaged": "keep a copy of the state directory, then: sqlite3 bus.db .recover",
    "read_only": "make the state directory writable, or free the disk",
    "disk": "df -h",
    "system": None,
}


class Check(NamedTuple, Generic[S]):
    """A check of a repository, a session or a picture. Only a quick check has a name."""

    find: Callable[[S], Iterable[Finding]]
    name: str = ""

    def failure(self, error: GitWorkerError) -> Finding:
        """Return the finding that this check could not run."""
        if self.name:
            return fail(self.name, error.message, HINTS.get(error.code, error.hint))
        message = f"a check could not run: {error.message}"
        return Finding("not_checked", "fsck", message, error.hint or "git fsck")


def run_checks(checks: Iterable[Check[S]], subject: S) -> Iterator[Finding]:
    """Yield all findings; a check that cannot run is a finding, and the others still run."""
    for check in checks:
        try:
            yield from check.find(subject)
        except Exception as error:  # noqa: BLE001 - the other checks still run
            yield check.failure(as_gitworker_error(error))


def _opened(check: Check[Repository]) -> Check[Session]:
    return Check(lambda session: check.find(session.repository), check.name)


def _step(*found: Callable[[Picture], Iterable[Finding]]) -> tuple[Check[Picture], ...]:
    return tuple(map(Check, found))


GIT = Check(system.check_git, "git")
PYTHON = Check(system.check_python, "python")
STATE = Check(state_directory.check_directory, "state")
DISK = Check(state_directory.check_file_system, "disk")
SETTINGS = Check(settings_checks.check_settings, "settings")
WITHOUT_DATABASE: tuple[Check[Repository], ...] = (GIT, PYTHON, STATE, DISK, SETTINGS)
# In the order of doctor's output.
QUICK: tuple[Check[Session], ...] = (
    _opened(GIT),
    _opened(PYTHON),
    Check(system.check_sqlite, "sqlite"),
    _opened(STATE),
    _opened(DISK),
    Check(state_directory.check_link, "link"),
    Check(state_directory.check_excludes, "excludes"),
    Check(database_checks.check_database, "database"),
    Check(database_checks.check_operations, "operations"),
    Check(database_checks.check_log, "log"),
    Check(worktree_checks.check_worktrees, "worktrees"),
    Check(worktree_checks.check_branches, "branches"),
    Check(hook_checks.check_hooks, "hooks"),
    Check(agent_checks.check_agents, "agents"),
    Check(worktree_checks.check_heartbeat_daemon, worktree_checks.BEATER),
    _opened(SETTINGS),
    Check(notify_checks.check_notifications, "notify"),
    Check(check_fleet, "fleet"),
    Check(target_branch.check_target, "target"),
    Check(target_history.check_history, "history"),
)
# In the order of repairs, each step on a new picture: an interrupted operation explains many other
# findings, a restored branch has its commits again, and a worktree needs its branch.
STEPS: tuple[tuple[Check[Picture], ...], ...] = (
    _step(misplaced.check_misplaced, misplaced.check_note, misplaced.check_common_dirs),
    _step(rows.check_database, rows.check_log),
    _step(refs_and_locks.check_ref_files, missing_objects.check_empty_objects),
    _step(missing_objects.check_objects),
    _step(rows.check_journal),
    _step(ref_rows.check_branches, ref_rows.check_rescues),
    _step(ref_rows.check_anchors, worker_commits.check_commits, worker_commits.check_landings),
    _step(
        worktree_places.check_worktrees, worktree_places.check_unowned, worktree_places.check_locks
    ),
    _step(
        installed.check_installed, rows.check_assignments, rows.check_claims, rows.check_questions,
        derived_files.check_blobs, derived_files.check_trash,
    ),
    _step(derived_files.check_views, derived_files.check_logs),
)  # fmt: skip
