"""The gate on commit messages."""

import pytest

from tests.architecture.commit_gate import find_faults, main


@pytest.mark.parametrize(
    "message",
    [
        "queue: report a worker that cannot land\n\nOthers waited for it.",
        "docs: embed the state diagrams\n\nReaders had to build them.",
        "cli/msg: pass the limit on\n\nIt was ignored.",
    ],
)
def test_good_messages_pass(message: str) -> None:
    """A message with an imperative subject and a body has no fault."""
    assert list(find_faults(message)) == []


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        (f"queue: {'x' * 70}\n\nWhy.", "at most 72"),
        ("Fix the queue\n\nWhy.", "<room>"),
        ("queue: fix it.\n\nWhy.", "<room>"),
        ("queue: fixed the order\n\nWhy.", "imperative"),
        ("queue: fixes the order\n\nWhy.", "imperative"),
        ("queue: fixing the order\n\nWhy.", "imperative"),
        ("queue: fix the order\nWhy.", "not empty"),
        ("queue: fix the order", "no body"),
        ("queue: fix the order\n\n\n", "no body"),
    ],
)
def test_bad_messages_are_found(message: str, fault: str) -> None:
    """Each fault of a message is named."""
    assert any(fault in found for found in find_faults(message))


def test_the_history_passes(capsys: pytest.CaptureFixture[str]) -> None:
    """The commits of this history since the rule keep it."""
    assert main() == 0, capsys.readouterr().err
