"""One function admits every start of an agent, in the transaction that records it."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitworker.agents.launch import LaunchContext, launch, require_worker
from gitworker.agents.process.agent_processes import adopt_orphans
from gitworker.agents.process.streams import Streams
from gitworker.bus.limits.send_limits import limits_of
from gitworker.errors import Conflict, GitWorkerError, Refused
from gitworker.service.service import open_repository
from gitworker.store.records.task_queue import set_held
from gitworker.store.scheduling.agents import find_registered
from gitworker.store.scheduling.projects import charge_project, find_project
from gitworker.store.scheduling.usage import charge_run
from tests.cli.kit import ok
from tests.hints.following import note
from tests.workers.world import World

STARTED: list[int] = []


@pytest.fixture(autouse=True)
def no_orphans() -> Iterator[None]:
    """End the agents, and stop this test process from adopting orphans afterwards."""
    yield
    end_agents()
    adopt_orphans(adopting=False)


def end_agents() -> None:
    """End the agents that the test has started."""
    while STARTED:
        pid = STARTED.pop()
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Give a repository with two workers that have their tasks."""
    world = World.make(tmp_path / "r")
    world.spawn("auth", "t1")
    world.spawn("ui", "t2")
    return world


def start(world: World, worker: str) -> None:
    """Start an agent."""
    session = world.session()
    limits = limits_of(session.settings).agent_limits
    post = LaunchContext(session.store, session.paths, session.actor, agent_limits=limits)
    streams = Streams(is_silent=True)
    try:
        STARTED.append(launch(post, require_worker(post, worker), ["sleep", "60"], streams).pid)
    finally:
        streams.restore()


def refused(world: World, worker: str) -> GitWorkerError:
    """Return the refusal of a start, which has recorded nothing."""
    with pytest.raises((Refused, Conflict)) as caught:
        start(world, worker)
    assert world.worker(worker).state == "ASSIGNED"
    return caught.value


def followed(world: World, refusal: GitWorkerError, *, number: str = "") -> str:
    """Run the hint of a refusal, which helps; return what it prints."""
    assert refusal.hint is not None
    said = ok(world.root, *refusal.hint.replace("<number>", number).split()[2:])
    note(refusal.hint, refusal.message)
    return said


def test_without_a_limit_every_start_is_admitted(world: World) -> None:
    """The number of agents that `run` starts by itself does not limit starts by hand."""
    world.spawn("docs", "t3")
    for worker in ("auth", "ui", "docs"):
        start(world, worker)


def test_a_set_number_of_agents_holds(world: World) -> None:
    """A number that a person has set limits starts by hand, too, even if it is the default."""
    ok(world.root, "project", "edit", "default", "--max-agents", "1")
    gate = world.root.parent / "gate"
    script = f"while ! test -e {gate}; do sleep 0.02; done; git commit -q --allow-empty -m Work"
    ok(world.root, "exec", "auth", "-d", "--", "sh", "-c", script)
    refusal = refused(world, "ui")
    assert (refusal.code, refusal.hint) == ("agent_limit", "git worker wait auth")
    gate.touch()
    followed(world, refusal)
    start(world, "ui")
    with pytest.raises(Conflict, match="project default allows 1 agent at once"):
        open_repository(str(world.root)).require_admitted("docs", None, kind="claude")


def test_the_setting_for_a_kind_of_agent_holds(world: World) -> None:
    """`agents.limits` counts the agents of one kind; `command` is a command of one's own."""
    world.git("config", "worker.agents.limits", "command=1")
    start(world, "auth")
    assert "agents.limits of command allows 1 agent" in refused(world, "ui").message
    world.git("config", "worker.agents.limits", "command=0")
    end_agents()
    refusal = refused(world, "ui")
    assert "command=0" in followed(world, refusal)
    open_repository(str(world.root)).require_admitted("docs", None, kind="claude")


def test_a_held_task_does_not_start(world: World) -> None:
    """A task that is held back starts again once it is released."""
    with world.session().store.write() as writer:
        set_held(writer, "t1", held=True)
    refusal = refused(world, "auth")
    start(world, "ui")
    followed(world, refusal)
    start(world, "auth")


def test_a_paused_project_starts_nothing(world: World) -> None:
    """It starts agents again once it is resumed."""
    ok(world.root, "project", "pause", "default")
    refusal = refused(world, "auth")
    assert refusal.code == "project_paused"
    followed(world, refusal)
    start(world, "auth")


def test_a_task_without_tokens_starts_nothing(world: World) -> None:
    """The tokens of a run count for its task, its project and its agent; a used budget refuses."""
    ok(world.root, "agent", "add", "auth", "--type", "command", "--command", "true")
    ok(world.root, "task", "edit", "t1", "--budget", "1k")
    with world.session().store.write() as writer:
        charge_run(writer, worker="auth", task="t1", tokens=1000)
        project, agent = find_project(writer, "default"), find_registered(writer, "auth")
        assert project is not None
        assert agent is not None
        assert (project.total_tokens_used, agent.total_tokens) == (1000, 1000)
    refusal = refused(world, "auth")
    assert "task t1 has used 1,000 of its 1,000 tokens" in refusal.message
    followed(world, refusal, number="2k")
    start(world, "auth")


def test_a_project_without_tokens_starts_nothing(world: World) -> None:
    """It starts agents again once its budget is larger."""
    ok(world.root, "project", "edit", "default", "--budget", "5")
    with world.session().store.write() as writer:
        charge_project(writer, "default", 5)
    refusal = refused(world, "auth")
    assert refusal.code == "budget_exhausted"
    followed(world, refusal, number="6")
    start(world, "auth")
