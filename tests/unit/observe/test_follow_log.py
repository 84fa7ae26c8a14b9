"""Following the log: every event after a position, once, in order of time."""

from pathlib import Path

import pytest

from gitworker.bus.publish import Outgoing, publish
from gitworker.lifecycle.moves import advance
from gitworker.model.task import TaskEvent
from gitworker.model.worker import WorkerEvent
from gitworker.observe.logs.events import Event
from gitworker.observe.logs.log import LogFollower, json_log, read_log, render_log
from gitworker.session import Session
from gitworker.workers.start import start
from tests.unit.observe.conftest import NOW_MS, Clock
from tests.unit.observe.scene import spawned, worker, working


def publish_notes(session: Session, *notes: Outgoing, now: int = NOW_MS) -> None:
    """Publish messages."""
    with session.store.write() as writer:
        for note in notes:
            publish(writer, note, now=now)


def texts(events: tuple[Event, ...]) -> list[str]:
    """Return kind and subject of each event."""
    return [f"{event.kind} {event.name}" for event in events]


def test_everything(session: Session) -> None:
    """Without a worker every event after the position is reported once."""
    spawned(session, "auth", "skills")
    log = read_log(session, None, limit=1)
    assert len(log.events) == 1
    follower = LogFollower(session, None, log.position)
    assert not follower.has_agent_log
    assert follower.news() == ()
    working(session, "docs", "guide")
    events = follower.news()
    assert [event.ts_ms for event in events] == sorted(event.ts_ms for event in events)
    assert {"docs", "guide"} <= {event.source for event in events}
    assert "message state_change" not in texts(events)
    assert follower.news() == ()
    follower.close()


def test_one_worker(session: Session) -> None:
    """For one worker the events from it, to it and about its task are reported, and no others."""
    assigned = spawned(session, "auth", "skills")
    spawned(session, "docs", "guide")
    follower = LogFollower(session, assigned, read_log(session, assigned).position)
    publish_notes(
        session,
        Outgoing("x-from", sender="auth"),
        Outgoing("x-to", to="auth"),
        Outgoing("x-about", sender="docs", correlation_id="skills"),
        Outgoing("x-other", sender="docs", correlation_id="guide"),
    )
    with session.store.write() as writer:
        writer.run(
            "transitions.insert", ts_ms=NOW_MS, machine="task", entity="guide", version=3,
            from_state="ASSIGNED", event=TaskEvent.AGENT_STARTED, to_state="IN_PROGRESS",
            actor="docs", metadata="{}", lines="[]",
        )  # fmt: skip
    assert texts(follower.news()) == ["message x-from", "message x-to", "message x-about"]


def test_the_agents_log(session: Session, clock: Clock) -> None:
    """Lines that an agent logs are reported with the time at which they were read."""
    assigned = spawned(session, "auth", "skills")
    follower = LogFollower(session, assigned, read_log(session, assigned).position)
    assert follower.has_agent_log
    assert assigned.worktree is not None
    clock.ms += 7_000
    with (Path(assigned.worktree) / ".worker.log").open("a") as file:
        file.write("\x1b[1mone\x1b[0m\n10%\r100%\r\n")
    events = follower.news()
    assert [(event.kind, event.ts_ms, event.seq) for event in events] == [
        ("log", NOW_MS + 7_000, 1), ("log", NOW_MS + 7_000, 2),
    ]  # fmt: skip
    lines = render_log(read_log(session, assigned)._replace(events=events), width=None, color=False)
    assert [line.partition("  ")[2] for line in lines.splitlines()] == ["auth | one", "auth | 100%"]


def test_the_logs_of_all_workers(session: Session, clock: Clock) -> None:
    """Without a worker the logs of all working agents are reported, from the start of each."""
    logs = {}
    for name, task in (("auth", "skills"), ("docs", "guide")):
        assigned = spawned(session, name, task)
        logs[name] = Path(str(assigned.worktree)) / ".worker.log"
        logs[name].write_text("earlier\n")
    working(session, "nim", "river")
    follower = LogFollower(session, None, read_log(session, None).position)
    assert follower.has_agent_log, "nim is at work"
    add(logs["auth"], "before it begins")
    assert follower.lines() == ()
    fire(session, "auth", WorkerEvent.START)
    assert log_lines(follower.news()) == [("auth", 1, "before it begins")]
    add(logs["auth"], "one", "two")
    add(logs["docs"], "not at work")
    assert log_lines(follower.lines()) == [("auth", 2, "one"), ("auth", 3, "two")]
    add(logs["auth"], "last")
    fire(session, "auth", WorkerEvent.FAIL)
    assert log_lines(follower.news()) == [("auth", 4, "last")], "lines before its end are reported"
    add(logs["auth"], "by hand")
    assert log_lines(follower.news()) == []
    follower.close()


def add(log: Path, *lines: str) -> None:
    """Append lines to an agent's log."""
    with log.open("a") as file:
        file.writelines(f"{line}\n" for line in lines)


def log_lines(events: tuple[Event, ...]) -> list[tuple[str, int, str | None]]:
    """Return agent, number and text of each line of a log."""
    return [(event.source, event.seq, event.body) for event in events if event.kind == "log"]


def fire(session: Session, name: str, event: WorkerEvent) -> None:
    """Apply an event to a worker, without a heartbeat daemon or a drain."""
    assigned = worker(session, name)
    with session.store.write() as writer:
        advance(writer, assigned, event, actor="hq")


def test_the_next_task(session: Session) -> None:
    """A worker is followed to its next task, and to the log in its next worktree."""
    assigned = spawned(session, "auth", "skills")
    follower = LogFollower(session, assigned, read_log(session, assigned).position)
    with session.store.write() as writer:
        writer.run("workers.clear_assignment", worker="auth")
    follower.news()
    (Path(spawned_again(session)) / ".worker.log").write_text("here\n")
    for text in ("x-next", "x-before"):
        publish_notes(
            session, Outgoing(text, correlation_id="next" if text == "x-next" else "skills")
        )
    assert texts(follower.news()) == ["message x-next", "message x-before", "log log"]


def spawned_again(session: Session) -> str:
    """Give worker auth another task and worktree, and return the worktree."""
    path = f"{session.main_top}/another"
    Path(path).mkdir()
    with session.store.write() as writer:
        writer.run("tasks.insert", task="next", title="", requires_approval=1, max_retries=1,
                   now=NOW_MS)  # fmt: skip
        writer.run("workers.set_assignment", worker="auth", task="next", branch="auth/next",
                   base_oid="0" * 40, worktree=path, admin_dir=path, now=NOW_MS)  # fmt: skip
    return path


def test_history_with_the_agents_log(session: Session, clock: Clock) -> None:
    """Earlier lines of an agent's log are reported on request, with the file's time."""
    assigned = spawned(session, "auth", "skills")
    assert assigned.worktree is not None
    log = Path(assigned.worktree) / ".worker.log"
    log.write_text("one\ntwo\nthree\n")
    assert "log log" not in texts(read_log(session, assigned).events)
    found = read_log(session, assigned, limit=2, agent_lines=2)
    lines = [event.body for event in found.events if event.kind == "log"]
    assert (lines, len(found.events)) == (["two", "three"], 4)
    last = next(event for event in json_log(found)["events"] if event["kind"] == "log")
    assert set(last) == {"at", "kind", "worker", "line"}
    assert (last["worker"], last["line"]) == ("auth", "two")


SCREEN = "\x1b[2J\x1b[Hfirst\x1b[3;1H● I may.\x1b[2;1Hquestion?\x1b[2K\x1b[40;1Hstatus"


def test_history_of_a_full_screen_agent(session: Session) -> None:
    """The rows that such an agent leaves on its terminal are reported, without its blank ones."""
    assigned = spawned(session, "auth", "skills")
    assert assigned.worktree is not None
    log = Path(assigned.worktree) / ".worker.log"
    log.write_text(f"{SCREEN}\nresume it\n")
    for number, rows in (
        (9, ["first", "● I may.", "status", "resume it"]), (2, ["status", "resume it"]),
    ):  # fmt: skip
        found = read_log(session, assigned, agent_lines=number)
        assert [event.body for event in found.events if event.kind == "log"] == rows


def test_following_a_full_screen_agent(session: Session) -> None:
    """Each row of a screen is a line of its own."""
    assigned = working(session, "auth", "skills")
    assert assigned.worktree is not None
    log = Path(assigned.worktree) / ".worker.log"
    log.write_text("")
    follower = LogFollower(session, assigned, read_log(session, assigned).position)
    log.write_text(f"{SCREEN}\nplain\n\n")
    assert [event.body for event in follower.lines()] == [
        "first", "● I may.", "status", "plain", "",
    ]  # fmt: skip


def test_commits(session: Session) -> None:
    """A commit is reported with id and subject; a message that resembles one stays a message."""
    assigned = working(session, "auth", "skills")
    follower = LogFollower(session, assigned, read_log(session, assigned).position)
    oid = "a1" * 20
    publish_notes(
        session,
        Outgoing("task_progress", sender="auth", correlation_id="skills",
                 payload={"commit": oid, "subject": "Add it"}),
        Outgoing("task_progress", sender="auth", payload={"commit": "no id"}),
        Outgoing("task_progress", sender="auth", payload={"commit": 1}),
        Outgoing("task_progress", sender="auth"),
    )  # fmt: skip
    events = follower.news()
    assert [event.kind for event in events] == ["commit", "message", "message", "message"]
    log = read_log(session, assigned)._replace(events=events[:1])
    assert render_log(log, width=None, color=False).endswith(
        "  auth  commit a1a1a1a1a1  skills: Add it"
    )
    (document,) = json_log(log)["events"]
    assert (document["kind"], document["type"]) == ("commit", "task_progress")
    assert document["payload"]["commit"] == oid


@pytest.mark.parametrize("number", [1, 1_201])
def test_many(session: Session, number: int) -> None:
    """One read reports all events, however many there are."""
    follower = LogFollower(session, None, read_log(session, None).position)
    publish_notes(session, *(Outgoing("x-note", payload={"n": n}) for n in range(number)))
    assert len(follower.news()) == number


def test_a_worker_that_starts(session: Session) -> None:
    """Its own transitions and those of its task are reported."""
    assigned = spawned(session, "auth", "skills")
    follower = LogFollower(session, assigned, read_log(session, assigned).position)
    start(session, "auth", pid=None)
    moved = [event.source for event in follower.news() if event.kind == "transition"]
    assert moved == ["auth", "skills"]
    assert worker(session, "auth").state == "WORKING"
