"""Fetch from a remote through GitPython (`repo/remote/transfer.py`): one branch, or one ref."""

from gitworker.clock import sleep
from gitworker.errors import NotFound
from gitworker.model.ids import Branch, Oid, Ref
from gitworker.model.ref_names import ref_of, tracking_ref
from gitworker.progress import Progress
from gitworker.repo.plumbing.git import OTHER_WORKTREES, Git
from gitworker.repo.remote.rules_transfer import (
    HINTS,
    TransferCause,
    TransferFailed,
    explain,
    out_of_time,
    plain_text,
    read_trouble,
)
from gitworker.repo.remote.transfer import transfer

LIMIT_S = 600.0
# Another process, for example an editor, fetches into the same ref at the same moment.
CONTENTION = (".lock': File exists", "but expected ", *OTHER_WORKTREES)
PAUSES_S = (0.05, 0.2, 0.5, 1.0)
QUIET = ("--no-tags", "--no-recurse-submodules", "--no-prune", "--no-write-fetch-head")


def fetch_branch(
    git: Git, *, remote: str, branch: str, report: Progress | None = None, limit_s: float = LIMIT_S
) -> Oid:
    """Fetch `branch` from `remote` into its remote-tracking ref and return its commit.

    Nothing else is fetched or written. Raises TransferFailed if the remote cannot be reached or
    takes longer than `limit_s`, and NotFound if it has no such branch.
    """
    hint = HINTS[TransferCause.NO_BRANCH].format(remote=remote)
    if branch.startswith("-"):
        raise NotFound(f"{branch!r} is not a branch name", hint)
    ref = ref_of(Branch(branch))
    tracking = tracking_ref(remote, ref)
    words = [*QUIET, "--", remote, f"+{ref}:{tracking}"]
    result = transfer(git, "fetch", words, report=report, limit_s=limit_s)
    for pause_s in PAUSES_S:
        if result.status == 0 or not any(mark in result.err for mark in CONTENTION):
            break
        sleep(pause_s)
        result = transfer(git, "fetch", words, report=report, limit_s=limit_s)
    if result.timed_out:
        raise out_of_time(verb="fetch", remote=remote, branch=branch, limit_s=limit_s)
    if result.status != 0:
        trouble = read_trouble(result.text)
        if trouble is TransferCause.MOVED:
            raise _not_recorded(git, result.text, remote=remote, branch=branch)
        if trouble is TransferCause.NO_BRANCH:
            raise NotFound(f"remote {remote} has no branch {branch}", hint)
        raise explain(trouble, verb="fetch", remote=remote, branch=branch, text=result.text)
    return git.require_oid(tracking, "the fetched branch")


def fetch_objects(git: Git, *, remote: str, ref: Ref, limit_s: float = LIMIT_S) -> bool:
    """Fetch the commits of a remote's ref and write no ref; return False if there is no such ref.

    Raises TransferFailed if the remote cannot be reached or takes longer than `limit_s`.
    """
    words = [*QUIET, "--", remote, ref]
    result = transfer(git, "fetch", words, report=None, limit_s=limit_s)
    if result.timed_out:
        raise out_of_time(verb="fetch", remote=remote, branch=ref, limit_s=limit_s)
    if result.status == 0:
        return True
    trouble = read_trouble(result.text)
    if trouble is TransferCause.NO_BRANCH:
        return False
    raise explain(trouble, verb="fetch", remote=remote, branch=ref, text=result.text)


def _not_recorded(git: Git, text: str, *, remote: str, branch: str) -> TransferFailed:
    """Return the error of a fetch that cannot move the remote-tracking ref: a lock, or a race."""
    from gitworker.repo.plumbing.rules_git_errors import find_cause  # regular expressions: 5 ms

    cause = find_cause(text, git.directory)
    if cause is None:
        return explain(TransferCause.OTHER, verb="fetch", remote=remote, branch=branch, text=text)
    return TransferFailed(cause.message, cause.hint, code=cause.code, detail=plain_text(text))
