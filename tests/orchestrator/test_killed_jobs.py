"""run: its landing is killed, and an agent stops itself at a limit of its own."""

import json

from gitworker.orchestrator.carry_out import AgentCommand
from gitworker.progress import Event, Notice
from tests.orchestrator.test_run import add, carry, results, seen, world
from tests.workers.world import World

__all__ = ["world"]
KILL = """\
test -e {killed} && {once}
touch {killed}
pid=$PPID
until tr '\\0' ' ' </proc/$pid/cmdline | grep -q ' gitworker land '; do
    pid=$(awk '/^PPid:/ {{ print $2 }}' /proc/$pid/status)
done
kill -9 "$pid"
"""
# An agent that has used up the money that it was given for one start.
SPENT = """\
#!/bin/sh
cat >/dev/null
echo "$GITWORKER_ID $GITWORKER_TASK" >>"$GITWORKER_STATE/seen"
cat "$GITWORKER_STATE/spent"
exit 1
"""


def landings(said: list[Event]) -> list[str]:
    """Return the lines of a run on its landings."""
    return [one.text for one in said if isinstance(one, Notice) and one.text.startswith("landing")]


def kill_landings(world: World, *, once: bool) -> None:
    """Let the verify command kill the landing that runs it."""
    script = world.root.parent / "kill.sh"
    killed, then = world.state_dir / "killed", "exit 0" if once else ":"
    script.write_text(KILL.format(killed=killed, once=then))
    world.git("config", "worker.verify.commands", f"sh {script}")


def test_a_landing_that_is_killed_is_repeated(world: World) -> None:
    """A run lands the work by another process, and does not call the task failed."""
    kill_landings(world, once=True)
    add(world, "t1")
    said: list[Event] = []
    assert results(carry(world, report=said.append)) == {"t1": "landed"}
    assert landings(said) == ["landing command-1"] * 2
    world.require_sound()


def test_a_landing_that_is_always_killed_is_left_to_a_person(world: World) -> None:
    """After three tries the run ends."""
    kill_landings(world, once=False)
    add(world, "t1")
    said: list[Event] = []
    (result,) = carry(world, report=said.append).results
    assert (result.result.value, result.detail) == ("failed", "the landing was interrupted")
    assert landings(said) == ["landing command-1"] * 3


def test_an_agent_at_its_own_limit_waits_for_a_person(world: World) -> None:
    """Without a budget of the task, nothing else would bound its starts."""
    program = world.root.parent / "spent.sh"
    program.write_text(SPENT)
    program.chmod(0o755)
    event = {"type": "result", "subtype": "error_max_budget_usd", "is_error": True,
             "errors": ["Reached maximum budget ($1)"], "total_cost_usd": 1}  # fmt: skip
    (world.state_dir / "spent").write_text(json.dumps(event) + "\n")
    for name, value in (("command", str(program)), ("input", "prompt"), ("stream", "claude")):
        world.git("config", f"worker.agents.own.{name}", value)
    add(world, "t1")
    assert results(carry(world, command=AgentCommand("own", ()))) == {"t1": "waiting"}
    assert seen(world) == ["own-1 t1"]
    assert world.states("own-1", "t1") == ("WORKING", "PAUSED")
