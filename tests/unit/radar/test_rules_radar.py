"""The branches that can collide: the rules, on footprints and tracks made by hand."""

import pytest

from gitworker.model.ids import Oid
from gitworker.radar.rules_radar import (
    BranchHistory,
    ChangedPaths,
    Pair,
    can_overlap,
    footprint_of,
    own_attributes,
    own_conflicts,
    pairs_that_may_overlap,
)


def changes(text: str) -> ChangedPaths:
    """Return the footprint of changes written as `M:path D:path`."""
    return footprint_of([(word[0], word[2:]) for word in text.split()])


def test_footprint() -> None:
    """A footprint has all directories above its paths except the root, by kind of change."""
    assert changes("M:a/b/c D:d/e A:f T:g/h") == ChangedPaths(
        paths=frozenset({"a/b/c", "d/e", "f", "g/h"}),
        folders=frozenset({"a", "a/b", "d", "g"}),
        emptied=frozenset({"d"}),
        filled=frozenset(),
    )


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ("", "", False),
        ("M:a", "", False),
        ("M:a", "M:b", False),
        ("M:a", "M:a", True),
        ("D:a A:b", "M:a", True),  # renamed and changed
        ("D:a A:b", "A:b", True),  # renamed onto an addition
        ("M:a/b", "M:a/c", False),
        ("A:a", "A:a/b", True),  # file and directory
        ("A:ab", "A:a/b", False),
        ("D:d/x A:e/x", "A:d/new", True),  # the directory may have been renamed
        ("D:d/x A:e/x", "A:d/sub/new", True),
        ("D:d/sub/x A:e/sub/x", "A:d/new", True),
        ("D:d/x A:e/x", "M:d/y", False),
        ("D:x A:y", "A:new", False),  # the root is never renamed
        ("M:A", "M:a", False),
    ],
)
def test_can_meet(one: str, other: str, meet: bool) -> None:
    """Two changes can collide at a path, at a file for a directory, or in a moved directory."""
    assert can_overlap(changes(one), changes(other)) is meet
    assert can_overlap(changes(other), changes(one)) is meet


def test_the_unknown_meets_everything() -> None:
    """An unknown footprint can collide with everything."""
    assert can_overlap(None, changes(""))
    assert can_overlap(changes(""), None)


OLD, MIDDLE, TOP = Oid("old"), Oid("middle"), Oid("top")
A, B, C, D = Oid("a"), Oid("b"), Oid("c"), Oid("d")


def track(
    own: dict[Oid, tuple[Oid | None, str]],
    steps: tuple[str, str] = ("", ""),
    related: dict[Oid, frozenset[Oid]] | None = None,
) -> BranchHistory:
    """Return a track of three commits on the target, the last the target itself."""
    return BranchHistory(
        bases={**{tip: base for tip, (base, _) in own.items()}, TOP: TOP},
        own={**{tip: changes(text) for tip, (_, text) in own.items()}, TOP: changes("")},
        trunk=(OLD, MIDDLE, TOP),
        steps=[changes(step) for step in steps],
        related=related or {},
    )


def meet(known: BranchHistory, *pairs: Pair) -> set[Pair]:
    """Ask for pairs, and make sure that their order does not matter."""
    found = pairs_that_may_overlap(known, pairs)
    turned = pairs_that_may_overlap(known, [(other, one) for one, other in pairs])
    assert turned == {(other, one) for one, other in found}
    return found


def test_branches_of_one_base() -> None:
    """From one base only paths that both changed count."""
    known = track({A: (OLD, "M:x"), B: (OLD, "M:x"), C: (OLD, "M:y")}, ("M:y", "M:y"))
    assert meet(known, (A, B), (A, C), (B, C)) == {(A, B)}


def test_a_later_branch_has_the_targets_changes() -> None:
    """Changes of the target between two bases count for the later branch, later ones do not."""
    known = track({A: (OLD, "M:x"), B: (MIDDLE, "M:y"), C: (TOP, "M:z")}, ("M:x", "M:y"))
    assert meet(known, (A, B), (A, C), (B, C)) == {(A, B), (A, C), (B, C)}
    known = track({A: (OLD, "M:x"), B: (MIDDLE, "M:y"), C: (TOP, "M:z")}, ("M:y", "M:x"))
    assert meet(known, (A, B), (A, C), (B, C)) == {(A, C)}


def test_the_target_is_a_branch_at_the_end() -> None:
    """Against the target all its changes since the base count; a branch on top of it fits."""
    known = track({A: (OLD, "M:x"), B: (TOP, "M:x"), C: (OLD, "M:q")}, ("", "M:x"))
    assert meet(known, (TOP, A), (TOP, B), (TOP, C)) == {(TOP, A)}


def test_in_doubt_they_meet() -> None:
    """A branch with an unknown base or an unknown footprint collides with all; so do relatives."""
    related = {C: frozenset({D}), D: frozenset({C})}
    known = track({A: (None, ""), B: (OLD, ""), C: (OLD, ""), D: (OLD, "")}, related=related)
    assert meet(known, (A, B), (B, C), (C, D), (B, Oid("e"))) == {
        (A, B), (C, D), (B, Oid("e")),
    }  # fmt: skip


def test_own_attributes() -> None:
    """A branch has its own attributes if it or the target changed any since its base."""
    known = track(
        {
            A: (TOP, "M:src/.gitattributes"), B: (TOP, "M:.gitattributes.md"), C: (MIDDLE, "M:x"),
            D: (OLD, "M:x"), Oid("e"): (None, ""),
        },
        ("A:.gitattributes", "M:y"),
    )  # fmt: skip
    assert own_attributes(known, known.own.keys()) == {A, D, Oid("e")}
    unknown = known._replace(own={**known.own, C: None})
    assert own_attributes(unknown, [C]) == {C}


def test_own_conflicts() -> None:
    """A path with the entries of a merge with the target alone is no conflict of the pair."""
    found = {"b": {"1", "2"}, "a": {"3"}, "c": {"4"}}
    assert own_conflicts(found, []) == ("a", "b", "c")
    assert own_conflicts(found, [{"a": {"3"}, "b": {"1"}}, {"c": {"4"}}]) == ("b",)
    assert own_conflicts({}, [found]) == ()
