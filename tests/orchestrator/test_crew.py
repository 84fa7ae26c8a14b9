"""run without an agent: the registered agents share the tasks."""

import os
from pathlib import Path

import pytest

from gitworker.errors import Invalid
from gitworker.lifecycle.registered.change_agent import change_agent
from gitworker.model.task_spec import TaskSpec
from gitworker.orchestrator.carry_out import AgentCommand
from gitworker.orchestrator.rules_next import Action, Step
from gitworker.orchestrator.run import RunOrder, plan_run, run
from gitworker.orchestrator.turns.read_queue import READY_AT_ONCE
from gitworker.service.service import open_repository
from gitworker.store.records.task_specs import insert_task_spec
from gitworker.tasks.queue.add_task import promote_if_free
from gitworker.workers.start import start
from tests.hints.following import Printed, follow, note
from tests.workers.world import World

SCRIPT = 'echo "$GITWORKER_ID $NAME" >"$GITWORKER_TASK.txt"; git add -A; git commit -q -m Work'
ORDER = RunOrder(AgentCommand(None, ()), agents=4, lands=True)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Give a repository without agents, and a known agent that is installed."""
    program = tmp_path / "bin/codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    made = World.make(tmp_path / "r")
    made.session()
    return made


def follow_hint(world: World, hint: str | None) -> None:
    """Run a hint as its reader does, and record that it helped."""
    assert hint is not None
    command = hint.partition("   #")[0]
    assert follow(Printed([command], str(world.root)), command) is None
    note(command, "")


def register(world: World, name: str, **options: object) -> None:
    """Register a scripted agent."""
    open_repository(str(world.root)).register_agent(
        name, "command", command=["sh", "-c", SCRIPT], env=[f"NAME={name}"],
        **options,  # type: ignore[arg-type]
    )  # fmt: skip


def add(world: World, *specs: TaskSpec) -> None:
    """Add READY tasks."""
    with world.session().store.write() as writer:
        for at, spec in enumerate(specs):
            insert_task_spec(writer, spec, now=at + 1)
            promote_if_free(writer, spec.id, actor="hq")


def test_a_run_needs_an_agent(world: World) -> None:
    """Without an agent and a command the hint registers one."""
    with pytest.raises(Invalid, match="none is registered") as refused:
        run(world.session(), ORDER)
    follow_hint(world, refused.value.hint)
    assert run(world.session(), ORDER).status == 0


def test_the_registered_agents_share_the_tasks(world: World) -> None:
    """Each task gets the least utilised agent that can take it, and others are left out."""
    register(world, "ada", tasks=2)
    register(world, "bob", capabilities=["sql"])
    add(
        world, TaskSpec("a"), TaskSpec("gpu", capabilities=("gpu",)), TaskSpec("b"), TaskSpec("c"),
        TaskSpec("query", capabilities=("sql",)), TaskSpec("wish", agent="ada"),
    )  # fmt: skip
    planned = plan_run(world.session(), ORDER)
    assert planned.actions == (
        Action(Step.START, "ada-1", "a", is_new=True),
        Action(Step.START, "bob-1", "b", is_new=True),
        Action(Step.START, "ada-2", "c", is_new=True),
    )
    summary = run(world.session(), ORDER)
    found = {one.task: (one.result.value, one.detail) for one in summary.results}
    words = "no registered agent can take it: it requires the capability gpu"
    assert found.pop("gpu") == ("failed", words)
    assert set(found.values()) == {("landed", "")}, found
    assert world.show("query.txt").endswith(" bob")
    assert world.show("wish.txt").endswith(" ada")
    hint = "git worker agent add --type '<type>' --capability gpu <name>"
    assert (summary.status, summary.next_command) == (1, hint)
    follow_hint(world, hint)
    (start_of_gpu,) = plan_run(world.session(), ORDER).actions
    assert (start_of_gpu.worker, start_of_gpu.task) == ("helper-1", "gpu")


def test_an_agent_with_work_or_paused_gets_no_task(world: World) -> None:
    """Work begun by hand counts, and a paused agent is named with the command that helps."""
    register(world, "ada")
    add(world, TaskSpec("a"))
    world.spawn("ada-7", "by-hand")
    start(world.session(), "ada-7")
    assert plan_run(world.session(), ORDER).actions == ()
    change_agent(world.session(), "ada", is_paused=True)
    world.commit("ada-7", {"x": "1\n"})
    world.submit("ada-7")
    world.approve("ada-7")
    world.land("ada-7")
    summary = run(world.session(), ORDER)
    assert summary.next_command == "git worker agent resume ada"
    detail = {one.task: one.detail for one in summary.results}
    assert detail["a"] == "agent ada is paused"
    follow_hint(world, summary.next_command)
    assert plan_run(world.session(), ORDER).actions == (
        Action(Step.START, "ada-1", "a", is_new=True),
    )


def test_an_agent_is_not_idle_behind_the_tasks_of_another(world: World) -> None:
    """A free agent gets its task, although more tasks than a tick reads wait for a busy one."""
    register(world, "ada")
    register(world, "bob", capabilities=["sql"])
    many = [TaskSpec(f"a{number:03}", agent="ada") for number in range(READY_AT_ONCE + 10)]
    add(world, *many, TaskSpec("query", capabilities=("sql",)), TaskSpec("sweep", agent="bob"))
    world.spawn("ada-7", "by-hand")
    start(world.session(), "ada-7")
    planned = plan_run(world.session(), ORDER)
    assert planned.actions == (Action(Step.START, "bob-1", "query", is_new=True),)


def test_a_type_at_its_limit_does_not_stop_the_others(world: World) -> None:
    """A run of one agent starts its tasks, although many wait for another type at its limit."""
    world.git("config", "worker.agents.limits", "codex=0")
    many = [TaskSpec(f"a{number:03}", agent="codex") for number in range(READY_AT_ONCE + 10)]
    add(world, *many, TaskSpec("own"))
    order = RunOrder(AgentCommand(None, ("true",)), agents=2)
    assert plan_run(world.session(), order).actions == (
        Action(Step.START, "command-1", "own", is_new=True),
    )


def test_an_agent_whose_program_is_gone(world: World) -> None:
    """It is named once, its tasks stay ready without a worker, and other agents do the rest."""
    script = world.root.parent / "ada.sh"
    script.write_text(f"#!/bin/sh\n{SCRIPT}\n")
    script.chmod(0o755)
    service = open_repository(str(world.root))
    service.register_agent("ada", "command", command=[str(script)], tasks=2)
    register(world, "bob")
    add(
        world, TaskSpec("a", agent="ada"), TaskSpec("b", agent="bob"), TaskSpec("c"),
        TaskSpec("d", agent="ada"),
    )  # fmt: skip
    script.unlink()
    said: list[str] = []
    session = world.session()._replace(report=lambda event: said.append(str(event)))
    planned = plan_run(session, ORDER)
    assert planned.actions == (Action(Step.START, "bob-1", "b", is_new=True),)
    words = f"agent ada cannot start: cannot run '{script}': the program does not exist"
    assert [words in one for one in said] == [True]
    summary = run(session, ORDER)
    assert [words in one or "could not start" in one for one in said].count(True) == 2
    found = {one.task: (one.result.value, one.worker, one.detail) for one in summary.results}
    assert found["a"] == found["d"] == ("failed", None, words)
    assert found["b"] == ("landed", "bob-1", "")
    assert found["c"][0] == "landed"
    assert (summary.status, world.task("a").status) == (1, "READY")
    follow_hint(world, summary.next_command)
    script.write_text(f"#!/bin/sh\n{SCRIPT}\n")
    script.chmod(0o755)
    assert run(world.session(), ORDER).status == 0
