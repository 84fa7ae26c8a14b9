"""Starting an agent: the plain start writes what the engine writes, and races are lost cleanly."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitworker.agents.launch import Post, launch, require_program, require_worker
from gitworker.agents.process.family import adopt_orphans
from gitworker.agents.process.streams import Streams
from gitworker.agents.rules import UnfinishedAct
from gitworker.errors import Conflict, NotFound, Refused
from gitworker.lifecycle.fail import fail
from gitworker.liveness.life_lock import Proof
from gitworker.store.operations import begin_operation
from gitworker.store.sqlite.database import Database
from gitworker.workers.cancel import reset
from gitworker.workers.start import start
from tests.agents.seat import Seat, is_alive
from tests.workers.world import World, no_beater, wait_until

TRANSITIONS = (
    "SELECT machine, entity_id, version, from_state, event, to_state, actor, metadata, lines"
    " FROM transitions ORDER BY seq"
)
MESSAGES = (
    "SELECT from_agent, to_agent, type, correlation_id, payload FROM messages"
    " WHERE type = 'state_change' ORDER BY seq"
)
TASKS = "SELECT id, status, version, view, incarnation, assigned_agent_id, started_at_ms FROM tasks"
WORKERS = "SELECT worker_id, state, version, task_id, branch FROM workers"
TIMES = {"timestamp", "created_at", "started_at", "pid", "base", "commit"}


@pytest.fixture(autouse=True)
def no_orphans() -> Iterator[None]:
    """Let the process that runs these tests be nobody's foster parent afterwards."""
    yield
    adopt_orphans(adopting=False)


def post(world: World) -> Post:
    """Return where agents are started from."""
    session = world.session()
    return Post(session.store, session.paths, session.actor)


def change(world: World, sql: str) -> None:
    """Change a row behind the program's back."""
    store = world.session().store
    assert isinstance(store, Database)
    store.execute(sql)


def plain(value: Any) -> Any:
    """Return what was stored without what differs from run to run, JSON as data."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        return plain(json.loads(value))
    if isinstance(value, dict):
        return {key: "…" if key in TIMES else plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return "…" if isinstance(value, int) and value > 1_000_000 else value


def picture(world: World) -> list[Any]:
    """Return what a start changes."""
    return [plain(world.query(sql)) for sql in (TRANSITIONS, MESSAGES, TASKS, WORKERS)]


def launched(world: World) -> int:
    """Start an agent that ends at once, without watching it; return its process."""
    desk = post(world)
    streams = Streams()
    run = launch(desk, require_worker(desk, "auth"), ["true"], streams)
    streams.forget_theirs()
    os.waitpid(run.pid, 0)
    return run.pid


@pytest.mark.parametrize("life", ["first", "retry", "incarnation"])
def test_the_plain_start_is_the_engines(tmp_path: Path, life: str) -> None:
    """Rows, lines and messages of a start are those of `start`, whichever life of a task it is."""
    pictures = []
    for name in ("plain", "engine"):
        world = World.make(tmp_path / name)
        world.spawn("auth", "t1")
        with no_beater(world):
            if life == "retry":
                start(world.session(), "auth", pid=os.getpid())
                fail(world.session(), "auth", reason="once")
                reset(world.session(), "auth")
                world.spawn("auth", "t1")
            if life == "incarnation":
                change(world, "UPDATE tasks SET incarnation = 2, critical = 0")
            if name == "plain":
                launched(world)
            else:
                start(world.session(), "auth", pid=os.getpid())
        if life != "incarnation":
            world.require_sound()
        pictures.append(picture(world))
    assert pictures[0] == pictures[1]


def test_a_rare_seat_is_started_by_the_engine(seat: Seat) -> None:
    """A task in a workstream takes the long way, which knows what to tell."""
    change(seat.world, "UPDATE tasks SET workstream_id = 'ws'")
    launched(seat.world)
    assert seat.world.stands("auth", "t1") == ("WORKING", "IN_PROGRESS")
    (line,) = json.loads(seat.world.query("SELECT lines FROM transitions ORDER BY seq")[-1][0])
    assert line["metadata"]["workstream_id"] == "ws"
    seat.world.require_sound()


def test_a_lost_race_starts_nothing(seat: Seat) -> None:
    """Whoever finds the seat changed since it looked has run nothing and changed nothing."""
    desk = post(seat.world)
    found = require_worker(desk, "t1")
    with no_beater(seat.world):
        start(seat.world.session(), "auth", pid=os.getpid())
    before = seat.world.rows()
    mark = seat.path / "ran"
    with pytest.raises(Conflict):
        launch(desk, found, ["touch", str(mark)], Streams())
    assert seat.world.rows() == before
    assert not mark.exists()


def test_an_act_that_began_meanwhile(seat: Seat) -> None:
    """While a seat is taken away no agent begins there; its setup hinders none."""
    desk = post(seat.world)
    found = require_worker(desk, "auth")
    with desk.store.write() as writer:
        begin_operation(writer, "cancel", worker="auth", task="t1", actor="hq", now=1, data={})
    before = seat.world.rows()
    mark = seat.path / "ran"
    with pytest.raises(UnfinishedAct, match="another cancel of auth is not finished"):
        launch(desk, found, ["touch", str(mark)], Streams())
    with pytest.raises(UnfinishedAct):
        require_worker(desk, "auth")
    assert seat.world.rows() == before
    assert not mark.exists()
    change(seat.world, "UPDATE operations SET kind = 'setup'")
    launched(seat.world)


def test_of_two_at_once_one_runs(seat: Seat) -> None:
    """Two that looked at the same seat start one agent."""
    desk = post(seat.world)
    launched(seat.world)
    found = require_worker(desk, "auth")
    streams = Streams()
    run = launch(desk, found, ["sleep", "60"], streams)
    try:
        with pytest.raises(Conflict):
            launch(desk, found, ["true"], Streams())
    finally:
        os.kill(run.pid, 9)
        os.waitpid(run.pid, 0)
    wait_until(lambda: not is_alive(run.pid))


def test_a_run_that_is_over_blocks_nobody(seat: Seat) -> None:
    """A run whose pid was given to another process holds no seat."""
    launched(seat.world)
    change(seat.world, f"UPDATE runs SET pid = {os.getpid()}, pid_start = '1'")
    assert require_worker(post(seat.world), "auth")["state"] == "WORKING"


@pytest.mark.parametrize(
    "changed", ["host = 'elsewhere'", "boot_id = 'earlier'", "pid_ns = '1'", "pid_ns = NULL"]
)
def test_an_unknown_run_holds_its_seat(seat: Seat, changed: str) -> None:
    """A run of another host, boot or PID namespace counts as alive by a fresh heartbeat or lock."""
    launched(seat.world)
    change(seat.world, f"UPDATE runs SET {changed}")
    with pytest.raises(Conflict, match="worker auth already runs an agent"):
        require_worker(post(seat.world), "auth")
    change(seat.world, "UPDATE heartbeats SET ts_ms = ts_ms - 101000")
    assert require_worker(post(seat.world), "auth")["state"] == "WORKING"
    proof = Proof(post(seat.world).paths, "auth")
    proof.take()
    with pytest.raises(Conflict, match="worker auth already runs an agent"):
        require_worker(post(seat.world), "auth")
    proof.release()
    assert require_worker(post(seat.world), "auth")["state"] == "WORKING"


def test_a_seat_whose_worktree_is_gone(seat: Seat) -> None:
    """Without its worktree a seat runs no agent."""
    seat.path.rename(seat.path.with_name("moved"))
    with pytest.raises(Refused, match="no worktree"):
        require_worker(post(seat.world), "auth")


def test_nobody_is_meant() -> None:
    """A program is looked for where it would run, as far as that is known."""
    env = {"PATH": "/bin:relative"}
    require_program("sh", env, directory=None)
    require_program("./later", env, directory=None)
    for word, directory in (("./none", "/"), ("/none", None), ("none", "/")):
        with pytest.raises(NotFound):
            require_program(word, env, directory=directory)
