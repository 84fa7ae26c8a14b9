"""Rules: whether an approval is still valid. Pure.

A commit is recorded as one text (`repo.history.patch_ids`): its patch id, a digest of author and
message, and the digest that its rebase has, if that differs. Older records have the patch id only.
"""

from collections.abc import Collection, Sequence


def patch_of(record: str) -> str:
    """Return the patch id of a recorded commit."""
    return record.partition(" ")[0]


def is_complete(approved: Sequence[str]) -> bool:
    """Return whether an approval records author and message of every commit."""
    return bool(approved) and all(" " in record for record in approved)


def covers(approved: str, present: str) -> bool:
    """Return whether a present commit is an approved one, or a rebase of it."""
    patch, *texts = approved.split(" ")
    now, *digests = present.split(" ")
    return patch == now and (not digests or digests[0] in texts)


def is_covered(approved: Sequence[str], present: str) -> bool:
    """Return whether a present commit is one of the approved ones, or a rebase of one."""
    return any(covers(record, present) for record in approved)


def approval_holds(approved: Sequence[str], present: Sequence[str]) -> bool:
    """Return True if the present commits are the approved ones, in order.

    A replay drops commits that are already upstream or become empty, so the remaining commits must
    be a subsequence of the approved ones.
    """
    remaining = iter(approved)
    return all(any(covers(record, wanted) for record in remaining) for wanted in present)


def is_still_approved(
    approved: Sequence[str], present: Sequence[str], *, upstream: Collection[str]
) -> bool:
    """Return True if a branch that moved since its approval has the approved commits, in order.

    A commit may be missing only if the target has its patch by now, since a rebase by the agent
    drops it. `upstream` are patch ids.
    """
    remaining = [
        record
        for record in approved
        if patch_of(record) not in upstream or any(covers(record, now) for now in present)
    ]
    return len(remaining) == len(present) and all(map(covers, remaining, present))


def difference(approved: Sequence[str], present: Sequence[str]) -> str:
    """Return in words how a branch differs from its approved commits."""
    before, now = [patch_of(one) for one in approved], [patch_of(one) for one in present]
    if before == now:
        return "the author or message of a commit has changed since the approval"
    if sorted(before) == sorted(now):
        return "the order of the commits has changed since the approval"
    return "the branch has changed since it was approved"
