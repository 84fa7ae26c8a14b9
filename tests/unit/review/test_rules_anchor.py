"""A comment follows its lines through random edits, or is outdated; marks stay on their hunks."""

import difflib
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from gitworker.review.comments.rules_anchor import follow, is_removed
from gitworker.review.comments.rules_place import Lines, same_lines
from gitworker.review.rules_patch import FilePatch, RawChange, parse_patch
from tests.unit.review.edits import Edit, changed, edits, patch_text, scale

CHANGE = RawChange("M", "100644", "100644", "a", "b", "f", "f")


def parsed(old: list[str], new: list[str], *, context: int) -> tuple[FilePatch, ...]:
    """Return the change of a file as git's text says it, parsed."""
    text = patch_text(old, new, context=context)
    return parse_patch([CHANGE], text) if text else ()


@settings(max_examples=scale(400))
@given(edits(), st.integers(1, 12), st.integers(0, 4))
def test_an_anchor_follows_its_lines_or_is_outdated(
    steps: list[Edit], first: int, more: int
) -> None:
    """With distinct lines: the place is found exactly if all lines remain, without one between."""
    before = [f"line {number}" for number in range(1, 17)]
    after = changed(before, steps)
    place = Lines("f", first, first + more)
    found = follow(place, parsed(before, after, context=0))
    quoted = before[first - 1 : first + more]
    at = next((n for n, line in enumerate(after) if line == quoted[0]), None)
    if at is not None and after[at : at + len(quoted)] == quoted:
        assert found == Lines("f", at + 1, at + 1 + more)
    else:
        assert found is None


@settings(max_examples=scale(400))
@given(st.lists(edits(same=True), min_size=1, max_size=4), st.integers(1, 12), st.integers(0, 3))
def test_an_anchor_never_names_other_lines(rounds: list[list[Edit]], first: int, more: int) -> None:
    """Among equal lines, through several rounds: the place has the quoted lines or is missing."""
    versions = [[f"line {number % 4}" for number in range(16)]]
    for steps in rounds:
        versions.append(changed(versions[-1], steps))
    place: Lines | None = Lines("f", first, first + more)
    quoted = versions[0][first - 1 : first + more]
    for old, new in pairwise(versions):
        place = None if place is None else follow(place, parsed(old, new, context=0))
    if place is not None:
        assert same_lines([line.encode() for line in versions[-1]], place, quoted)


@settings(max_examples=scale(400))
@given(edits(same=True), edits(same=True))
def test_a_mark_stays_on_the_same_hunk_only(steps: list[Edit], later: list[Edit]) -> None:
    """An id that two versions share has the same lines."""
    base = [f"line {number % 5}" for number in range(24)]
    one, two = changed(base, steps), changed(changed(base, steps), later)
    first = {hunk.id: hunk for file in parsed(base, one, context=3) for hunk in file.hunks}
    second = {hunk.id: hunk for file in parsed(base, two, context=3) for hunk in file.hunks}
    for id in first.keys() & second.keys():
        assert first[id].lines == second[id].lines


def test_lines_of_other_files_stay() -> None:
    """A file that the change does not contain keeps its places; a deleted one loses them."""
    files = parsed(["a"], ["b"], context=0)
    assert follow(Lines("g", 1, 1), files) == Lines("g", 1, 1)
    gone = parse_patch([CHANGE._replace(status="D")], patch_text(["a"], [], context=0))
    assert follow(Lines("f", 1, 1), gone) is None
    renamed = parse_patch([CHANGE._replace(status="R", path="h")], "diff --git a/f b/h\n")
    assert follow(Lines("f", 1, 1), renamed) == Lines("h", 1, 1)


def test_removed_lines() -> None:
    """Lines are removed if the change removes all of them."""
    files = parsed(["a", "b", "c", "d"], ["a", "d", "e"], context=1)
    assert is_removed(Lines("f", 2, 3), files)
    assert not is_removed(Lines("f", 1, 2), files)
    assert not is_removed(Lines("g", 2, 3), files)


def test_the_text_of_the_tests_is_a_diff() -> None:
    """The patches of these tests have the form of unified diffs."""
    assert patch_text(["a"], ["a"], context=3) == ""
    text = patch_text(["a", "b"], ["a", "c"], context=0)
    assert text == "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -2 +2 @@\n-b\n+c\n"
    assert list(difflib.unified_diff(["x"], ["x"])) == []
