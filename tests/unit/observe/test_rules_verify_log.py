"""Our own lines in the log of a verification."""

import pytest

from gitworker.observe.logs.rules_verify_log import LogHead, is_ended, parse_head
from gitworker.verify.rules_verify import header_text, verdict_text

COMMIT = "a" * 40


@pytest.mark.parametrize("label", ["auth", ""])
def test_the_head(label: str) -> None:
    """The head has the commit, the label and the start."""
    text = header_text(
        commit=COMMIT, tree="b" * 40, label=label, started="2026-01-02T03:04:05Z", commands=["x"]
    )
    assert parse_head(f"{text}\n$ x\n") == LogHead(COMMIT, label, "2026-01-02T03:04:05Z")


def test_no_head() -> None:
    """A file that begins with other text has no head."""
    assert parse_head("") is None
    assert parse_head("commit   later\n") is None


@pytest.mark.parametrize("outcome", ["passed", "failed", "cancelled", "passed the second time"])
def test_the_end(outcome: str) -> None:
    """A log has ended if its last line is a verdict, also with a reason."""
    assert is_ended(["output", verdict_text(outcome, 1500, "why"), ""])
    assert is_ended([verdict_text(outcome, 1500)])


@pytest.mark.parametrize("lines", [[], [""], ["passed"], ["failed after 1.5 s; once more"]])
def test_no_end(lines: list[str]) -> None:
    """Any other last line is output."""
    assert not is_ended(lines)
