"""fsck: run every check on one picture of the repository, and repair findings without loss."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from gitworker.errors import Conflict, GitWorkerError, as_gitworker_error
from gitworker.fsck.checks.worker_commits import made_commits
from gitworker.fsck.finding import Finding
from gitworker.fsck.picture import Picture, take_picture
from gitworker.fsck.registry import STEPS, run_checks
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.session import Session

PASSES = 3  # over all steps; a finding that a repair brings back is then reported


@dataclass(frozen=True, slots=True)
class FsckReport:
    """The numbers of commits and workers that were checked, and the findings."""

    commits: int
    workers: int
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class RepairReport:
    """The findings that were repaired, those whose repair failed, and a last report."""

    done: tuple[Finding, ...]
    failed: tuple[tuple[Finding, GitWorkerError], ...]
    left: FsckReport


def run_fsck(session: Session) -> FsckReport:
    """Run every check without a lock.

    Other commands may run at the same time, so only findings of two runs in a row are reported.
    """
    picture, found = _run_all(session)
    if found:
        seen = {(one.code, one.subject) for one in found}
        picture, again = _run_all(session)
        found = tuple(one for one in again if (one.code, one.subject) in seen)
    return FsckReport(_count_commits(picture), len(picture.workers), found)


def run_repair(session: Session, before: Iterable[Finding] = ()) -> RepairReport:
    """Make every repair that loses nothing, under the locks of landings and worktrees.

    `before` are the findings that were repaired in order to open the session. Checks again at the
    end.
    """
    done: list[Finding] = [*before]
    failed: dict[tuple[str, str], tuple[Finding, GitWorkerError]] = {}
    with hold(session.landing_lock, name="landing"):
        for _ in range(PASSES):
            count = len(done)
            for step in STEPS:
                for one in tuple(run_checks(step, take_picture(session))):
                    if one.repair is None or (one.code, one.subject) in failed:
                        continue
                    error = _try(session, one)
                    if error is None:
                        done.append(one)
                    else:
                        failed[one.code, one.subject] = (one, error)
            if len(done) == count:
                break
    return RepairReport(tuple(done), tuple(failed.values()), run_fsck(session))


def _run_all(session: Session) -> tuple[Picture, tuple[Finding, ...]]:
    picture = take_picture(session, at_work=_is_busy(session))
    return picture, tuple(one for step in STEPS for one in run_checks(step, picture))


def _try(session: Session, one: Finding) -> GitWorkerError | None:
    """Make one repair; return its error, which does not stop the other repairs."""
    assert one.repair is not None
    try:
        if one.locks_itself:
            one.repair(session)
        else:
            with hold(session.worktree_lock, name="worktree"):
                one.repair(session)
    except Exception as error:  # noqa: BLE001 - reported with the finding
        return as_gitworker_error(error)
    return None


def _count_commits(picture: Picture) -> int:
    """Return the number of recorded commits; 0 if they cannot be read, which a check reports."""
    try:
        return len(made_commits(picture))
    except GitWorkerError:
        return 0


def _is_busy(session: Session) -> bool:
    """Return whether another command holds a lock under which operations stay open for a while."""
    for lock, name in ((session.landing_lock, "landing"), (session.worktree_lock, "worktree")):
        with suppress(OSError):
            try:
                with hold(lock, name=name, timeout_s=0):
                    continue
            except Conflict:
                return True
    return False
