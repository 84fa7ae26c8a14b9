"""Whether an approval still holds. Pure."""

from collections.abc import Sequence


def approval_holds(approved: Sequence[str], present: Sequence[str]) -> bool:
    """Tell whether the present patches are the approved ones, in order.

    Patches that are gone were already upstream, or became empty, when the branch was replayed:
    what is left must be a subsequence of what was approved.
    """
    remaining = iter(approved)
    return all(any(patch == wanted for patch in remaining) for wanted in present)
