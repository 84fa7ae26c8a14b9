"""Our own lines in the log of a verification."""

import pytest

from gitworker.observe.logs.rules_verify_log import LogHead, parse_head
from gitworker.verify.rules_verify import header_text

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
