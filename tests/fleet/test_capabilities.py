"""Tasks that require what only some machines of a fleet have."""

from pathlib import Path

import pytest

from gitworker.errors import NotFound, Refused
from gitworker.model.task_spec import TaskSpec
from gitworker.orchestrator.carry_out import AgentCommand
from gitworker.orchestrator.run import RunOrder, plan_run
from gitworker.tasks.views.task_facts import read_why
from tests.cli.kit import ok, run
from tests.fleet.test_hints import add_other_machine, join, machine
from tests.orchestrator.test_crew import add, register
from tests.store.machines import Machine, psql
from tests.workers.world import World, wait_until

__all__ = ["machine"]
ONLY = "only the machine other can run it: it requires the capability gpu"
EVERYBODY = RunOrder(AgentCommand(None, ()), agents=4)
ONE = RunOrder(AgentCommand(None, ("true",)), agents=4)


def starts(world: World, order: RunOrder) -> list[str]:
    """Return the tasks that a run would start first."""
    return [one.task for one in plan_run(world.session(), order).actions]


def test_tasks_for_another_machine(
    world: World, machine: Machine, location: str, tmp_path: Path
) -> None:
    """A run leaves them to that machine and is not held up; `task why` names it in one line."""
    add_other_machine(tmp_path / "other", location)
    join(world, location)
    add(world, TaskSpec("deep", capabilities=("gpu",)), TaskSpec("plain"))
    assert starts(world, ONE) == ["deep", "plain"]
    assert "it may start" in read_why(world.session(), "deep").reason
    ok(world.root, "fleet", "edit", "other", "--capability", "gpu")
    assert starts(world, ONE) == ["plain"]
    assert read_why(world.session(), "deep").reason == ONLY
    register(world, "ada", tasks=2)
    assert starts(world, EVERYBODY) == ["plain"]
    assert read_why(world.session(), "deep").reason == ONLY
    ended = run(world.root, "run", "--json", "--", "git", "commit", "--allow-empty", "-m", "Work")
    found = {one["task"]: (one["result"], one["detail"]) for one in ended.document["tasks"]}
    assert found["deep"] == ("ready", ONLY)
    assert ended.status == 0
    ok(world.root, "fleet", "edit", "--capability", "gpu")
    assert starts(world, EVERYBODY) == ["deep"]
    assert starts(world, ONE) == ["deep"]


def test_a_task_that_no_machine_can_run(
    world: World, machine: Machine, location: str, tmp_path: Path
) -> None:
    """After the only machine with a capability has left, the command gives it to this one."""
    add_other_machine(tmp_path / "other", location)
    join(world, location)
    add(world, TaskSpec("deep", capabilities=("gpu",)))
    ok(world.root, "fleet", "edit", "other", "--capability", "gpu")
    with psql(location) as connection:
        connection.execute("UPDATE machines SET left_at_ms = 1 WHERE id = 'other'")
    wait_until(lambda: "no machine of the fleet" in ok(world.root, "task", "why", "deep"))
    assert starts(world, ONE) == []
    assert ok(world.root, "task", "why", "deep") == (
        "deep: no machine of the fleet can run it: it requires the capability gpu:"
        " git worker fleet edit --capability gpu"
    )
    shown = run(world.root, "task", "why", "deep", "--json").document
    assert shown["next"] == "git worker fleet edit --capability gpu"


def test_an_agent_of_one_machine(
    world: World, machine: Machine, location: str, tmp_path: Path
) -> None:
    """It gets its tasks on that machine only, and a run of it elsewhere is refused."""
    add_other_machine(tmp_path / "other", location)
    join(world, location)
    register(world, "ada", machine="other")
    register(world, "bob", machine="one")
    add(world, TaskSpec("a", agent="ada"), TaskSpec("b", agent="bob"))
    assert starts(world, EVERYBODY) == ["b"]
    assert starts(world, ONE) == ["b"]
    reason = read_why(world.session(), "a").reason
    assert reason == "only the machine other can run it: its agent runs only there"
    assert "\tother" in ok(world.root, "agent", "list")
    assert "other" in ok(world.root, "agent", "show", "ada")
    with pytest.raises(NotFound, match="no machine 'third'"):
        register(world, "eve", machine="third")
    assert "runs on the machine other only" in run(world.root, "run", "--agent", "ada").err


def test_an_agent_of_one_machine_without_a_fleet(world: World) -> None:
    """A repository of its own has no machines."""
    with pytest.raises(Refused, match="in no fleet"):
        register(world, "eve", machine="third")
