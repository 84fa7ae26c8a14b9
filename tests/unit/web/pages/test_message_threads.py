"""Messages in threads by task."""

from gitworker.observe.logs.events import Event
from gitworker.web.pages.message_threads import threads


def test_threads() -> None:
    """Messages are grouped by task, the newest thread first; transitions are left out."""
    events = [
        Event(1, 1, "message", "a", "x-note", task="t", to="hq", body='{"text": "hello"}'),
        Event(2, 2, "message", "b", "x-note", body='{"text": "you"}'),
        Event(3, 3, "commit", "a", "0" * 40, task="t", body='{"subject": "Work"}'),
        Event(4, 4, "transition", "t", "ASSIGNED"),
    ]
    first, second = threads(events)
    assert (first.task, [one.type for one in first.lines]) == ("t", ["x-note", "commit"])
    assert "hello" in first.lines[0].text
    assert (second.task, second.newest_ms) == (None, 2)
