"""The landing queue as rows."""

from typing import Any

from gitworker.landing.queue_status import QueueStatus, suspected
from gitworker.observe.logs.running_verify import RunningVerify
from gitworker.store.windows import QueueWindow
from gitworker.tui.rows.queue_rows import Verdict, queue_rows

NAMES = ("auth", "css", "docs", "menu")


def window(*verdicts: tuple[int, bool], outcome: str | None = None) -> QueueWindow:
    """Return a window of four workers with verdicts on prefixes."""
    workers = [{"worker": name, "task": name, "commit": name * 10} for name in NAMES]
    known: list[dict[str, Any]] = [
        {"prefix": prefix, "passed": passed, "commit": "c", "reason": ""}
        for prefix, passed in verdicts
    ]
    return QueueWindow(1, "a", "b", workers, known, 4, 0, outcome, "hq", 0, None, None, None)


def test_the_search_narrows() -> None:
    """Each verdict of an open window leaves fewer workers to search."""
    assert suspected(window()) == []
    assert suspected(window((4, False))) == list(NAMES)
    assert suspected(window((4, False), (2, True))) == ["docs", "menu"]
    assert suspected(window((4, False), (2, True), (3, False))) == ["docs"]
    assert suspected(window((4, False), outcome="failed")) == []


def test_a_run_with_its_output() -> None:
    """A run is shown with its age and the end of its output, and leads to its commit."""
    run = RunningVerify(
        "f" * 40, "menu and 3 before it", 1000, tuple(f"line {n}" for n in range(9))
    )
    queue = QueueStatus([], [window((4, False), (2, True))], True)
    rows = queue_rows(queue, [run], [], now_ms=61_000)
    text = "\n".join("".join(part.text for part in one.parts) for one in rows)
    assert "menu and 3 before it  ffffffffff, for 1m" in text
    assert "line 8" in text
    assert "line 2\n" not in text
    assert "one of these fails: docs, menu" in text
    assert Verdict("f" * 40) in [one.key for one in rows]
