"""fsck: every check on one picture of the repository, and the mending of what can be mended."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from gitworker.errors import Conflict, GitWorkerError, as_gitworker_error
from gitworker.fsck.checks.derived_files import (
    check_blobs,
    check_logs,
    check_trash,
    check_views,
)
from gitworker.fsck.checks.installed import check_installed
from gitworker.fsck.checks.misplaced import check_common_dirs, check_misplaced, check_note
from gitworker.fsck.checks.missing_objects import check_empty_objects, check_objects
from gitworker.fsck.checks.ref_files import check_ref_files
from gitworker.fsck.checks.ref_rows import check_anchors, check_branches, check_rescues
from gitworker.fsck.checks.rows import (
    check_claims,
    check_database,
    check_journal,
    check_log,
    check_seats,
)
from gitworker.fsck.checks.worker_commits import check_commits, check_landings, made_commits
from gitworker.fsck.checks.worktree_places import (
    check_locks,
    check_unowned,
    check_worktrees,
)
from gitworker.fsck.fsck_finding import FsckFinding
from gitworker.fsck.picture import Picture, take_picture
from gitworker.repo.plumbing.lock import hold
from gitworker.session import Session

Check = Callable[[Picture], Iterable[FsckFinding]]
# In the order in which they are mended, each step on a new picture: what a killed act left explains
# much of the rest, a branch that is back has its commits, and a worktree needs its branch.
STEPS: tuple[tuple[Check, ...], ...] = (
    (check_misplaced, check_note, check_common_dirs),
    (check_database, check_log),
    (check_ref_files, check_empty_objects),
    (check_objects,),
    (check_journal,),
    (check_branches, check_rescues),
    (check_anchors, check_commits, check_landings),
    (check_worktrees, check_unowned, check_locks),
    (check_installed, check_seats, check_claims, check_blobs, check_trash),
    (check_views, check_logs),
)
PASSES = 3  # over all steps; what still comes back then is left, and said


@dataclass(frozen=True, slots=True)
class FsckReport:
    """What was looked at, and everything that is not as it should be."""

    commits: int
    workers: int
    findings: tuple[FsckFinding, ...]


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What was mended, what could not be and why, and what is left afterwards."""

    done: tuple[FsckFinding, ...]
    failed: tuple[tuple[FsckFinding, GitWorkerError], ...]
    left: FsckReport


def prove(session: Session) -> FsckReport:
    """Look at everything, without a lock; what cannot be looked at is a finding itself.

    Others go on working meanwhile. So what is found is looked for once more, and what was only
    passing is not told.
    """
    picture, found = _look(session)
    if found:
        seen = {(one.code, one.where) for one in found}
        picture, again = _look(session)
        found = tuple(one for one in again if (one.code, one.where) in seen)
    return FsckReport(_count_commits(picture), len(picture.workers), found)


def _look(session: Session) -> tuple[Picture, tuple[FsckFinding, ...]]:
    picture = take_picture(session, at_work=_somebody_is_at_work(session))
    return picture, tuple(one for step in STEPS for check in step for one in _made(check, picture))


def mend(session: Session, before: Iterable[FsckFinding] = ()) -> RepairReport:
    """Mend what loses nothing by it, under the locks of landings and worktrees; look again.

    `before` is what was repaired already, to make opening the session possible.
    """
    done: list[FsckFinding] = [*before]
    failed: dict[tuple[str, str], tuple[FsckFinding, GitWorkerError]] = {}
    with hold(session.landing_lock, name="landing"):
        for _ in range(PASSES):
            count = len(done)
            for step in STEPS:
                picture = take_picture(session)
                wanted = [
                    one
                    for check in step
                    for one in _made(check, picture)
                    if one.mend and (one.code, one.where) not in failed
                ]
                for one in wanted:
                    error = _try(session, one)
                    if error is None:
                        done.append(one)
                    else:
                        failed[one.code, one.where] = (one, error)
            if len(done) == count:
                break
    return RepairReport(tuple(done), tuple(failed.values()), prove(session))


def _try(session: Session, one: FsckFinding) -> GitWorkerError | None:
    """Mend one finding; return why that is not possible now, since it never stops the others."""
    assert one.mend is not None
    try:
        if one.locks_itself:
            one.mend(session)
        else:
            with hold(session.worktree_lock, name="worktree"):
                one.mend(session)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is said
        return as_gitworker_error(error)
    return None


def _count_commits(picture: Picture) -> int:
    """Return how many commits are on record; where they cannot be read, a check has said so."""
    try:
        return len(made_commits(picture))
    except GitWorkerError:
        return 0


def _made(check: Check, picture: Picture) -> Iterator[FsckFinding]:
    try:
        yield from check(picture)
    except Exception as failure:  # noqa: BLE001 - a check that cannot be made stops no other
        error = as_gitworker_error(failure)
        yield FsckFinding(
            "not_checked", "fsck", f"a check could not be made: {error.message}",
            error.hint or "git fsck",
        )  # fmt: skip


def _somebody_is_at_work(session: Session) -> bool:
    """Tell whether another command holds a lock under which acts are open for a while."""
    for lock, what in ((session.landing_lock, "landing"), (session.worktree_lock, "worktree")):
        with suppress(OSError):
            try:
                with hold(lock, name=what, timeout_s=0):
                    continue
            except Conflict:
                return True
    return False
