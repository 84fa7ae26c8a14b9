"""The whole log at several widths, its time zones, and the choice of events."""

import time
from collections.abc import Iterator

import pytest

from gitworker.bus.publish import Outgoing, publish
from gitworker.observe.logs.events import Event
from gitworker.observe.logs.log import Log, json_log, read_log, render_log
from gitworker.session import Session
from tests.unit.observe.conftest import NOW_MS, Clock
from tests.unit.observe.scene import in_review

T = 1_800_000_000_000  # 2027-01-15T08:00:00Z
LOG = Log(
    None,
    (
        Event(T, 1, "transition", "auth", "start", actor="auth", machine="worker",
              from_state="ASSIGNED", to_state="WORKING"),
        Event(T + 61_000, 2, "commit", "auth", "1234567890" * 4, task="日本語",
              body='{"subject": "ログインを直す: the form keeps its values 🚀"}'),
        Event(T + 3_600_000, 3, "message", "auth", "status", to="hq", task="skills",
              body='{"note": "I need the token of the staging server, it is not in the vault"}'),
    ),
)  # fmt: skip
AT_80 = """\
2027-01-15 09:00:00  auth  not started yet → at work
2027-01-15 09:01:01  auth  commit 1234567890  日本語: ログインを直す: the form …
2027-01-15 10:00:00  auth → hq  status  skills: I need the token of the staging…
"""
AT_120 = """\
2027-01-15 09:00:00  auth  not started yet → at work
2027-01-15 09:01:01  auth  commit 1234567890  日本語: ログインを直す: the form keeps its values 🚀
2027-01-15 10:00:00  auth → hq  status  skills: I need the token of the staging server, it is not in the vault
"""  # noqa: E501 - a screen of 120 columns


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The time zone of Berlin, without a database of zones."""
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(("width", "text"), [(80, AT_80), (120, AT_120)])
def test_a_terminal_shows_local_times(width: int, text: str) -> None:
    """A terminal shows the local time, and cuts lines by its columns."""
    assert render_log(LOG, width=width, color=False) + "\n" == text


@pytest.mark.usefixtures("berlin")
def test_other_output_has_utc() -> None:
    """A pipe and JSON have times in UTC."""
    lines = render_log(LOG, width=None, color=False).splitlines()
    assert [line.split()[0] for line in lines] == [
        "2027-01-15T08:00:00Z", "2027-01-15T08:01:01Z", "2027-01-15T09:00:00Z",
    ]  # fmt: skip
    assert json_log(LOG)["events"][0]["at"] == "2027-01-15T08:00:00.000Z"


def kinds(log: Log) -> list[str]:
    """Return kind and name of each event."""
    return [event.name if event.kind == "message" else event.kind for event in log.events]


def test_types(session: Session) -> None:
    """Only events of the named kinds and message types are shown, however old they are."""
    auth = in_review(session, "auth", "skills")
    for _ in range(30):
        with session.store.write() as writer:
            publish(writer, Outgoing("status", sender="auth", to="hq"), now=NOW_MS)
    assert kinds(read_log(session, auth, types=frozenset({"commit"}), limit=1)) == ["commit"]
    assert kinds(read_log(session, None, types=frozenset({"task_progress"}))) == ["commit"]
    chosen = frozenset({"review_request", "task_done"})
    assert kinds(read_log(session, None, types=chosen, limit=5)) == ["task_done", "review_request"]
    assert set(kinds(read_log(session, auth, types=frozenset({"transition"})))) == {"transition"}
    log = read_log(session, auth, types=frozenset({"x-none"}))
    assert render_log(log, width=None, color=False) == "no such event"


def test_since(session: Session, clock: Clock) -> None:
    """Only events since a time are shown; without a limit all of them."""
    auth = in_review(session, "auth", "skills")
    clock.ms += 1000
    for _ in range(700):
        with session.store.write() as writer:
            publish(writer, Outgoing("status", sender="auth", to="hq"), now=clock.ms)
    found = read_log(session, auth, since_ms=clock.ms, limit=None)
    assert kinds(found) == ["status"] * 700
    assert len(read_log(session, auth, since_ms=clock.ms, limit=3).events) == 3
    assert len(read_log(session, auth, limit=None).events) > 700
    assert kinds(read_log(session, auth, since_ms=clock.ms + 1, limit=None)) == []
