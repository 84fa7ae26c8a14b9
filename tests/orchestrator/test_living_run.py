"""While a run is alive, no person is asked for what it does by itself."""

import os
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
from gitworker.tasks.views.task_facts import read_why
from gitworker.workers.task_verbs.change import restart_task
from tests.hints.following import Printed, follow, note
from tests.workers.world import World, wait_until


def tick(world: World, command: str, *, agent: str | None = None) -> None:
    """Start the agents that can start; a known agent gets no command."""
    words = () if agent else ("sh", "-c", command)
    run(world.session(), RunOrder(AgentCommand(agent, words), 1, is_single=True))


def follow_hint(world: World, hint: str | None) -> None:
    """Run a hint as its reader does, and record that it helped."""
    assert hint is not None
    command = hint.partition("   #")[0]
    assert follow(Printed([command], str(world.root)), command) is None
    note(command, "")


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


@pytest.mark.parametrize("agent", [None, "codex"])
def test_a_retry_that_only_the_next_run_makes(
    world: World, agent: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`task why` promises a retry while a run is alive, and else names the run that makes it."""
    program = world.root.parent / "bin/codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    name = f"{agent or 'command'}-1"

    def why() -> tuple[str, str | None]:
        found = read_why(world.session(), "t1")
        return found.reason, found.next_command

    with living_run(world):
        tick(world, "false", agent=agent)
        wait_until(lambda: world.task("t1").status == "FAILED")
        assert "; the run tries it again in " in why()[0]
        assert why()[1] == f"git worker show {name}"
        follow_hint(world, why()[1])
    started = f"--agent {agent}" if agent else "-- <command>"
    command = f"git worker run {started}   # or: git worker resume {name}"
    assert "; it is ready again in " in why()[0]
    assert why()[0].endswith(", for the next run")
    assert why()[1] == command
    restart_task(world.session(), "t1")
    assert why() == ("it may start: it is next", command)
    world.git("config", "worker.task.retry-delay-s", "0")
    runs = world.query("SELECT COUNT(*) FROM runs")[0][0]
    follow_hint(world, command)
    assert world.query("SELECT COUNT(*) FROM runs")[0][0] > runs


def test_the_failure_of_a_person_promises_no_run(world: World) -> None:
    """The task of a worker that no run has started is taken up by its own command."""
    world.working("auth", "login", {"a": "1\n"})
    fail(world.session(), "auth", reason="no idea")
    for _ in range(2):
        assert read_why(world.session(), "login").next_command == "git worker resume auth"
        restart_task(world.session(), "login")
