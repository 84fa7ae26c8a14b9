"""Commit the work of a worker in its own worktree, as the worker's `git commit` would.

The user's hooks run. Callers outside the agent's sandbox use this for an agent that may not write
to the git directory.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from gitworker.errors import Conflict, Refused
from gitworker.lifecycle.take_up import publish_commits, take_up
from gitworker.paths import open_regular
from gitworker.repo.plumbing.git import Git, GitFailed
from gitworker.repo.plumbing.git_environment import NO_UPKEEP
from gitworker.repo.status.checkout_status import read_status
from gitworker.repo.status.special_files import is_work
from gitworker.repo.worktrees.ownership import OwnershipClaim, owner_of, require_owned
from gitworker.repo.worktrees.trouble import require_no_operation, require_on_branch
from gitworker.rules_text import count_text, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.model.ids import Oid
    from gitworker.session import Session
    from gitworker.store.workers import Worker

MARKERS = (b"<<<<<<< ", b">>>>>>> ")


class Committed(NamedTuple):
    """A new commit on a worker's branch, and the number of files with work that it left out."""

    worker: Worker
    commit: Oid
    files: tuple[str, ...]
    left: int


def commit_work(
    session: Session, worker: Worker, message: str, *, paths: Sequence[str] = ()
) -> Committed:
    """Commit everything in the worker's worktree, or only `paths`; take interrupted work up.

    A path is absolute, or relative to the top of the worktree. Raises Refused without changes,
    during a rebase or merge, in a worktree that is not proved to be the worker's, and if a hook or
    git refuses the commit.
    """
    owner = _require_worktree(session, worker)
    require_no_operation(owner.place, owner.admin_dir or "")
    require_on_branch(session.git, owner)
    worker = take_up(session, worker)
    git = session.git.at(owner.place)
    chosen = [_pathspec(owner.place, path) for path in paths]
    try:
        if chosen:
            git.run("add", "--all", "--", *chosen)
        else:
            add_all(git)
    except GitFailed as error:
        if error.code != GitFailed.code:  # the cause is known: a full disk, for example
            raise
        raise Refused(
            "git cannot add these files", _status_of(owner.place), code="not_added",
            detail=error.detail,
        ) from error  # fmt: skip
    if git.run("diff", "--cached", "--quiet", "--", *chosen, ok=(0, 1)).status == 0:
        raise Refused(
            f"there is nothing to commit in {owner.place}", _status_of(owner.place),
            code="nothing_to_commit",
        )  # fmt: skip
    try:
        git.run("commit", "--quiet", "-m", message, "--", *chosen, settings=NO_UPKEEP)
    except GitFailed as error:
        if error.code != GitFailed.code:
            raise
        raise Refused(
            "a hook or git refused the commit",
            _status_of(owner.place),
            code="commit_refused",
            detail=error.detail,
        ) from error
    publish_commits(session)
    named = ("diff-tree", "--root", "--no-commit-id", "--name-only", "-r", "-z", "HEAD", "--")
    files = tuple(name for name in git.run(*named).text.split("\0") if name)
    left = read_status(git, renew=True)
    count = left.staged + left.unstaged + left.untracked
    return Committed(worker, git.require_oid("HEAD"), files, count)


def commit_all(git: Git, message: str) -> None:
    """Commit everything in a worktree, untracked files included."""
    add_all(git)
    git.run("commit", "--quiet", "-m", message, settings=NO_UPKEEP)


def add_all(git: Git) -> None:
    """Add everything except files that git cannot store, such as device nodes of a sandbox."""
    try:
        git.run("add", "--all")
    except GitFailed:
        listed = git.run("ls-files", "--others", "--exclude-standard", "-z").text.split("\0")
        special = [path for path in listed if path and not is_work(git.directory, path)]
        if not special:
            raise
        git.run("add", "--all", "--", ":/", *(f":(top,exclude,literal){path}" for path in special))


def add_resolved(session: Session, worker: Worker) -> None:
    """Add the tracked files of a stopped rebase; raise Conflict if one has conflict markers."""
    owner = _require_worktree(session, worker)
    git = session.git.at(owner.place)
    names = git.run("diff", "--name-only", "--diff-filter=U", "-z").text.split("\0")
    marked = [name for name in names if name and _has_markers(f"{owner.place}/{name}")]
    if marked:
        raise Conflict(
            f"{count_text(len(marked), 'file')} in {owner.place} with conflict markers",
            f"cd {quoted(owner.place)} && git worker sync --continue   # after you edit them;"
            " or: --abort",
            code="conflict_markers",
            detail="\n".join(f"  {name}" for name in marked),
        )
    git.run("add", "--update", "--", ":/")


def _require_worktree(session: Session, worker: Worker) -> OwnershipClaim:
    from gitworker.store.workers import on_another_machine

    owner = owner_of(session.repository.common_dir, worker)
    if owner is None:
        raise on_another_machine(worker) or Refused(
            f"worker {worker.worker_id} has no worktree",
            f"git worker show {worker.worker_id}",
            code="no_worktree",
        )
    require_owned(owner)
    return owner


def _status_of(place: str) -> str:
    return f"git -C {quoted(place)} status"


def _pathspec(place: str, path: str) -> str:
    """Return the pathspec of exactly one path, which may be absolute; it must be in `place`."""
    for top in (place, os.path.realpath(place)):
        path = path.removeprefix(f"{top}/")
    inside = os.path.normpath(path)
    if os.path.isabs(inside) or inside.split("/")[0] in ("..", ".git"):
        raise Refused(f"{path} is not in the worktree {place}", _status_of(place), code="not_added")
    return f":(top,literal){inside}" if inside != "." else ":/"


def _has_markers(path: str) -> bool:
    try:
        with open(path, "rb", opener=open_regular) as file:
            return any(line.startswith(MARKERS) for line in file)
    except OSError:  # deleted, which may be the resolution
        return False
