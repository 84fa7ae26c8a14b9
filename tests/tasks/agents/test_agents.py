"""Registered agents: their state follows what really happens to their workers."""

import pytest

from gitworker.agents.finish import Ending
from gitworker.errors import GitWorkerError, NotFound, Refused
from gitworker.lifecycle.fail import fail, pause, recover, stop
from gitworker.lifecycle.registered.change_agent import change_agent
from gitworker.lifecycle.stale_and_retry import apply_due
from gitworker.model.task_spec import TaskSpec
from gitworker.model.worker import WorkerEvent
from gitworker.observe.workers.status_text import render_status
from gitworker.service.results import to_json
from gitworker.service.service import open_repository
from gitworker.store.records.task_specs import insert_task_spec
from gitworker.tasks.admission.admit import require_admitted
from gitworker.tasks.agents.read_agents import (
    find_unfit,
    json_agent,
    read_agent,
    read_agents,
    render_agent,
    render_agents,
)
from gitworker.tasks.projects.rules_project import ProjectFields
from gitworker.tasks.views.task_facts import read_why
from gitworker.workers.cancel import cancel
from gitworker.workers.start import start
from tests.tasks.test_queue import add
from tests.workers.world import World


def register(world: World, name: str = "ada", **options: object) -> None:
    """Register an agent with a command of its own."""
    open_repository(str(world.root)).register_agent(
        name,
        "command",
        command=["true"],
        **options,  # type: ignore[arg-type]
    )


def state(world: World, name: str = "ada") -> str:
    """Return the state of a registered agent."""
    return read_agent(world.session(), name).agent.state


def test_an_agent_follows_its_worker(world: World) -> None:
    """An agent is IDLE, STARTING with a task, BUSY at work, and IDLE after the hand-in."""
    register(world)
    assert state(world) == "IDLE"
    world.spawn("ada", "t1")
    assert (state(world), read_agent(world.session(), "ada").agent.task) == ("STARTING", "t1")
    start(world.session(), "ada")
    assert state(world) == "BUSY"
    world.commit("ada", {"a": "1\n"})
    world.submit("ada")
    assert (state(world), read_agent(world.session(), "ada").agent.task) == ("IDLE", None)
    world.require_sound()


def test_a_limit_pauses_it_and_silence_makes_it_unresponsive(world: World) -> None:
    """Exhausted tokens pause an agent until it works again; a stale worker is unresponsive."""
    register(world)
    world.working("ada", "t1", {"a": "1\n"})
    session = world.session()
    pause(session, "ada")
    assert state(world) == "PAUSED"
    start(session, "ada")
    assert state(world) == "BUSY"
    apply_due(session, [(world.worker("ada"), WorkerEvent.HEARTBEAT_TIMEOUT)], [])
    assert state(world) == "UNRESPONSIVE"
    recover(session, "ada")
    assert state(world) == "BUSY"
    apply_due(session, [(world.worker("ada"), WorkerEvent.HEARTBEAT_TIMEOUT)], [])
    apply_due(session, [(world.worker("ada"), WorkerEvent.EXPIRE)], [])
    assert state(world) == "IDLE"
    world.require_sound()


def test_a_paused_agent_releases_its_task(world: World) -> None:
    """An agent that waits for a limit is IDLE again if its task is cancelled or stopped."""
    register(world)
    session = world.session()
    for worker, task in (("ada-1", "t1"), ("ada-2", "t2")):
        world.working(worker, task, {"a": "1\n"})
        pause(session, worker)
        assert state(world) == "PAUSED"
        if task == "t1":
            cancel(session, worker)
        else:
            stop(session, worker, reason="stopped by hq")
        assert (state(world), read_agent(session, "ada").agent.task) == ("IDLE", None)
    world.require_sound()


def test_a_paused_agent_may_continue_its_own_task(world: World) -> None:
    """A limit of the vendor refuses new tasks, but not the work that waits for its end."""
    register(world, tasks=2)
    world.working("ada-1", "t1", {"a": "1\n"})
    session = world.session()
    pause(session, "ada-1")
    ask = {"agent_type": "command", "type_agents": None}
    with session.store.read() as reader:
        require_admitted(reader, session.paths, worker="ada-1", task="t1", has_begun=True, **ask)
        with pytest.raises(Refused, match="agent ada is paused"):
            require_admitted(
                reader, session.paths, worker="ada-2", task="t2", has_begun=False, **ask
            )


def test_an_agent_that_stays_silent_is_shut_down(world: World) -> None:
    """An agent whose process is alive but silent for too long is removed; its name is free."""
    register(world)
    world.working("ada", "t1", {"a": "1\n"})
    session = world.session()
    apply_due(session, [(world.worker("ada"), WorkerEvent.HEARTBEAT_TIMEOUT)], [])
    apply_due(session, [(world.worker("ada"), WorkerEvent.STOP)], [])
    assert read_agents(session) == []
    register(world)
    assert read_agent(session, "ada").agent.id == "ada#2"
    world.require_sound()


def test_errors_are_reset_by_a_person(world: World) -> None:
    """A failed start and refused credentials are errors of the agent until it is resumed."""
    register(world)
    session = world.session()
    world.spawn("ada", "t1")
    fail(session, "ada", reason="no disk")
    assert state(world) == "ERROR"
    assert change_agent(session, "ada") == "IDLE"
    world.working("ada-1", "t2", {"a": "1\n"})
    fail(session, "ada-1", reason="not logged in", agent_ending="ERROR")
    assert state(world) == "ERROR"
    assert change_agent(session, "ada") == "IDLE"
    assert Ending(0).reason == ""
    world.require_sound()


def test_pause_and_removal_wait_for_the_task(world: World) -> None:
    """An agent at work is paused or removed once its task has ended."""
    register(world, tasks=2)
    session = world.session()
    world.working("ada-1", "t1", {"a": "1\n"})
    assert change_agent(session, "ada", is_paused=True) == "BUSY"
    world.submit("ada-1")
    assert state(world) == "PAUSED"
    assert change_agent(session, "ada") == "IDLE"
    world.spawn("ada-2", "t2")
    assert change_agent(session, "ada", is_leaving=True) == "STARTING"
    cancel(session, "ada-2")
    with pytest.raises(NotFound, match="no agent 'ada' is registered"):
        read_agent(session, "ada")
    world.require_sound()


def test_a_task_that_no_agent_can_take(world: World) -> None:
    """task why names the missing capability or agent, with the command that registers one."""
    session = world.session()
    with session.store.write() as writer:
        insert_task_spec(writer, TaskSpec("a", capabilities=("python",)), now=1)
        insert_task_spec(writer, TaskSpec("b", capabilities=("sql", "gpu"), agent="codex"), now=1)
    with session.store.read() as reader:
        assert find_unfit(reader, "a", None) is None
        assert find_unfit(reader, "lost", None) is None
    register(world, "ada", capabilities=["python"])
    with session.store.read() as reader:
        assert find_unfit(reader, "a", None) is None
    found = read_why(session, "b")
    assert found.reason == (
        "no registered agent can take it: it names the agent codex and requires the"
        " capabilities sql, gpu"
    )
    hint = "git worker agent add --type codex --capability sql --capability gpu <name>"
    assert found.next_command == hint
    register(world, "codex", capabilities=["sql", "gpu"])
    assert "no registered agent" not in read_why(session, "b").reason


def test_refused_registrations(world: World) -> None:
    """Unknown types, missing programs, used names and workers are refused."""
    service = open_repository(str(world.root))
    with pytest.raises(NotFound) as unknown:
        service.register_agent("ada", "claud")
    assert "claude" in unknown.value.detail
    with pytest.raises(GitWorkerError, match="does not exist"):
        service.register_agent("ada", "command", command=["no-such-program"])
    with pytest.raises(GitWorkerError, match="needs its command"):
        service.register_agent("ada", "command")
    assert service.list_registered() == []
    register(world)
    with pytest.raises(Refused, match="exists already"):
        register(world)
    with pytest.raises(Refused, match="worker auth cannot change agents"):
        change_agent(world.session()._replace(actor="auth"), "ada")


def test_the_views(world: World) -> None:
    """The list has a row for each agent; one agent shows its fields and its workers."""
    assert "no agent is registered" in render_agents([], width=80, color=False)
    register(world, capabilities=["python"], tasks=2, env=["KEY=secret"])
    world.spawn("ada-1", "t1")
    session = world.session()
    assert render_agents(read_agents(session), width=None, color=False) == (
        "ada\tcommand\tSTARTING\t1/2\t0\tpython"
    )
    text = render_agent(read_agent(session, "ada"), width=None, color=False)
    assert "worker     ada-1  not started yet  t1" in text
    assert "secret" not in text
    assert json_agent(read_agent(session, "ada"))["env"] == ["KEY"]


def test_the_screen_shows_agents_budgets_and_the_queue(world: World) -> None:
    """status shows how busy each agent is, the budgets, and the tasks that start next."""
    service = open_repository(str(world.root))
    assert service.status().queue is None
    register(world, tasks=2)
    service.add_project("web", ProjectFields(budget=2000))
    for number in range(6):
        add(world, f"t{number}")
    world.spawn("ada-1", "t0")
    status = service.status()
    found = to_json(status)
    assert (found["agents"][0]["at_work"], found["agents"][0]["utilization"]) == (1, 0.5)
    assert found["budgets"][0]["budget_limit"] == 2000
    assert [one["task"] for one in found["queue"]["ready"]] == ["t1", "t2", "t3", "t4", "t5"]
    assert not found["queue"]["more"]
    assert to_json(service.list_registered())[0]["agent"] == "ada"
    text = render_status(status, width=80, color=False)
    assert "ada    command  starting  1/2    50%  0\n" in text
    assert "\nNEXT  PRIORITY" in text
