"""Check for obstacles before a branch moves together with its checkout.

Read-only: the errors are raised before anything moves, so a refusal changes nothing.
"""

import os
from collections.abc import Collection

from gitworker.errors import Conflict, Refused
from gitworker.model.ids import Ref
from gitworker.model.ref_names import short_name
from gitworker.paths import Repository, open_regular, require_repository
from gitworker.repo.checkout.move_branch import is_ours
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.refs import find_head_ref, read_loose_refs
from gitworker.repo.status.checkout_status import (
    NAMED_MAX,
    end_command,
    name_paths,
    open_operation,
)
from gitworker.rules_text import quoted


def require_quiet(here: Git, ref: Ref, *, resuming: bool = False) -> None:
    """Raise if a checkout is missing, is not on `ref`, or has an operation or a lock in progress.

    That is an open git operation or git's index lock; with `resuming` gitworker's own lock does not
    count.
    """
    worktree, name = here.directory, short_name(ref)
    if not os.path.isdir(worktree):
        raise Refused(
            f"{name} is checked out in {worktree}, but that directory does not exist",
            "git worktree list",
            code="checkout_missing",
        )
    repository = require_repository(worktree)
    operation = open_operation(repository.git_dir)
    if operation is not None:
        raise Refused(
            f"a {operation} is in progress in {worktree}, where {name} is checked out",
            f"git -C {quoted(worktree)} {end_command(operation)}",
            code="operation_open",
        )
    lock = f"{repository.git_dir}/index.lock"
    if os.path.lexists(lock) and not (resuming and is_ours(lock)):
        raise Conflict(
            f"another git process holds {lock}, or a killed one left it",
            f"rm {quoted(lock)}   # only if no git command is running in {worktree}",
            code="index_locked",
        )
    if _is_on(repository, ref):
        return
    head = find_head_ref(here)
    if head != ref:
        raise Conflict(
            f"{worktree} is now on {head or 'a detached HEAD'}, not on {ref}",
            "git worktree list",
            code="not_on_branch",
        )


def refuse_overlap(
    worktree: str, *, dirty: Collection[str], untracked: Collection[str], coming: str
) -> None:
    """Raise Refused if a move would overwrite local changes or untracked files.

    `coming` names the changes of the move, for example "the changes that land on main".
    """
    if dirty:
        raise Refused(
            f"your uncommitted changes in {worktree} overlap with {coming}: {name_paths(dirty)}",
            f"git -C {quoted(worktree)} stash",
            code="would_overwrite",
            detail=_not_named(dirty),
        )
    if untracked:
        raise Refused(
            f"files that git does not track in {worktree} are in the way of {coming}:"
            f" {name_paths(untracked)}",
            f"git -C {quoted(worktree)} status --ignored",
            code="would_overwrite",
            detail=_not_named(untracked),
        )


def _not_named(paths: Collection[str]) -> str:
    """Return all paths, one each line, if the message names only some of them."""
    return "\n".join(sorted(paths)) if len(paths) > NAMED_MAX else ""


def _is_on(repository: Repository, ref: Ref) -> bool:
    """Return whether files prove that HEAD is on a branch that is not a symbolic ref."""
    try:
        with open(
            f"{repository.git_dir}/HEAD",
            encoding="utf-8",
            errors="surrogateescape",
            opener=open_regular,
        ) as file:
            head = file.read()
    except OSError:
        return False
    return head == f"ref: {ref}\n" and bool(read_loose_refs(repository.common_dir, [ref]))
