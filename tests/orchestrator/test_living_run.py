"""While a run is alive, no person is asked for what it does by itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gitworker.lifecycle.fail import fail
from gitworker.liveness.life_lock import RUNS, LifeLock
from gitworker.model.ids import TaskId
from gitworker.observe.inbox.needs import read_needs
from gitworker.orchestrator.carry_out import AgentCommand
from gitworker.orchestrator.run import RunOrder, run
from gitworker.questions.reply import reply
from gitworker.service.service import open_repository
from gitworker.tasks.queue.add_task import NewTask, add_task
from gitworker.tasks.queue.rules_fields import TaskFields
from tests.workers.world import World, wait_until


def tick(world: World, command: str) -> None:
    """Start the agents that can start."""
    order = RunOrder(AgentCommand(None, ("sh", "-c", command)), 1, is_single=True)
    run(world.session(), order)


@contextmanager
def living_run(world: World) -> Iterator[None]:
    """Hold the lock of a run."""
    life = LifeLock(world.session().paths, RUNS)
    life.take()
    yield
    life.release()


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Give a repository with one task, and slow retries."""
    world = World.make(tmp_path / "r")
    world.git("config", "worker.task.retry-delay-s", "600")
    add_task(world.session(), NewTask(TaskId("t1"), TaskFields(text="Do it")))
    return world


def test_a_failure_that_a_run_retries_needs_no_person(world: World) -> None:
    """It is in the inbox once no run is alive; the failure of a person's worker always is."""

    def needs() -> list[tuple[str, str]]:
        return [(one.kind, one.source) for one in read_needs(world.session(), limit=9).items]

    with living_run(world):
        tick(world, "false")
        wait_until(lambda: world.task("t1").status == "FAILED")
        world.working("auth", "login", {"a": "1\n"})
        fail(world.session(), "auth", reason="no idea")
        assert needs() == [("failed", "auth")]
    assert needs() == [("failed", "command-1"), ("failed", "auth")]


def test_an_answer_that_a_run_takes_up(world: World) -> None:
    """After an answer a living run starts the agent again, so no command does."""
    tick(world, "git worker ask 'Which port?' --timeout 0; true")
    wait_until(lambda: world.query("SELECT COUNT(*) FROM runs WHERE outcome = 'waiting'") == [(1,)])
    with living_run(world):
        assert reply(world.session(), "t1", "8080").next == "git worker show command-1"


def test_a_review_that_a_run_takes_up(world: World) -> None:
    """After a request for changes a living run starts the agent again, unless no round is left."""
    tick(world, "git commit -q --allow-empty -m Work")
    wait_until(lambda: world.query("SELECT outcome FROM runs") == [("handed_in",)])
    service = open_repository(str(world.root))

    def needs() -> list[tuple[str, str | None]]:
        return [(one.kind, one.command) for one in read_needs(world.session(), limit=9).items]

    with living_run(world):
        assert service.reject("command-1", note="More").next_command == "git worker wait command-1"
        assert needs() == []
        world.git("config", "worker.agents.rounds", "0")
        assert needs() == [("returned", "git worker resume command-1")]
        world.git("config", "--unset", "worker.agents.rounds")
    assert needs() == [("returned", "git worker resume command-1")]
