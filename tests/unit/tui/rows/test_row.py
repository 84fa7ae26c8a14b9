"""Rows: text as a terminal may get it, and texts that are cut between words."""

from gitworker.tui.rows.row import Part, clean, paragraphs, row


def test_text_without_commands() -> None:
    """Control characters are escaped, and a tab becomes blanks."""
    assert clean("a\tb") == "a   b"
    assert clean("\x1b[31m\u202e") == r"\x1b[31m\u202e"


def test_parts() -> None:
    """A text without a style is a part, too."""
    assert row("a", Part("b", "dim")).parts == (Part("a"), Part("b", "dim"))


def test_paragraphs() -> None:
    """Each line of a text is cut between words and indented."""
    rows = list(paragraphs("one two three four five six\nlast\n", width=24, indent="> "))
    assert ["".join(part.text for part in one.parts) for one in rows] == [
        "> one two three four",
        "> five six",
        "> last",
    ]
