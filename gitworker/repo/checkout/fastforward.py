"""Move the target forward without moving, stashing or overwriting any uncommitted work.

If the target is checked out, the user's own `git merge --ff-only` runs there, with every setting
neutralised that would change its effect. The result is checked and a wrong move is taken back. git
survives the death of this process and holds the landing lock. Otherwise the ref moves by
compare-and-set.
"""

import os
from collections.abc import Sequence
from typing import NamedTuple

from gitworker.crashpoint import crash_point
from gitworker.errors import Conflict, Refused
from gitworker.model.ids import Oid, Ref
from gitworker.model.ref_names import short_name
from gitworker.paths import require_repository, require_top
from gitworker.repo.checkout.move_branch import DETACHED, move_branch, read_tree
from gitworker.repo.checkout.obstacles import refuse_overlap, require_quiet
from gitworker.repo.checkout.partial_checkout import (
    PartialCheckout,
    find_moved,
    has_begun,
    is_younger,
    put_back,
    renew_entries,
)
from gitworker.repo.history.diffs import diff_commits
from gitworker.repo.plumbing.git import Git, GitFailed
from gitworker.repo.plumbing.git_environment import NO_UPKEEP
from gitworker.repo.plumbing.refs import find_head_ref, find_ref, find_tip, is_ancestor, move_ref
from gitworker.repo.plumbing.rules_tree import is_safe_path
from gitworker.repo.status.checkout_status import name_paths, read_status
from gitworker.repo.status.path_changes import Change, changes_between, find_collisions
from gitworker.repo.worktrees.worktree_list import find_checkout
from gitworker.rules_text import quoted

UPDATING = b"Updating "
NAMED_AT_MOST = 100_000  # characters of paths on a command line; the limit may be 128 KiB


class TargetMove(NamedTuple):
    """The target's move from `old` to `new`, its reflog message, and the lock that git holds.

    `changes` are the paths that differ between both commits, if they are known.
    """

    ref: Ref
    old: Oid
    new: Oid
    reason: str
    lock_fd: int | None = None
    changes: tuple[Change, ...] | None = None

    @property
    def name(self) -> str:
        """Return the branch's short name."""
        return short_name(self.ref)


def fast_forward(
    git: Git,
    *,
    ref: Ref,
    old: Oid,
    new: Oid,
    worktree: str | None,
    reason: str,
    lock_fd: int | None = None,
    changes: tuple[Change, ...] | None = None,
) -> None:
    """Move the target from `old` to its descendant `new`, together with its checkout.

    `worktree` is its checkout (`find_checkout`); `lock_fd` is a lock that git holds while it moves
    the checkout; `changes` are those between both commits, if known. The user's hooks run as git
    runs them. Raises Refused, with nothing changed, if an open operation or uncommitted, untracked
    or ignored files there are in the way, or `new` does not descend from `old`. Raises Conflict if
    the target or the checkout moved meanwhile, or if files that git had moved could not be put
    back.
    """
    step = TargetMove(ref, old, new, reason, lock_fd, changes)
    _check_tip(git, step)
    if worktree is not None:
        _in_checkout(git, step, worktree)
        return
    _check_descent(git, step)
    move_ref(git, ref, old=old, new=new, reason=reason)
    crash_point("forward-ref")
    appeared = find_checkout(git, ref)
    if appeared is not None and not _index_is_at(git.at(appeared), new):
        # It was checked out between the check and the move: do it again through the checkout.
        move_ref(git, ref, old=new, new=old, reason=f"{reason} (taken back)")
        _in_checkout(git, step, appeared)


def check_forward(git: Git, *, ref: Ref, old: Oid, new: Oid, worktree: str | None) -> None:
    """Raise the error that `fast_forward` would raise now; change nothing."""
    step = TargetMove(ref, old, new, "")
    _check_tip(git, step)
    _check_descent(git, step)
    if worktree is not None:
        _check_worktree(git, step, worktree)


def settle_checkout(git: Git, *, ref: Ref, new: Oid, since_ms: int) -> None:
    """Put back the files that a killed git moved, on its way to `new`, in the checkout of `ref`.

    `new` is the last commit of the whole fast-forward, not one in between. The caller holds the
    lock, so that no such git is alive. Only files that changed since `since_ms` count. Raises
    Conflict if a file cannot be written, or if git's index lock exists too: it may belong to
    another git, so a user has to remove it.
    """
    worktree = find_checkout(git, ref, alone=False)
    old = find_ref(git, ref)
    if worktree is None or not os.path.isdir(worktree) or old is None or old == new:
        return
    here = git.at(worktree)
    admin_dir = require_top(worktree).git_dir
    checkout = PartialCheckout(worktree, f"{admin_dir}/index", old, new, since_ms)
    changes = changes_between(here, old, new)
    has_new_index = all(is_younger(checkout, c.path) for c in changes) and _index_has(
        here, changes, new
    )
    if os.path.lexists(f"{admin_dir}/index.lock"):
        moved = find_moved(here, checkout)
        if moved or has_new_index:
            raise Conflict(
                f"a killed git left a partial checkout in {worktree}"
                f" ({name_paths(moved or [c.path for c in changes])}), and {admin_dir}/index.lock",
                f"rm {quoted(admin_dir)}/index.lock && git worker recover"
                "   # only if no git command is running there",
                code="index_locked",
                detail="\n".join(moved),
            )
        return
    _put_back(here, checkout)
    if has_new_index:
        read_tree(here, old=new, new=old)


def _check_tip(git: Git, step: TargetMove) -> None:
    tip = find_tip(git, require_repository(git.directory).common_dir, step.ref)
    if tip != step.old:
        raise Conflict(
            f"{step.name} moved: expected {step.old[:12]}, found {(tip or 'no branch')[:12]}",
            f"git log {step.old[:12]}..{step.name}",
            code="ref_moved",
        )


def _check_descent(git: Git, step: TargetMove) -> None:
    if not is_ancestor(git, step.old, step.new):
        raise Refused(
            f"{step.new[:12]} does not descend from {step.name}, which is never moved by force",
            f"git log --oneline {step.new[:12]}..{step.name}",
            code="not_fast_forward",
        )


def _in_checkout(git: Git, step: TargetMove, worktree: str) -> None:
    try:
        changes = _check_worktree(git, step, worktree)
    except (Refused, Conflict):
        _check_descent(git, step)  # git's merge would report it, but it does not run now
        raise
    _merge(git.at(worktree), step, worktree=worktree, changes=changes)


def _check_worktree(git: Git, step: TargetMove, worktree: str) -> tuple[Change, ...]:
    """Return the changes of the move; raise Refused or Conflict if something is in its way."""
    here = git.at(worktree)
    require_quiet(here, step.ref)
    compared = f"{step.new} {step.old}"
    known = {} if step.changes is None else {compared: step.changes}
    found = diff_commits(here, [compared], known=known)
    if found is None:
        raise GitFailed(f"git cannot compare {step.old} with {step.new}")
    changes = tuple(change for change in found[0] if is_safe_path(change.path))
    refuse_overlap(
        worktree,
        dirty=_find_dirty(here, {change.path for change in changes}),
        untracked=find_collisions(worktree, changes),
        coming=f"the changes that land on {step.name}",
    )
    return changes


def _merge(here: Git, step: TargetMove, *, worktree: str, changes: tuple[Change, ...]) -> None:
    crash_point("forward-checked")
    done = here.run_to_end(
        "merge", "--ff-only", "--no-autostash", "--no-squash", "--no-stat",
        "--no-overwrite-ignore", step.new,
        settings=(
            "merge.autoStash=false", "merge.verifySignatures=false",
            f"branch.{step.name}.mergeOptions=", "core.abbrev=no", *NO_UPKEEP,
        ),
        env={"GIT_REFLOG_ACTION": step.reason},
        lock_fd=step.lock_fd,
    )  # fmt: skip
    crash_point("forward-merged")
    moved_from = _moved_from(done.out)
    if _has_arrived(here, step):
        return
    if moved_from is None:
        _check_descent(here, step)
    if done.status != 0:
        from gitworker.repo.plumbing.rules_git_errors import (
            find_cause,  # regular expressions: 5 ms, rare
        )

        _undo_checkout(here, step, changes, complaint=done.complaint)
        _check_tip(here, step)  # if another process has committed since, a retry may succeed
        cause = find_cause(done.complaint, worktree)
        because = "" if cause is None else f": {cause.message}"
        raise Refused(
            f"git could not fast-forward {step.name} in {worktree}, which is unchanged{because}",
            f"git -C {quoted(worktree)} status" if cause is None else cause.hint,
            code="merge_refused",
            detail=done.complaint,
        )
    _take_back(here, step, moved_from=moved_from, worktree=worktree)


def _find_dirty(here: Git, paths: set[str]) -> set[str]:
    """Return those of `paths` with uncommitted changes; read all files only if some may have."""
    if sum(map(len, paths)) <= NAMED_AT_MOST:
        changed = paths and here.run(
            "--literal-pathspecs", "status", "--porcelain", "-z", "--no-renames",
            "--ignore-submodules=none", "--untracked-files=no", "--", *sorted(paths),
            env={"GIT_OPTIONAL_LOCKS": "0"},
        ).out  # fmt: skip
        if not changed:
            return set()
    return paths & set(read_status(here, untracked=False).paths)


def _moved_from(out: bytes) -> Oid | None:
    """Return the commit from which git moved HEAD, from its `Updating OLD..NEW` line."""
    for line in out.splitlines():
        if line.startswith(UPDATING):
            return Oid(line[len(UPDATING) :].split(b"..")[0].decode("ascii"))
    return None


def _has_arrived(here: Git, step: TargetMove) -> bool:
    """Return whether the target contains the new commit, perhaps below a newer one."""
    tip = find_tip(here, require_repository(here.directory).common_dir, step.ref)
    if tip == step.new:
        return True
    return tip is not None and tip != step.old and is_ancestor(here, step.new, tip)


def _index_is_at(here: Git, commit: Oid) -> bool:
    """Return whether the index has exactly the tree of a commit."""
    done = here.run("diff-index", "--cached", "--quiet", commit, ok=(0, 1))
    return done.status == 0


def _undo_checkout(
    here: Git, step: TargetMove, changes: tuple[Change, ...], *, complaint: str
) -> None:
    """Put index and files back if git moved them, or some of them, but not the ref.

    If another process meanwhile committed the new state on the branch, keep it.
    """
    if find_head_ref(here) != step.ref:
        return
    tip = find_ref(here, step.ref)
    if tip not in (None, step.old) and _index_has(here, changes, Oid(tip or "")):
        return
    if _index_has(here, changes, step.new):
        read_tree(here, old=step.new, new=step.old)
    elif has_begun(complaint):
        index = f"{require_repository(here.directory).git_dir}/index"
        checkout = PartialCheckout(here.directory, index, step.old, step.new)
        _put_back(here, checkout)


def _index_has(here: Git, changes: Sequence[Change], commit: Oid) -> bool:
    """Return whether the index has a commit's entries at all changed paths."""
    out = here.run("diff-index", "--cached", "--name-only", "-z", "--no-renames", commit).text
    left = set(out.split("\0"))
    return bool(changes) and not any(change.path in left for change in changes)


def _put_back(here: Git, checkout: PartialCheckout) -> None:
    """Put back the files that git has moved; raise Conflict if one cannot be written."""
    left = put_back(here, checkout)
    if not left.missing:
        renew_entries(here, left.written)
        return
    raise Conflict(
        f"git stopped while it moved the files of {here.directory}, and these could not be put"
        f" back: {name_paths(left.missing)}",
        f"git -C {quoted(here.directory)} checkout -- {quoted(left.missing[0])}"
        "   # shows the reason; then: git worker recover",
        code="checkout_broken",
        detail="\n".join((*left.missing, *(f"{path} (changed)" for path in left.changed))),
    )


def _take_back(here: Git, step: TargetMove, *, moved_from: Oid | None, worktree: str) -> None:
    """Take back a fast-forward of a branch that the user just switched to; raise Conflict."""
    wrong = find_head_ref(here) or DETACHED
    if moved_from is not None and find_ref(here, wrong) == step.new and wrong != step.ref:
        try:
            move_branch(
                here, ref=wrong, old=step.new, new=moved_from, worktree=worktree,
                reason=f"{step.reason} (taken back)",
            )  # fmt: skip
        except (Refused, Conflict, GitFailed) as failure:
            raise Conflict(
                f"{worktree} was switched to {wrong} at the same time; that branch was moved from"
                f" {moved_from[:12]} to {step.new[:12]} and could not be moved back",
                f"git -C {quoted(worktree)} reset --keep {moved_from[:12]}",
                code="wrong_branch_moved",
                detail=failure.message,
            ) from failure
    raise Conflict(
        f"{worktree} was switched to {wrong} while {step.name} was landing; nothing was landed",
        "git worker merge --all",
        code="checkout_moved",
    )
