"""The changes of a review: numbered lines, and each comment on its line, its file, or the whole."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from gitworker.review.comments.anchors import Anchored
from gitworker.review.comments.rules_place import Lines
from gitworker.review.page.rules_order import PageFile
from gitworker.review.page.shown_changes import (
    DELETED_AT_MOST,
    DELETION,
    DiffLine,
    ShownFile,
    key_of,
    show_changes,
)
from gitworker.review.rules_patch import FilePatch, RawChange, parse_patch
from gitworker.states.comment_machine import CommentState
from gitworker.store.reviewing.comments import NEW, OLD, Comment, Place

if TYPE_CHECKING:
    from gitworker.review.page.page import ReviewPage

TEXT = """\
diff --git a/a.py b/a.py
@@ -1,2 +1,2 @@ def f():
 same
-old
+new
\\ No newline at end of file
@@ -9 +9 @@
-x
+y"""


def changed(
    path: str = "a.py", *, old_path: str = "", status: str = "M", mode: str = "1", text: str = TEXT
) -> FilePatch:
    """Return the change of one file."""
    raw = RawChange(status, "1", mode, "a", "b", old_path or path, path)
    return parse_patch([raw], text)[0]


def said(
    number: int, first: int = 0, last: int = 0, *, path: str = "a.py", side: str = NEW,
    is_outdated: bool = False,
) -> Anchored:  # fmt: skip
    """Return a comment on lines; without lines it is on the whole round."""
    place = Place(path, side, first, last, ("text",)) if first else None
    comment = Comment(
        number, "auth", "login", 1, "hq", "Ada", place, "Why?", 0, CommentState.SENT, 1, 0,
        None, None, "", "", None,
    )  # fmt: skip
    lines = Lines(path, first, last) if first and not is_outdated else None
    return Anchored(comment, lines, is_outdated)


def page(
    *files: FilePatch, comments: tuple[Anchored, ...] = (), viewed: frozenset[str] = frozenset()
) -> "ReviewPage":
    """Return the parts of a review that decide."""
    shown = tuple(PageFile(one, ("claimed by ui",), None) for one in files)
    return cast("ReviewPage", SimpleNamespace(files=shown, comments=comments, viewed=viewed))


def numbers(found: ShownFile) -> dict[int, tuple[str, int | None, int | None]]:
    """Return the line below which each comment of a file is."""
    return {
        one.comment.id: (line.kind, line.old, line.new)
        for hunk in found.hunks
        for line in hunk.lines
        for one in line.said
    }


def test_lines_have_numbers() -> None:
    """Each line has its number on the sides that have it; a note has none."""
    (file,) = show_changes(page(changed())).files
    first, second = file.hunks
    assert (first.place, first.heading, file.counts) == ("-1,2 +1,2", "def f():", (2, 2))
    assert first.lines == (
        DiffLine("same", 1, 1, "same"), DiffLine("del", 2, None, "old"),
        DiffLine("add", None, 2, "new"), DiffLine("note", None, None, " No newline at end of file"),
    )  # fmt: skip
    assert second.lines == (DiffLine("del", 9, None, "x"), DiffLine("add", None, 9, "y"))


def test_comments_are_below_their_lines() -> None:
    """A comment is below its last line on its side; others of the file are beside its name."""
    comments = (
        said(1, 1, 2), said(2, 2, 2, side=OLD), said(3, 1, 1, side=OLD), said(4, 5, 5),
        said(5, 2, 2, is_outdated=True),
    )  # fmt: skip
    found = show_changes(page(changed(), comments=comments))
    assert numbers(found.files[0]) == {1: ("add", None, 2), 2: ("del", 2, None), 3: ("same", 1, 1)}
    assert [one.comment.id for one in found.files[0].said] == [4, 5]
    assert found.said == ()


def test_comments_on_no_file() -> None:
    """A comment on the whole round, or on a file without changes, is on the whole."""
    comments = (said(1), said(2, 1, 1, path="b.py"))
    assert show_changes(page(changed(), comments=comments)).said == comments


def test_a_renamed_file() -> None:
    """A comment before the change is on the old name; a new file of that name has its own."""
    comments = (said(1, 2, 2, path="b.py", side=OLD), said(2, 2, 2, path="b.py"))
    files = (changed(old_path="b.py", status="R"), changed("b.py", status="A"))
    found = show_changes(page(*files, comments=comments)).files
    assert [list(numbers(one)) for one in found] == [[1], [2]]


@pytest.mark.parametrize(
    ("patch", "facts"),
    [
        (changed(status="A", mode="100644"), ("new",)),
        (changed(status="A", mode="100755"), ("new", "mode 100755 (executable)")),
        (changed(status="D"), ("deleted",)),
        (changed(mode="2"), ("mode 1 → 2",)),
        (changed(old_path="b.py", status="R"), ("from b.py",)),
        (changed(text="diff --git a/a.py b/a.py\nBinary files differ"), ("binary",)),
    ],
)
def test_facts(patch: FilePatch, facts: tuple[str, ...]) -> None:
    """A file has the facts that its lines do not show, then its risks."""
    (file,) = show_changes(page(patch)).files
    assert file.facts == (*facts, "claimed by ui")


def test_viewed_parts() -> None:
    """A file is viewed if all its parts are, the fact of a rename among them."""
    patch = changed(old_path="b.py", status="R")
    seen = frozenset(patch.ids[:2])
    found = show_changes(page(patch, viewed=seen))
    assert (found.viewed, found.total, found.files[0].is_viewed) == (2, 3, False)
    assert [one.is_viewed for one in found.files[0].hunks] == [True, False]
    assert show_changes(page(patch, viewed=frozenset(patch.ids))).files[0].is_viewed


def test_lines_after_the_limit() -> None:
    """A file that exceeds the limit is shown without lines; its comments are beside its name."""
    found = show_changes(page(changed("b"), changed(), comments=(said(1, 2, 2),)), limit=7)
    assert [len(one.hunks) for one in found.files] == [2, 0]
    assert found.left_out == 6
    assert [one.comment.id for one in found.files[1].said] == [1]


def test_only_one_file() -> None:
    """Only the wanted file has lines; the counts are those of all, and so are the comments."""
    files = (changed("b"), changed())
    every = show_changes(page(*files, comments=(said(1, 2, 2),), viewed=frozenset(files[0].ids)))
    only = show_changes(
        page(*files, comments=(said(1, 2, 2),), viewed=frozenset(files[0].ids)),
        only=key_of("a.py"),
    )
    assert [len(one.hunks) for one in only.files] == [0, 2]
    assert only.files[1] == every.files[1]
    assert (only.viewed, only.total, only.said) == (every.viewed, every.total, ())
    assert only.files[0].is_viewed


def test_keys() -> None:
    """A key names one path, also one that is no UTF-8, and has only letters and digits."""
    keys = {key_of(path) for path in ("a", "b", "a b", "\udcff")}
    assert len(keys) == 4
    assert all(key.isalnum() for key in keys)


def test_a_large_deletion_begins_folded() -> None:
    """A deleted file with many lines is folded, unless a comment is on it or it is short."""
    many = DELETED_AT_MOST + 1
    for lines, comments, reason in (
        (many, (), DELETION), (many, (said(1, 1, 1, side=OLD),), None), (many - 1, (), None)
    ):  # fmt: skip
        text = f"diff --git a/a.py b/a.py\n@@ -1,{lines} +0,0 @@\n" + "\n".join(["-x"] * lines)
        patch = changed(status="D", text=text)
        assert patch.removed == lines
        assert show_changes(page(patch, comments=comments)).files[0].folded == reason
    assert show_changes(page(changed())).files[0].folded is None
