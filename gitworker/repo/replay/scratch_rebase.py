"""A real `git rebase` in a permanent, detached worktree of gitworker: slow, but always exact.

It does the work that merge-tree cannot: sign commits, copy notes, run the user's merge programs.
The worktree `<scratch_dir>/rebase` is made when it is first needed, and again if it is broken.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from gitworker.errors import Unavailable
from gitworker.model.ids import Oid
from gitworker.paths import require_repository
from gitworker.repo.plumbing.disk import remove_tree
from gitworker.repo.plumbing.git import Git, GitFailed, failure_of
from gitworker.repo.plumbing.git_environment import NO_UPKEEP
from gitworker.repo.plumbing.repository_lock import descriptor_of, hold
from gitworker.repo.status.checkout_status import open_operation
from gitworker.repo.worktrees.worktree_list import find_admin_dir

# Settings that would make a rebase ask, stash, move other branches, or keep merges.
NEUTRAL = (
    *NO_UPKEEP,
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "rebase.autoSquash=false",
    "rebase.autoStash=false",
    "rebase.updateRefs=false",
    "rebase.rebaseMerges=false",
    "rebase.missingCommitsCheck=ignore",
    "rebase.rescheduleFailedExec=false",
    "rebase.stat=false",
    "rerere.autoUpdate=false",
    "submodule.recurse=false",
    "advice.detachedHead=false",
)
WAIT_S = 3600  # others may sign many commits
ENVIRONMENT = {"GIT_EDITOR": ":", "GIT_SEQUENCE_EDITOR": ":", "GIT_LFS_SKIP_SMUDGE": "1"}


@dataclass(frozen=True, slots=True)
class Rebased:
    """The result of a rebase: the new tip, or the conflicting commit and the sorted paths."""

    new: Oid
    conflict: Oid | None
    paths: tuple[str, ...]


def rebase_in_scratch(
    git: Git,
    *,
    target: Oid,
    topic: Oid,
    scratch_dir: str,
    exclude: Oid | None = None,
    settings: Sequence[str] = (),
) -> Rebased:
    """Rebase `topic`, or only `exclude..topic`, onto `target` in the scratch worktree.

    `settings` override the user's. It moves no branch. It waits while another process uses the
    worktree, or the git of a killed one. Raises GitFailed if the rebase fails for another reason
    than a conflict, for example if signing does not work.
    """
    os.makedirs(scratch_dir, exist_ok=True)
    lock = f"{scratch_dir}/rebase-lock"
    with hold(lock, name="rebase", timeout_s=WAIT_S):
        git = git.holding(descriptor_of(lock))
        scratch = _require_clean(git, f"{scratch_dir}/rebase", target)
        onto = [target] if exclude is None else ["--onto", target, exclude]
        done = scratch.run(
            "rebase", *onto, topic,
            env=ENVIRONMENT, settings=(*NEUTRAL, *settings), ok=range(-64, 256),
        )  # fmt: skip
        if done.status == 0:
            return Rebased(scratch.require_oid("HEAD"), None, ())
        stopped = scratch.find_oid("REBASE_HEAD")
        paths = _unmerged(scratch)
        scratch.run("rebase", "--abort", settings=NEUTRAL, ok=range(-64, 256))
        if stopped is None or not (paths or b"CONFLICT" in done.out):
            failure = failure_of(["rebase"], done)
            failure.detail = _without_advice(failure.detail)  # it was aborted: no advice applies
            raise failure
        return Rebased(topic, stopped, paths)


def _require_clean(git: Git, path: str, start: Oid) -> Git:
    """Return a Git for the clean scratch worktree, without an operation in progress."""
    scratch = git.at(path)
    if os.path.isdir(path):
        try:
            _clean(scratch, path)
            return scratch
        except (GitFailed, Unavailable, OSError):
            pass
    _make(git, path, start)
    return scratch


def _clean(scratch: Git, path: str) -> None:
    repository = require_repository(path)
    if repository.top != os.path.realpath(path) or not repository.is_linked:
        raise Unavailable(f"{path} is not a worktree")
    if os.path.lexists(f"{repository.git_dir}/index.lock"):
        os.unlink(f"{repository.git_dir}/index.lock")  # no other process ever works here
    if open_operation(repository.git_dir) is not None:
        scratch.run("rebase", "--quit", settings=NEUTRAL)
    scratch.run("reset", "--hard", "--quiet", settings=NEUTRAL, env=ENVIRONMENT)
    scratch.run("clean", "-ffdxq", settings=NEUTRAL)


def _make(git: Git, path: str, start: Oid) -> None:
    """Make the worktree again; first remove the rest of a broken one."""
    common_dir = require_repository(git.directory).common_dir
    remove_tree(path)
    admin = find_admin_dir(common_dir, path)
    if admin is not None:
        remove_tree(admin)
    git.run(
        "worktree", "add", "--quiet", "--detach", "--", path, start,
        settings=NEUTRAL, env=ENVIRONMENT,
    )  # fmt: skip


def _unmerged(scratch: Git) -> tuple[str, ...]:
    out = scratch.run("diff", "--name-only", "--diff-filter=U", "-z", "--no-ext-diff").text
    return tuple(sorted({path for path in out.split("\0") if path}))


def _without_advice(text: str) -> str:
    """Return git's messages without progress and hints."""
    lines = [line for line in text.splitlines() if not line.startswith(("hint:", "Rebasing ("))]
    return "\n".join(lines)
