"""start: work begins, and by which process."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from gitworker.errors import NotFound, Refused
from gitworker.liveness.processes import FIRST_PID_NAMESPACE
from gitworker.processes.table import find_pid_namespace, find_process
from gitworker.progress import Notice
from gitworker.store.workers import Worker
from gitworker.workers.start import start
from tests.workers.world import World, unchanged


def test_start_binds_the_process(world: World) -> None:
    """A started worker is WORKING, and its process is recorded by id and start time."""
    world.spawn("auth", "login")
    started = start(world.session(), "auth", pid=os.getpid())
    process = find_process(os.getpid())
    assert process is not None
    assert (started.pid, started.pid_start) == (os.getpid(), process.start)
    assert world.states("auth", "login") == ("WORKING", "IN_PROGRESS")
    assert world.messages("agent_started") == [{"pid": os.getpid()}]
    assert world.view("auth")["pid"] == os.getpid()
    assert world.view("auth")["last_heartbeat"] is not None


def test_start_by_task_from_the_worktree(world: World) -> None:
    """Without a name it is the worker in whose worktree the command runs."""
    place = world.spawn("auth", "login").path
    assert start(world.session(place), None, pid=os.getpid()).worker_id == "auth"


def test_start_finds_the_agent(world: World) -> None:
    """Without a pid the nearest working ancestor is the agent, here the runner of this test."""
    world.spawn("auth", "login")
    started = start(world.session(), "auth")
    assert started.pid != os.getpid()
    assert started.pid is None or find_process(started.pid) is not None


def test_start_of_a_process_that_ended(world: World) -> None:
    """A pid that runs nowhere is not found."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    world.spawn("auth", "login")
    with unchanged(world, "not_found", NotFound):
        start(world.session(), "auth", pid=ended.pid)


def test_start_twice(world: World) -> None:
    """A worker that is at work is not started again, and nothing changes."""
    world.working("auth", "login", {"a": "1\n"})
    before = world.picture()
    said: list[object] = []
    again = start(world.session(report=said.append), "auth", pid=os.getpid())
    assert (again.state, again.pid) == ("WORKING", os.getpid())
    assert said == [Notice("worker auth is at work already: nothing changed")]
    assert world.picture() == before


def test_start_by_a_new_process(world: World) -> None:
    """A worker whose process has ended is bound to the next one that starts it."""
    ended = subprocess.Popen(["sleep", "600"])
    world.spawn("auth", "login")
    start(world.session(), "auth", pid=ended.pid)
    ended.kill()
    ended.wait()
    started = start(world.session(), "auth", pid=os.getpid())
    assert (started.state, started.pid) == ("WORKING", os.getpid())
    assert world.messages("agent_started") == [{"pid": ended.pid}, {"pid": os.getpid()}]


@pytest.mark.parametrize("name", ["login", "auth/login", "refs/heads/auth/login"])
def test_names_that_mean_a_worker(world: World, name: str) -> None:
    """The task or the branch names the worker too."""
    world.spawn("auth", "login")
    assert start(world.session(), name, pid=os.getpid()).worker_id == "auth"


def test_worker_id_wins_over_task_id(world: World) -> None:
    """If a worker and a task have the same name, the worker is meant."""
    world.spawn("auth", "docs")
    world.spawn("docs", "auth")
    assert start(world.session(), "auth", pid=os.getpid()).worker_id == "auth"


def test_name_that_means_nothing(world: World) -> None:
    """The error for an unknown name lists the workers."""
    world.spawn("auth", "login")
    with unchanged(world, "not_found", NotFound) as caught:
        start(world.session(), "unknown")
    assert "there is auth" in str(caught.value.hint)


def test_no_name_outside_a_worktree(world: World) -> None:
    """Outside every worktree a name is needed."""
    with unchanged(world, "not_found", NotFound):
        start(world.session(), None)


@pytest.mark.skipif(
    find_pid_namespace() != FIRST_PID_NAMESPACE, reason="process 1 is that of a container"
)
def test_a_process_of_the_system(world: World) -> None:
    """Process 1 lives as long as the machine and cannot be a worker's agent."""
    world.spawn("auth", "login")
    with unchanged(world, "refused", Refused) as caught:
        start(world.session(), "auth", pid=1)
    assert "process 1 belongs to the system" in caught.value.message


def test_starts_beside_each_other(world: World) -> None:
    """A worker that several commands start at the same time is bound without an error."""
    world.spawn("auth", "login")
    barrier = Barrier(8)

    def start_at_once(_: int) -> Worker:
        session = world.session()
        barrier.wait()
        return start(session, "auth", pid=os.getpid())

    with ThreadPoolExecutor(barrier.parties) as pool:
        started = list(pool.map(start_at_once, range(barrier.parties)))
    assert {(worker.state, worker.pid) for worker in started} == {("WORKING", os.getpid())}
