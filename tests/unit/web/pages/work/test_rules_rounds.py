"""The rows of a comparison of two rounds."""

from gitworker.web.pages.work.rules_rounds import ComparedLine, comparison_rows

TEXT = """\
1:  1111111 ! 1:  2222222 Work
    @@ a.txt
      same
    -+one
    ++two
-:  ------- > 2:  3333333 More"""


def test_rows() -> None:
    """A commit is a head; the first sign of its lines is the change between the versions."""
    assert comparison_rows(TEXT) == (
        ComparedLine("head", "1:  1111111 ! 1:  2222222 Work"),
        ComparedLine("same", "@@ a.txt"),
        ComparedLine("same", " same"),
        ComparedLine("del", "+one"),
        ComparedLine("add", "+two"),
        ComparedLine("head", "-:  ------- > 2:  3333333 More"),
    )


def test_no_change() -> None:
    """No text has no row."""
    assert comparison_rows("") == ()
