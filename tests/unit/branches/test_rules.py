"""Whether an approval still holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.branches.rules_approval import approval_holds, is_still_approved

PATCHES = st.lists(st.sampled_from("abcd"), max_size=6)


@pytest.mark.parametrize(
    ("approved", "present", "holds"),
    [
        ("abc", "abc", True),
        ("abc", "ac", True),
        ("abc", "", True),
        ("", "", True),
        ("abc", "abcd", False),
        ("abc", "abx", False),
        ("abc", "cab", False),
        ("ab", "aab", False),
        ("", "a", False),
    ],
)
def test_an_approval_holds_for_what_was_approved(approved: str, present: str, holds: bool) -> None:
    """Patches may drop out, but nothing may be added, changed or reordered."""
    assert approval_holds(approved, present) is holds


@given(PATCHES, st.lists(st.booleans(), min_size=6, max_size=6))
def test_dropping_patches_keeps_an_approval(approved: list[str], keep: list[bool]) -> None:
    """Whatever subset a replay leaves, in order, is approved."""
    present = [patch for patch, kept in zip(approved, keep, strict=False) if kept]
    assert approval_holds(approved, present)


@given(PATCHES, st.integers(0, 6))
def test_a_new_patch_withdraws_an_approval(approved: list[str], at: int) -> None:
    """A patch that nobody approved ends it, wherever it stands."""
    assert not approval_holds(approved, [*approved[:at], "new", *approved[at:]])


@pytest.mark.parametrize(
    ("approved", "present", "upstream", "holds"),
    [
        ("abc", "abc", "", True),
        ("abc", "bc", "a", True),
        ("abc", "bc", "", False),
        ("abc", "abcd", "d", False),
        ("abc", "acb", "", False),
        ("abc", "abc", "a", True),
        ("a", "", "a", True),
    ],
)
def test_a_branch_that_moved_may_lose_only_what_has_landed(
    approved: str, present: str, upstream: str, holds: bool
) -> None:
    """After the agent's own rebase a patch may be gone only where the target has it by now."""
    assert is_still_approved(approved, present, upstream=upstream) is holds
