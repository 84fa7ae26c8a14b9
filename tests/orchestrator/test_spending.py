"""run --budget: no launch after the limit, and all work of the agents at work is kept."""

from pathlib import Path

import pytest

from gitworker.orchestrator.carry_out import AgentCommand
from gitworker.orchestrator.results import json_summary, render_summary
from gitworker.orchestrator.run import RunOrder, run
from gitworker.store.scheduling.projects import charge_project
from tests.cli.kit import ok
from tests.cli.kit import run as run_program
from tests.hints.following import note
from tests.workers.world import World

# The first task reports 100 tokens and ends; the second one would report 200 and then wait.
AGENT = """\
#!/bin/sh
cat >/dev/null
echo "$GITWORKER_TASK $1" >>"$GITWORKER_STATE/seen"
report() { echo '{"type": "assistant", "message": {"usage": {"input_tokens": '"$1"'}}}'; }
echo '{"type": "system", "session_id": "s1"}'
echo "$GITWORKER_TASK" >"$GITWORKER_TASK.txt"
report 100
if test "$GITWORKER_TASK$1" = b; then report 100; sleep 60; fi
git add -A; git commit -q -m "$GITWORKER_TASK"
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Give a repository with three READY tasks and a scripted agent that reports its tokens."""
    world = World.make(tmp_path / "r")
    program = tmp_path / "agent"
    program.write_text(AGENT)
    program.chmod(0o755)
    for name, value in (("command", str(program)), ("input", "prompt"), ("stream", "claude"),
                        ("resume", f"{program}\n{{session}}")):  # fmt: skip
        world.git("config", f"worker.agents.own.{name}", value)
    for task in ("a", "b", "c"):
        ok(world.root, "task", "add", task, "-m", task)
    return world


def order(**more: object) -> RunOrder:
    """Return the order of a run with one agent at once that lands its work."""
    return RunOrder(AgentCommand("own", ()), 1, lands=True)._replace(**more)


def test_a_run_reports_its_tokens_and_their_cost(world: World) -> None:
    """The summary has the tokens of this run alone, and by the price table their cost."""
    world.git("config", "worker.agents.prices", "own=2500/0")
    ok(world.root, "task", "hold", "b")
    words = ("run", "--agent", "own", "--land")
    first = run_program(world.root, *words)
    assert first.status == 0, first
    assert first.out.splitlines()[0].startswith("a\tlanded\t"), first
    assert "used 200 tokens, ~$0.50\n" in first.err, first
    ok(world.root, "task", "add", "d", "-m", "d")
    document = run_program(world.root, *words, "--json").document
    assert (document["tokens_used"], document["cost_usd"]) == (100, 0.25)
    assert "tokens" not in run_program(world.root, *words).err


def test_a_run_stops_at_its_budget(world: World) -> None:
    """Finished work lands, the agent at work is stopped, and the next run continues its session."""
    words = ("run", "--agent", "own", "-j", "1", "--land", "--budget", "250", "--json")
    first = run_program(world.root, *words)
    assert first.status == 1, first
    document = first.document
    found = {one["task"]: one["result"] for one in document["tasks"]}
    assert found == {"a": "landed", "b": "waiting", "c": "ready"}
    spent = "the run has used 300 of its 250 tokens"
    assert document["budget"] == spent
    worker = world.task("b").assigned_agent_id
    assert worker is not None
    assert world.states(worker, "b") == ("WORKING", "PAUSED")
    assert (world.path(worker) / "b.txt").read_text() == "b\n"
    assert (world.state_dir / "seen").read_text().splitlines() == ["a ", "b "]
    why = ok(world.root, "task", "why", "b")
    assert why.endswith(f"stopped by orchestrator: {spent}: git worker resume {worker}")
    summary = run(world.session(), order(budget=10_000))
    assert {one.result.value for one in summary.results} == {"landed"}
    assert (summary.status, summary.spent) == (0, "")
    assert (world.state_dir / "seen").read_text().splitlines()[2:] == ["b s1", "c "]
    world.require_sound()


def test_a_task_over_its_budget_leaves_the_others(world: World) -> None:
    """The run goes on with the next task, and ends with the command that raises the budget."""
    ok(world.root, "task", "edit", "b", "--budget", "150")
    summary = run(world.session(), order())
    found = {one.task: one.result.value for one in summary.results}
    assert found == {"a": "landed", "b": "out of budget", "c": "landed"}
    assert summary.status == 1
    assert summary.next_command == "git worker task edit b --budget <number>"
    assert json_summary(summary)["budget"] is None
    assert "task b has used 200 of its 150 tokens" in render_summary(
        summary, width=100, color=False
    )
    ok(world.root, "task", "edit", "b", "--budget", "1k")
    assert run(world.session(), order()).status == 0
    note("git worker task edit b --budget <number>", summary.next_command)


def test_a_run_names_the_project_over_its_limit(world: World) -> None:
    """Tasks that wait for their project are listed with the reason, and its budget comes next."""
    ok(world.root, "task", "edit", "a", "--budget", "1k")
    first = run(world.session(), order(budget=150))
    assert {one.task: one.result.value for one in first.results} == {
        "a": "landed", "b": "waiting", "c": "ready"
    }  # fmt: skip
    ok(world.root, "project", "edit", "default", "--budget", "150")
    summary = run(world.session(), order())
    spent = "project default has used 300 of its 150 tokens"
    details = {one.task: one.detail for one in summary.results}
    assert details["b"] == f"{spent}, so no agent starts on b"
    assert details["c"] == f"its {spent}"
    assert summary.next_command == "git worker project edit default --budget <number>"
    ok(world.root, "project", "edit", "default", "--budget", "1k")
    assert run(world.session(), order()).status == 0
    note("git worker project edit default --budget <number>", summary.next_command)


def test_a_project_over_its_limit_starts_nothing(world: World) -> None:
    """No path starts an agent: not run, spawn, exec, resume or an automation."""
    ok(world.root, "spawn", "auth", "t9", "-m", "Go")
    ok(world.root, "automation", "add", "look", "--every", "60", "--agent", "own", "--prompt", "x")
    ok(world.root, "project", "edit", "default", "--budget", "5")
    with world.session().store.write() as writer:
        charge_project(writer, "default", 5)
    words = "project default has used 5 of its 5 tokens"
    for command in (
        ("exec", "auth", "--agent", "own"),
        ("exec", "auth", "-d", "--", "true"),
        ("spawn", "ui", "a", "--agent", "own"),
        ("spawn", "ui", "b", "--", "true"),
        ("resume", "auth", "--", "true"),
    ):
        refused = run_program(world.root, *command)
        assert words in refused.err, (command, refused)
    assert words in ok(world.root, "task", "why", "a")
    found = {one.task: one.result.value for one in run(world.session(), order()).results}
    assert (found["a"], found["b"], found["c"]) == ("ready", "ready", "ready")
    assert run_program(world.root, "automation", "run", "look").status == 1
    assert world.query("SELECT COUNT(*) FROM runs") == [(0,)]
    ok(world.root, "project", "edit", "default", "--budget", "1k")
    ok(world.root, "automation", "run", "look")
    assert world.query("SELECT COUNT(*) FROM runs") == [(1,)]
