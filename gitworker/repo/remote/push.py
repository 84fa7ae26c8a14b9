"""Push one commit to one branch of a remote as a compare-and-set.

Never `--force`, never `+`, never a tag or another ref. A lease always names a known commit, so a
push never replaces commits that another user pushed.
"""

from collections.abc import Mapping

from gitworker.model.ids import Oid, Ref
from gitworker.model.ref_names import short_name
from gitworker.progress import Progress
from gitworker.repo.plumbing.git import Git
from gitworker.repo.remote.rules_transfer import TransferCause, explain, out_of_time, read_trouble
from gitworker.repo.remote.transfer import transfer

LIMIT_S = 900.0  # the user's pre-push hook may run tests
WORDS = ("--porcelain", "--no-follow-tags", "--no-force", "--recurse-submodules=no", "--no-atomic")


def push_commit(
    git: Git,
    *,
    remote: str,
    ref: Ref,
    new: Oid,
    expect: Oid | None,
    report: Progress | None = None,
    limit_s: float = LIMIT_S,
) -> bool:
    """Set a remote's branch to `new` if it is at `expect`; return whether it was.

    Without `expect` the branch may only be created or moved forward. Returns False if the branch is
    at another commit. The user's pre-push hook runs as git runs it. Raises TransferFailed with the
    reason and the remote's messages; then the state of the remote branch is unknown.
    """
    branch = short_name(ref)
    lease = [] if expect is None else [f"--force-with-lease={ref}:{expect}"]
    result = transfer(
        git,
        "push",
        [*WORDS, *lease, "--", remote, f"{new}:{ref}"],
        report=report,
        limit_s=limit_s,
        settings=[f"remote.{remote}.mirror=false"],
    )
    if result.timed_out:
        raise out_of_time(verb="push", remote=remote, branch=branch, limit_s=limit_s)
    if result.status == 0:
        return True
    trouble = read_trouble(result.text)
    if trouble is TransferCause.MOVED:
        return False
    raise explain(trouble, verb="push", remote=remote, branch=branch, text=result.text)


def delete_branches(
    git: Git, *, remote: str, tips: Mapping[Ref, Oid], limit_s: float = LIMIT_S
) -> bool:
    """Delete each branch of a remote that is at the given commit; return whether all were.

    The user's pre-push hook does not run, since nothing is sent.
    """
    leases = [f"--force-with-lease={ref}:{oid}" for ref, oid in tips.items()]
    result = transfer(
        git,
        "push",
        [*WORDS, "--no-verify", *leases, "--", remote, *(f":{ref}" for ref in tips)],
        report=None,
        limit_s=limit_s,
        settings=[f"remote.{remote}.mirror=false"],
    )
    return result.status == 0
