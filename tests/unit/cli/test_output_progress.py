"""The progress line of verification."""

from pathlib import Path

import pytest

from gitworker.cli.output_progress import ProgressLine, replay_text, runs_text
from gitworker.progress import OutputLine, Replaying, RunProgress, VerificationNotice, Verifying


def test_the_line(tmp_path: Path) -> None:
    """Each run has its seconds, waiting ones are counted, and the first one's output is shown."""
    log = tmp_path / "log"
    log.write_text("$ make\n\x1b[31mcompiling\x1b[0m a\x07.c\n")
    first = RunProgress("auth, +3", "make \x1b[2J", 61_999, str(log))
    second = RunProgress("auth", "make", 900, str(tmp_path / "none"))
    waiting = RunProgress("bob", "", 0, "")
    assert runs_text([first, second, waiting]) == (
        "verifying auth, +3 61s, auth 0s, 1 waiting  `make \\x1b[2J`  compiling a\\x07.c"
    )
    assert runs_text([second]) == "verifying auth 0s  `make`"
    assert runs_text([waiting]) == "verifying 1 waiting"


def test_the_line_of_a_replay() -> None:
    """One worker is named alone, several with the number among them."""
    assert replay_text(Replaying("auth", 1, 1)) == "rebasing auth"
    assert replay_text(Replaying("auth", 2, 9)) == "rebasing auth (2 of 9)"


def test_without_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    """Without a terminal only lasting lines are written."""
    with ProgressLine() as line:
        line(Verifying([RunProgress("auth", "make", 0, "/nowhere")]))
        line(Replaying("auth", 1, 1))
        line(OutputLine("Receiving objects: 100%"))
        line(VerificationNotice("auth: passed"))
    with ProgressLine(is_brief=True) as line:
        line(VerificationNotice("bob: passed"))
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "auth: passed\n")
