"""The daily job on a machine of a fleet: which agents are its own, and what it tells the others."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitworker.journal.gc.upkeep import living_agents, run_upkeep
from gitworker.session import Session
from gitworker.store.heartbeats import record_heartbeat
from gitworker.store.messages.mailbox import NewMessage, publish_message
from tests.cli.kit import ok
from tests.store.machines import Machine, near_links
from tests.workers.world import World

NEEDS = "SELECT id, needs_from FROM machines ORDER BY id"


@pytest.fixture
def joined(world: World, location: str) -> Iterator[World]:
    """A machine of a fleet."""
    world.session()
    ok(world.root, "fleet", "join", location, "--name", "one")
    Machine(world.state_dir).kill_link()
    with near_links():
        yield world


def say(session: Session, count: int) -> int:
    """Publish messages to all agents; return the position of the first one."""
    for number in range(count):
        publish_message(session.store, NewMessage(f"m{number}", "x-note", ts_ms=1, sender="ci"))
    (row,) = session.store.rows("messages.follow", after=0, limit=1)
    return int(row["seq"])


@pytest.mark.parametrize("days", [0, 30])
def test_the_daily_job_records_what_is_needed(joined: World, days: int) -> None:
    """Also on a machine that keeps all messages the others learn what its agents have read."""
    session = joined.session()
    first = say(session, 3)
    session.store.write_one("messages.ack", agent="nim", seq=first, now=1 << 60)
    run_upkeep(session._replace(settings=session.settings._replace(retention_days=days)))
    assert joined.query(NEEDS) == [("one", first + 1)]


def test_a_machine_that_keeps_all_waits_for_every_agent(joined: World) -> None:
    """With `retention.days` 0 an agent that has not read for years holds its messages back."""
    session = joined.session()
    first = say(session, 3)
    session.store.write_one("messages.ack", agent="nim", seq=first, now=1)
    for days, needed in ((0, first + 1), (30, first + 3)):
        run_upkeep(session._replace(settings=session.settings._replace(retention_days=days)))
        assert joined.query(NEEDS) == [("one", needed)]


def test_workers_of_other_machines_are_not_its_own(
    joined: World, tmp_path: Path, location: str
) -> None:
    """A worker whose worktree is on another machine reads its messages there."""
    session = joined.session()
    two = Machine(tmp_path / "two")
    two.join(location, "two")
    with two.open() as store, store.write() as writer:
        for worker in ("far", "idle"):
            writer.run("workers.insert", worker=worker, now=1)
        writer.run("tasks.insert", task="t", title="", requires_approval=0, max_retries=1, now=1)
        writer.run(
            "workers.set_assignment", worker="far", task="t", branch="b", base_oid=None,
            worktree="/two/t", admin_dir=None, now=1,
        )  # fmt: skip
    Machine(joined.state_dir).sync()
    with session.store.write(durable=False) as writer:
        for agent in ("far", "idle", "nim"):
            record_heartbeat(writer, agent, status="idle", task=None, progress=None)
    assert living_agents(session) == {"idle", "nim"}
