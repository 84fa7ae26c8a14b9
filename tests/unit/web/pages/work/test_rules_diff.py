"""A diff as files, hunks and numbered lines."""

from gitworker.web.pages.work import rules_diff
from gitworker.web.pages.work.rules_diff import DiffLine, parse_diff

TEXT = """\
diff --git a/src/a b.py b/src/a b.py
index 1..2 100644
--- a/src/a b.py
+++ b/src/a b.py
@@ -1,2 +1,2 @@ def f():
 same
-old
+new
\\ No newline at end of file
@@ -9 +9 @@
-x
+y
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-bye
diff --git a/one b/two
similarity index 100%
rename from one
rename to two
diff --git a/mode b/mode
old mode 100644
new mode 100755
"""


def test_files_and_lines() -> None:
    """Names, facts, numbers and counts are those of the diff."""
    first, gone, renamed, mode = parse_diff(TEXT).files
    assert (first.name, first.counts, first.facts) == ("src/a b.py", (2, 2), ())
    assert first.hunks[0].head == "def f():"
    assert first.hunks[0].lines == (
        DiffLine("same", 1, 1, "same"), DiffLine("del", 2, None, "old"),
        DiffLine("add", None, 2, "new"), DiffLine("note", None, None, " No newline at end of file"),
    )  # fmt: skip
    assert first.hunks[1].lines[0] == DiffLine("del", 9, None, "x")
    assert (gone.name, gone.counts) == ("gone", (0, 1))
    assert (renamed.name, renamed.hunks) == ("two", ())
    assert (mode.name, mode.facts) == ("mode", ("old mode 100644", "new mode 100755"))


def test_other_text() -> None:
    """The text of another diff program is kept, before a diff and without one."""
    (only,) = parse_diff("a picture\nof it").files
    assert (only.name, only.facts) == ("", ("a picture", "of it"))
    before, _ = parse_diff("note\ndiff --git a/x b/x\n").files
    assert before.facts == ("note",)
    assert parse_diff("").files == ()


def test_the_limit() -> None:
    """Lines after the limit are counted."""
    text = "diff --git a/x b/x\n@@ -1 +1 @@\n" + "+a\n" * rules_diff.LINES_AT_MOST
    assert parse_diff(text).left_out == 2
