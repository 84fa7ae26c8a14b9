"""The uncommitted files of a worker that an approval or a landing leaves out."""

from gitworker.errors import GitWorkerError
from gitworker.model.outcome import LeftOut
from gitworker.repo.status.checkout_status import read_status
from gitworker.repo.status.path_changes import changes_between
from gitworker.repo.worktrees.ownership import has_worktree, owner_of
from gitworker.session import Session
from gitworker.store.payloads.payload import RemovalData
from gitworker.store.workers import Worker


def find_left_out(session: Session, worker: Worker) -> LeftOut | None:
    """Return the uncommitted and untracked files in a worktree; None if there are no such files.

    A worktree that git cannot read counts as one without files.
    """
    try:
        owner = owner_of(session.repository.common_dir, worker)
        if owner is None or not has_worktree(owner):
            return None
        status = read_status(session.git.at(owner.place))
    except (GitWorkerError, OSError):
        return None
    files = tuple(sorted({*status.paths, *status.untracked_paths}))
    return LeftOut(files, owner.place) if files else None


def find_rescued(session: Session, removal: RemovalData) -> LeftOut | None:
    """Return the uncommitted files that the rescue ref of a removal keeps, if there are any."""
    tip, rescued = removal.tip, removal.rescued
    if tip is None or rescued is None or removal.rescue is None or tip == rescued:
        return None
    files = tuple(change.path for change in changes_between(session.git, tip, rescued))
    return LeftOut(files, removal.rescue) if files else None
