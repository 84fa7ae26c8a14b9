"""Pushing one commit to one branch of a remote, as a compare-and-set.

Never `--force`, never `+`, never a tag or another ref. A lease is only ever given for a commit that
we know: what somebody else has pushed is never replaced.
"""

from gitworker.model.ids import Oid, Ref
from gitworker.repo.plumbing.git import Git
from gitworker.repo.remote.rules_transfer import Trouble, explain, out_of_time, read_trouble
from gitworker.repo.remote.transfer import Narrate, transfer

LIMIT_S = 900.0  # the user's pre-push hook may run tests
WORDS = ("--porcelain", "--no-follow-tags", "--no-force", "--recurse-submodules=no", "--no-atomic")


def push_commit(
    git: Git,
    *,
    remote: str,
    ref: Ref,
    new: Oid,
    expect: Oid | None,
    narrate: Narrate | None = None,
    limit_s: float = LIMIT_S,
) -> bool:
    """Set a remote's branch to `new` where it is at `expect`; return whether it was.

    Without `expect` the branch is made, or moved forward, and nothing else. False where it is
    somewhere else by now. The user's pre-push hook runs as git runs it. Raises TransferFailed
    with the reason and the remote's words; then it is not known where the branch is.
    """
    branch = ref.removeprefix("refs/heads/")
    lease = [] if expect is None else [f"--force-with-lease={ref}:{expect}"]
    told = transfer(
        git,
        "push",
        [*WORDS, *lease, "--", remote, f"{new}:{ref}"],
        narrate=narrate,
        limit_s=limit_s,
        settings=[f"remote.{remote}.mirror=false"],
    )
    if told.timed_out:
        raise out_of_time(act="push", remote=remote, branch=branch, limit_s=limit_s)
    if told.status == 0:
        return True
    trouble = read_trouble(told.text)
    if trouble is Trouble.MOVED:
        return False
    raise explain(trouble, act="push", remote=remote, branch=branch, text=told.text)
