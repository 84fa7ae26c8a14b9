"""git's patch as data: names come from the raw list, hunks end by their counts."""

from gitworker.review.rules_patch import RawChange, parse_patch, parse_raw

RAW = (
    ":100644 100644 aa bb M\0a\nb\0:100644 100755 cc dd R090\0old\0new\0"
    ":000000 100644 00 ee A\0bin\0"
)
TEXT = """diff --git "a/a\\nb" "b/a\\nb"
index aa..bb 100644
--- "a/a\\nb"
+++ "b/a\\nb"
@@ -1,2 +1,3 @@ def f():
 one
-diff --git a/x b/x
+@@ -1 +1 @@
+--- a/x
\\ No newline at end of file
@@ -9,0 +11 @@
+two\r
diff --git a/old b/new
old mode 100644
new mode 100755
similarity index 90%
rename from old
rename to new
diff --git a/bin b/bin
new file mode 100644
index 00..ee
Binary files /dev/null and b/bin differ
"""


def test_a_patch_is_parsed() -> None:
    """Lines that look like heads stay in their hunk; names keep every character."""
    changes = parse_raw(RAW)
    assert [(one.status, one.old_path, one.path) for one in changes] == [
        ("M", "a\nb", "a\nb"), ("R", "old", "new"), ("A", "bin", "bin"),
    ]  # fmt: skip
    first, renamed, binary = parse_patch(changes, TEXT)
    one, two = first.hunks
    assert one.lines == (
        " one", "-diff --git a/x b/x", "+@@ -1 +1 @@", "+--- a/x", "\\ No newline at end of file",
    )  # fmt: skip
    assert (one.heading, one.old_start, one.old_count, one.new_count) == ("def f():", 1, 2, 3)
    assert (two.lines, two.old_start, two.old_count, two.new_start) == (("+two\r",), 9, 0, 11)
    assert (first.path, first.added, first.removed, first.facts) == ("a\nb", 3, 1, None)
    assert (renamed.hunks, renamed.facts is None, renamed.is_binary) == ((), False, False)
    assert (binary.is_binary, len(binary.ids)) == (True, 1)


def test_a_type_change_has_two_sections() -> None:
    """A file that becomes a link is one change: its end and its begin."""
    text = (
        "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        "diff --git a/f b/f\nnew file mode 120000\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+y\n"
        "\\ No newline at end of file\n"
        "diff --git a/g b/g\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-1\n+2\n"
    )
    change = RawChange("T", "100644", "120000", "a", "b", "f", "f")
    link, other = parse_patch([change, change._replace(status="M", path="g", old_path="g")], text)
    assert [hunk.lines for hunk in link.hunks] == [
        ("-x",), ("+y", "\\ No newline at end of file"),
    ]  # fmt: skip
    assert link.facts is not None
    assert [hunk.lines for hunk in other.hunks] == [("-1", "+2")]


def test_equal_hunks_are_distinguished() -> None:
    """Each of two equal hunks has an id, and neither keeps it when the other disappears."""
    change = RawChange("M", "1", "1", "a", "b", "f", "f")
    head = "diff --git a/f b/f\n--- a/f\n+++ b/f\n"
    hunk = "@@ -{0} +{0} @@\n-x\n+y\n"
    (both,) = parse_patch([change], head + hunk.format(1) + hunk.format(20))
    (single,) = parse_patch([change], head + hunk.format(20))
    assert len({*both.ids, *single.ids}) == 3
    assert parse_patch([], "") == ()
    assert parse_patch([change], "warning\n" + head + hunk.format(20))[0].ids == single.ids
    (elsewhere,) = parse_patch([change], head + hunk.format(700))
    assert elsewhere.ids == single.ids


def test_a_patch_may_be_missing_or_end_in_a_hunk() -> None:
    """A change without a section has no hunks, and the last hunk needs no line behind it."""
    changes = parse_raw(":100644 100644 aa bb M\0a\0")
    assert parse_patch(changes, "")[0].hunks == ()
    text = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2"
    assert parse_patch(changes, text)[0].hunks[0].lines == ("-1", "+2")
