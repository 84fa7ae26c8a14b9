"""The start of an agent is that of `start`, and races are lost cleanly."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitworker.agents.command import require_program
from gitworker.agents.launch import LaunchContext, launch, require_worker
from gitworker.agents.process.agent_processes import adopt_orphans
from gitworker.agents.process.streams import Streams
from gitworker.agents.rules_run import UnfinishedOperation
from gitworker.errors import Conflict, NotFound, Refused
from gitworker.lifecycle.fail import fail
from gitworker.lifecycle.take_up import publish_commits, take_up
from gitworker.liveness.life_lock import LifeLock
from gitworker.store.operations import begin_operation
from gitworker.store.payloads.payload import Unreadable
from gitworker.store.sqlite.database import Database
from gitworker.workers.cancel import reset
from gitworker.workers.start import start
from tests.agents.supervised import SupervisedWorker, is_alive
from tests.workers.world import World, wait_until, without_heartbeat_daemon

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
    """Stop this test process from adopting orphans afterwards."""
    yield
    adopt_orphans(adopting=False)


def post(world: World) -> LaunchContext:
    """Return the directory that agents are started from."""
    session = world.session()
    return LaunchContext(session.store, session.paths, session.actor)


def change(world: World, sql: str) -> None:
    """Change a row behind the program's back."""
    store = world.session().store
    assert isinstance(store, Database)
    store.execute(sql)


def plain(value: Any) -> Any:
    """Return the stored values without those that differ from run to run, JSON as data."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        return plain(json.loads(value))
    if isinstance(value, dict):
        return {key: "…" if key in TIMES else plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return "…" if isinstance(value, int) and value > 1_000_000 else value


def picture(world: World) -> list[Any]:
    """Return everything that a start changes."""
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
def test_a_start_by_exec_is_that_of_start(tmp_path: Path, life: str) -> None:
    """Rows, lines and messages of a start are those of `start`, whichever life of a task it is."""
    pictures = []
    for name in ("exec", "start"):
        world = World.make(tmp_path / name)
        world.spawn("auth", "t1")
        with without_heartbeat_daemon(world):
            if life == "retry":
                start(world.session(), "auth", pid=os.getpid())
                fail(world.session(), "auth", reason="once")
                reset(world.session(), "auth")
                world.spawn("auth", "t1")
            if life == "incarnation":
                change(world, "UPDATE tasks SET incarnation = 2, critical = 0")
            if name == "exec":
                launched(world)
            else:
                start(world.session(), "auth", pid=os.getpid())
        if life != "incarnation":
            world.require_sound()
        pictures.append(picture(world))
    assert pictures[0] == pictures[1]


def test_a_task_in_a_workstream_is_started(auth: SupervisedWorker) -> None:
    """The logged start of a task names its workstream."""
    change(auth.world, "UPDATE tasks SET workstream_id = 'ws'")
    launched(auth.world)
    assert auth.world.states("auth", "t1") == ("WORKING", "IN_PROGRESS")
    (line,) = json.loads(auth.world.query("SELECT lines FROM transitions ORDER BY seq")[-1][0])
    assert line["metadata"]["workstream_id"] == "ws"
    auth.world.require_sound()


def test_a_commit_may_start_the_worker_meanwhile(auth: SupervisedWorker) -> None:
    """An agent begins although the job of a commit has started its worker since the check."""
    desk = post(auth.world)
    found = require_worker(desk, "auth")
    auth.world.commit("auth", {"a": "1\n"})
    publish_commits(auth.world.session())
    streams = Streams()
    run = launch(desk, found, ["true"], streams)
    streams.forget_theirs()
    os.waitpid(run.pid, 0)
    assert auth.world.worker("auth").pid == run.pid
    assert auth.world.states("auth", "t1") == ("WORKING", "IN_PROGRESS")
    auth.world.require_sound()


def test_a_late_job_of_a_commit_does_not_forget_the_agent(auth: SupervisedWorker) -> None:
    """A commit that is published after the agent has begun and ended leaves its end to be seen."""
    before = auth.world.worker("auth")
    pid = launched(auth.world)
    take_up(auth.world.session(), before, by_commit=True)
    assert auth.world.worker("auth").pid == pid


def test_a_lost_race_starts_nothing(auth: SupervisedWorker) -> None:
    """A start that finds the worker handed in since its check runs nothing and changes nothing."""
    desk = post(auth.world)
    auth.world.commit("auth", {"a": "1\n"})
    found = require_worker(desk, "t1")
    auth.world.submit("auth")
    before = auth.world.rows()
    mark = auth.path / "ran"
    with pytest.raises(Conflict):
        launch(desk, found, ["touch", str(mark)], Streams())
    assert auth.world.rows() == before
    assert not mark.exists()


def test_an_act_that_began_meanwhile(auth: SupervisedWorker) -> None:
    """No agent begins while its worker is being removed; a running setup blocks no start."""
    desk = post(auth.world)
    found = require_worker(desk, "auth")
    with desk.store.write() as writer:
        begin_operation(
            writer, "cancel", worker="auth", task="t1", actor="hq", now=1, data=Unreadable("{}")
        )
    before = auth.world.rows()
    mark = auth.path / "ran"
    with pytest.raises(UnfinishedOperation, match="another cancel of auth is not finished"):
        launch(desk, found, ["touch", str(mark)], Streams())
    with pytest.raises(UnfinishedOperation):
        require_worker(desk, "auth")
    assert auth.world.rows() == before
    assert not mark.exists()
    change(auth.world, "UPDATE operations SET kind = 'setup'")
    launched(auth.world)


def test_of_two_at_once_one_runs(auth: SupervisedWorker) -> None:
    """Of two starts that checked the same worker, one runs."""
    desk = post(auth.world)
    launched(auth.world)
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


def test_a_run_that_is_over_blocks_no_start(auth: SupervisedWorker) -> None:
    """A run whose pid was given to another process does not occupy its worker."""
    launched(auth.world)
    change(auth.world, f"UPDATE runs SET pid = {os.getpid()}, pid_start = '1'")
    assert require_worker(post(auth.world), "auth").state == "WORKING"


@pytest.mark.parametrize(
    "changed", ["host = 'elsewhere'", "boot_id = 'earlier'", "pid_ns = '1'", "pid_ns = NULL"]
)
def test_an_unknown_run_holds_its_worker(auth: SupervisedWorker, changed: str) -> None:
    """A run of another host, boot or PID namespace counts as alive by a fresh heartbeat or lock."""
    launched(auth.world)
    change(auth.world, f"UPDATE runs SET {changed}")
    change(auth.world, "UPDATE heartbeats SET ts_ms = ts_ms - 60000")
    with pytest.raises(Conflict, match="may still run an agent") as caught:
        require_worker(post(auth.world), "auth")
    wait = re.fullmatch(r"sleep (\d+) && git worker resume auth", str(caught.value.hint))
    assert wait is not None
    assert 1 <= int(wait[1]) <= 40
    change(auth.world, "UPDATE heartbeats SET ts_ms = ts_ms - 101000")
    assert require_worker(post(auth.world), "auth").state == "WORKING"
    proof = LifeLock(post(auth.world).paths, "auth")
    proof.take()
    with pytest.raises(Conflict, match="worker auth already runs an agent"):
        require_worker(post(auth.world), "auth")
    proof.release()
    assert require_worker(post(auth.world), "auth").state == "WORKING"


def test_a_worker_without_its_worktree(auth: SupervisedWorker) -> None:
    """A worker without its worktree runs no agent."""
    auth.path.rename(auth.path.with_name("moved"))
    with pytest.raises(Refused, match="the worktree of auth is not at"):
        require_worker(post(auth.world), "auth")


def test_where_a_program_is_found() -> None:
    """A program is searched in the directory in which it would run, as far as that is known."""
    env = {"PATH": "/bin:relative"}
    require_program("sh", env, directory=None)
    require_program("./later", env, directory=None)
    for word, directory in (("./none", "/"), ("/none", None), ("none", "/")):
        with pytest.raises(NotFound):
            require_program(word, env, directory=directory)
