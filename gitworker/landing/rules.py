"""Whether an approval still holds. Pure."""

from collections.abc import Collection, Sequence


def approval_holds(approved: Sequence[str], present: Sequence[str]) -> bool:
    """Tell whether the present patches are the approved ones, in order.

    Patches that are gone were already upstream, or became empty, when the branch was replayed:
    what is left must be a subsequence of what was approved.
    """
    remaining = iter(approved)
    return all(any(patch == wanted for patch in remaining) for wanted in present)


def is_still_approved(
    approved: Sequence[str], present: Sequence[str], *, upstream: Collection[str]
) -> bool:
    """Tell whether a branch that moved since its approval holds the approved patches, in order.

    A patch may be gone only where the target has it by now: a rebase of the agent's own drops it.
    """
    left = [patch for patch in approved if patch in present or patch not in upstream]
    return left == list(present)
