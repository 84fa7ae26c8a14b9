"""Maintenance as a whole: which agents count as alive, and the steps of the daily job."""

import fcntl
import os
from pathlib import Path

import pytest

from gitworker import clock, hookentry
from gitworker.bus.files.retention import LOCK_NAME
from gitworker.bus.files.rules_retention import DAY_MS
from gitworker.bus.limits.send_limits import Limits
from gitworker.bus.search.search_messages import search
from gitworker.bus.send import MessageDraft, send
from gitworker.errors import Conflict, Refused
from gitworker.journal.gc.upkeep import (
    living_agents,
    preview_prune,
    prune_bus,
    prune_request,
    run_upkeep,
)
from gitworker.liveness.process_origin import this_origin
from gitworker.session import Session
from gitworker.store.heartbeats import record_heartbeat
from tests.bus.scene import Scene

LATER_MS = 40 * DAY_MS


@pytest.fixture
def scene(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """Return a repository without workers, whose hooks start no background job."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    return Scene(repository)


def say(session: Session, name: str) -> None:
    """Publish one message to all agents."""
    send(
        session.store, MessageDraft("x-note", '"needle"', id=name), sender="hq", task=None,
        blobs=session.paths.blobs, limits=Limits(),
    )  # fmt: skip


def ids(session: Session) -> list[str]:
    """Return the ids of the notes on the bus."""
    rows = session.store.execute(  # type: ignore[attr-defined]
        "SELECT id FROM messages WHERE type = 'x-note' ORDER BY seq"
    )
    return [row["id"] for row in rows]


def test_which_agents_are_alive(scene: Scene) -> None:
    """An agent with a recent heartbeat or a running process is alive; the others are dead."""
    scene.spawn("auth", "t1")
    scene.spawn("docs", "t2")
    session = scene.session()
    with session.store.write(durable=False) as writer:
        record_heartbeat(writer, "nim", status="idle", task=None, progress=None)
        writer.run("liveness.beat", agent="gone", now=1, status="idle", task=None, progress=None)
    scene.execute(
        "UPDATE workers SET pid = :pid, host = :host, boot_id = :boot_id, pid_ns = :pid_ns"
        " WHERE worker_id = 'docs'",
        pid=os.getpid(), **dict(zip(("host", "boot_id", "pid_ns"), this_origin(), strict=True)),
    )  # fmt: skip
    assert living_agents(session) == {"nim", "docs"}


def test_the_daily_job(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job archives old messages that are read and removes them from the search index."""
    session = scene.session()
    say(session, "old")
    assert len(search(session.store, session.paths, ["needle"])) == 1
    run_upkeep(session)
    assert ids(session) == ["old"]
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(clock.now_ms() + LATER_MS))
    say(session, "new")
    assert hookentry.main(["upkeep", f"{scene.root}/.git"]) == 0
    assert ids(session) == ["new"]
    assert [one.message["id"] for one in search(session.store, session.paths, ["needle"])] == [
        "new"
    ]
    assert len(list(Path(session.paths.archive).iterdir())) == 1


def test_the_settings(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Days of 0 keep everything, and archives can be switched off."""
    session = scene.session()
    say(session, "old")
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(clock.now_ms() + LATER_MS))
    run_upkeep(session._replace(settings=session.settings._replace(retention_days=0)))
    run_upkeep(session._replace(settings=session.settings._replace(retention_days=50)))
    assert ids(session) == ["old"]
    run_upkeep(session._replace(settings=session.settings._replace(retention_archive=False)))
    assert ids(session) == []
    assert list(Path(session.paths.archive).iterdir()) == []


def test_gc_is_part_of_the_daily_job(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Old logs go with the rest, unless it is switched off; a prune that fails is no obstacle."""
    session = scene.session()
    log = Path(session.paths.logs) / "old.log"
    log.write_text("x")
    later = session._replace(settings=session.settings._replace(gc_daily=False))
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(clock.now_ms() + LATER_MS))
    run_upkeep(later)
    assert log.exists()
    lock = os.open(f"{session.paths.locks}/{LOCK_NAME}", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(Conflict, match="another prune"):
            run_upkeep(session)
    finally:
        os.close(lock)
    assert not log.exists()


def test_a_clock_that_jumps(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the wall clock was set forward, nothing is deleted before the next heartbeat."""
    session = scene.session()
    say(session, "a")
    with session.store.write(durable=False) as writer:
        record_heartbeat(writer, "nim", status="idle", task=None, progress=None)
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(clock.now_ms() + LATER_MS))
    run_upkeep(session)
    with pytest.raises(Refused, match="clock has moved") as caught:
        prune_request(session, days=30, archiving=True)
    assert caught.value.code == "clock_jumped"
    assert ids(session) == ["a"]
    with session.store.write(durable=False) as writer:
        record_heartbeat(writer, "nim", status="idle", task=None, progress=None)
    run_upkeep(session)
    assert ids(session) == []


@pytest.mark.parametrize(
    ("days", "ago_days", "held_by"),
    [(0, 0.9, "nim"), (0, 1.1, None), (3, 2.9, "nim"), (3, 3.1, None)],
)
def test_recently_acknowledged_cursors_keep_unread_messages(
    scene: Scene, days: int, ago_days: float, held_by: str | None
) -> None:
    """An agent whose cursor moved within the requested days keeps its unread messages."""
    session = scene.session()
    say(session, "a")
    now = clock.now_ms()
    with session.store.write(durable=False) as writer:
        writer.run("messages.ack", agent="nim", seq=0, now=now - int(ago_days * DAY_MS))
    request = prune_request(session, days=days, archiving=True)._replace(cutoff_ms=now + DAY_MS)
    assert preview_prune(session, request).held_by == held_by


def test_a_preview_changes_nothing(scene: Scene) -> None:
    """A preview lists the deletions without a living agent's unread messages, and makes none."""
    session = scene.session()
    say(session, "a")
    say(session, "b")
    with session.store.write(durable=False) as writer:
        record_heartbeat(writer, "nim", status="idle", task=None, progress=None)
        writer.run("messages.ack", agent="nim", seq=1, now=1)
    request = prune_request(session, days=0, archiving=True)._replace(cutoff_ms=clock.now_ms() + 1)
    plan = preview_prune(session, request)
    assert (plan.messages, plan.held_by) == (1, "nim")
    assert ids(session) == ["a", "b"]
    assert prune_bus(session, request).plan.messages == 1
    assert ids(session) == ["b"]
