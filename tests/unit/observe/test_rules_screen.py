"""The text that a program's output leaves on a terminal."""

from gitworker.observe.logs.rules_screen import MOVE_AT_MOST, rendered

UP, RIGHT = "\x1b[A", "\x1b[C"


CASES = (
    ("one\ntwo", ["one", "two"]),
    ("a\tb ", ["a       b"]),
    ("\x1b[31mred\x1b[0m", ["red"]),
    (f"a{RIGHT}b\x1b[3Cc", ["a b   c"]),
    ("abc\rd", ["dbc"]),
    ("abc\r\x1b[Kd", ["d"]),
    ("abc\x1b[2Dx", ["axc"]),
    ("ab\bc\td", ["ac      d"]),
    ("one\ntwo\x1b[1A\rnew\x1b[1B!", ["new", "two!"]),
    ("one\ntwo\x1b[1;2Hx\x1b[2;1fy", ["oxe", "ywo"]),
    ("a\x1b[3dc\x1b[1Gd", ["a", "", "dc"]),
    ("a\x1b[Eb\x1b[Fc", ["c", "b"]),
    ("one\ntwo\x1b[2Jz", ["", "   z"]),
    ("one\ntwo\x1b[H\x1b[Jz", ["z"]),
    ("abc\x1b[1Kd", ["   d"]),
    ("abc\x1b[1J", ["abc"]),
    ("abc\x1b[2Kd", ["   d"]),
    ("abcd\x1b[3D\x1b[2Xx", ["ax d"]),
    ("abcd\x1b[3D\x1b[2P", ["ad"]),
    ("abcd\x1b[3D\x1b[2@", ["a  bcd"]),
    ("\x1b]0;title\x07x\x1b(B\x1b[?25l\x1b[>4;2my", ["xy"]),
    (f"{UP}\b\x1b[9Dx", ["x"]),
    ("\x9b5Gx\x07", ["    x\x07"]),
)


def test_the_rows() -> None:
    """Moves, erasures and overwritten text appear as on a terminal; colours and titles do not."""
    assert [rendered(text) for text, _ in CASES] == [expected for _, expected in CASES]


def test_a_large_move_is_bounded() -> None:
    """A number that no terminal has costs no memory."""
    assert len(rendered("\x1b[999999999Bx")) == MOVE_AT_MOST + 1
    assert len(rendered("\x1b[999999999Cx")[0]) == MOVE_AT_MOST + 1


def test_a_line_that_is_drawn_again() -> None:
    """A spinner and a redrawn list leave their last state only."""
    frames = "".join(f"\r\x1b[2K{sign} working" for sign in "|/-")
    redrawn = "- a\n- b\n\x1b[2A\x1b[2K+ a\n\x1b[2K+ b\n"
    assert rendered(f"{redrawn}{frames}") == ["+ a", "+ b", "- working"]
