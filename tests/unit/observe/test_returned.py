"""The reason for which work came back, from the worker's row."""

from dataclasses import dataclass

import pytest

from gitworker.observe.workers.returned import json_returned, returned_text, returned_work


@dataclass(frozen=True, slots=True)
class Row:
    """The columns of a worker that are read."""

    returned_by: str | None
    returned_detail: str | None = None
    returned_tip: str | None = "1" * 40
    waits_for_author: bool = False


@pytest.mark.parametrize(
    ("by", "detail", "text"),
    [
        ("merge_conflict", '{"files": ["a", "b", "c", "d", "e"]}', "conflict in a, b, c, d, +1"),
        ("changes_requested", '{"note": "A test\\nis missing"}',
         "changes requested: A test is missing"),
        ("verify_failed", '{"reason": "make failed", "log": "/logs/1"}',
         "verification failed: make failed (log: /logs/1)"),
        ("withdrawn", None, "returned by undo"),
        ("withdrawn", "no JSON", "returned by undo"),
        ("x-other", "[1]", "x-other"),
    ],
)  # fmt: skip
def test_text(by: str, detail: str | None, text: str) -> None:
    """The reason is stated with its files, log or note; a damaged detail is left out."""
    returned = returned_work(Row(by, detail))  # type: ignore[arg-type]
    assert returned is not None
    assert returned_text(returned) == text


def test_work_that_did_not_come_back() -> None:
    """Work without a verdict has no reason."""
    assert returned_work(Row(None)) is None  # type: ignore[arg-type]
    assert json_returned(None) is None
