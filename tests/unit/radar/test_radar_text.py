"""The text of the radar's answer: names in a column, a few files, the rest counted."""

from gitworker.model.ids import Oid, Ref
from gitworker.radar.pair_verdicts import Verdicts
from gitworker.radar.radar import BranchPair, RadarBranch, RadarResult
from gitworker.radar.radar_text import describe, render_conflicts

MAIN = RadarBranch(Ref("refs/heads/main"), Oid("0" * 40))
AUTH = RadarBranch(Ref("refs/heads/auth/t"), Oid("1" * 40), "auth", "t")
DOCS = RadarBranch(Ref("refs/heads/docs/u"), Oid("2" * 40), "docs", "u")
LONG = RadarBranch(Ref("refs/heads/a-long-name/v"), Oid("3" * 40), "a-long-name", "v")


def found(*meetings: BranchPair, blips: tuple[RadarBranch, ...] = (AUTH, DOCS)) -> RadarResult:
    """Return a survey of these meetings."""
    return RadarResult(MAIN, blips, meetings, Verdicts({}, merged=len(meetings)))


def test_columns_and_files() -> None:
    """Names are padded, four files shown, the others counted, within the screen's width."""
    files = tuple(f"src/file{at}.py" for at in range(6))
    survey = found(
        BranchPair(AUTH, MAIN, ("one\x1bfile",)),
        BranchPair(AUTH, DOCS, files),
        BranchPair(AUTH, LONG, files[:1]),
        BranchPair(DOCS, LONG, ()),
        blips=(AUTH, DOCS, LONG),
    )
    assert render_conflicts(survey, width=100, color=False).splitlines() == [
        "with main:",
        "  auth  one\\x1bfile",
        "with each other:",
        "  auth × docs         src/file0.py, src/file1.py, src/file2.py, src/file3.py, +2",
        "  auth × a-long-name  src/file0.py",
        "3 conflicts in 4 pairs of 3 branches (4 merged, 0 apart, 0 known)",
    ]
    narrow = render_conflicts(survey, width=30, color=True).splitlines()
    assert narrow[0] == "\x1b[1mwith main:\x1b[0m"
    assert narrow[3] == "  auth × docs         src/fil…"


def test_no_conflicts() -> None:
    """Without conflicts the radar prints a line on a terminal, and nothing for a script."""
    quiet = found(BranchPair(AUTH, MAIN, ()), blips=(AUTH,))
    assert render_conflicts(quiet, width=80, color=False) == (
        "no conflicts in 1 pair of 1 branch (1 merged, 0 apart, 0 known)"
    )
    assert render_conflicts(quiet, width=None, color=False) == ""


def test_pairs_in_words() -> None:
    """A pair is shown by the workers' names, the target by its branch."""
    assert describe(BranchPair(AUTH, MAIN, None)) == "auth and main"
