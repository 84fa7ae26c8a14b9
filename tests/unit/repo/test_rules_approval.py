"""The rule that decides whether an approval still holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.repo.history.rules_approval import approval_holds, difference, is_still_approved

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
def test_an_approval_holds_for_its_patches(approved: str, present: str, holds: bool) -> None:
    """Patches may disappear, but none may be added, changed or reordered."""
    assert approval_holds(approved, present) is holds


@given(PATCHES, st.lists(st.booleans(), min_size=6, max_size=6))
def test_dropping_patches_keeps_an_approval(approved: list[str], keep: list[bool]) -> None:
    """Every subset that a replay leaves, in order, is approved."""
    present = [patch for patch, kept in zip(approved, keep, strict=False) if kept]
    assert approval_holds(approved, present)


@given(PATCHES, st.integers(0, 6))
def test_a_new_patch_withdraws_an_approval(approved: list[str], at: int) -> None:
    """A patch that was not approved ends the approval, at any position."""
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
def test_a_moved_branch_may_lose_only_landed_patches(
    approved: str, present: str, upstream: str, holds: bool
) -> None:
    """After the agent's own rebase a patch may be missing only if the target contains it."""
    assert is_still_approved(approved, present, upstream=upstream) is holds


@pytest.mark.parametrize(
    ("approved", "present", "words"),
    [
        (["p1 ada", "p2 ada"], ["p1 eve", "p2 ada"], "author or message"),
        (["p1 ada", "p2 ada"], ["p2 ada", "p1 ada"], "order of the commits"),
        (["p1 ada"], ["p1 ada", "p2 ada"], "branch has changed"),
    ],
)
def test_the_difference_in_words(approved: list[str], present: list[str], words: str) -> None:
    """A changed author or message, another order, and other patches have different words."""
    assert words in difference(approved, present)
