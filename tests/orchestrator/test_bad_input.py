"""Bad plans, agents and prompts: a clear error, or FAILED with the reason; nothing is stuck."""

import json
from pathlib import Path

import pytest

from gitworker.errors import Invalid, NotFound, Refused
from gitworker.orchestrator.carry_out import AgentCommand
from gitworker.orchestrator.run import run
from tests.cli.kit import run as run_program
from tests.cli.kit import running
from tests.orchestrator.test_run import COMMIT, add, agent_of, carry, order, results, seen, world
from tests.workers.world import World, unchanged, wait_until

__all__ = ["world"]
MEGABYTE = 1_000_000
HUGE_TASKS = 100_000


@pytest.mark.parametrize(
    ("plan", "kind", "words"),
    [
        ("- [ ] a: A (needs: b)\n- [ ] b: B (needs: a)\n", Refused, "a needs b needs a"),
        ("- [ ] a: A (needs: lost)\n", Invalid, "line 1: a needs lost, and there is no such task"),
        ("- [ ] a: A (agent: nobody)\n", Invalid, "line 1: no agent is called 'nobody'"),
    ],
)
def test_plans_that_cannot_work(world: World, plan: str, kind: type[Exception], words: str) -> None:
    """A cycle, an unknown dependency and an unknown agent are refused before anything starts."""
    path = world.root.parent / "plan.md"
    path.write_text(plan)
    with unchanged(world, kind=kind) as caught:  # type: ignore[arg-type]
        run(world.session(), order(world, plan=str(path)))
    assert words in caught.value.message


def test_a_program_that_new_worktrees_do_not_have(world: World) -> None:
    """A file that is not committed is refused before a worker is made, unless a setup brings it."""
    add(world, "t1")
    (world.root / "tools").mkdir()
    (world.root / "tools/agent.sh").write_text(f"#!/bin/sh\n{COMMIT}\n")
    (world.root / "tools/agent.sh").chmod(0o755)
    command = AgentCommand(None, ("./tools/agent.sh",))
    with unchanged(world, kind=NotFound) as caught:
        carry(world, command=command)
    assert "main has no such file" in caught.value.message
    assert world.task("t1").status == "READY"
    world.git("config", "worker.worktree.copy", "tools")
    (world.root / ".git/info/exclude").write_text("tools\n")  # only ignored files are copied
    assert results(carry(world, command=command)) == {"t1": "landed"}
    world.git("config", "--unset", "worker.worktree.copy")
    world.git("add", "-f", "tools")
    world.git("commit", "-qm", "Add the agent")
    add(world, "t2")
    assert results(carry(world, command=command))["t2"] == "landed"


def test_agents_that_misbehave(world: World) -> None:
    """Garbage, other encodings, a fork that stays and a prompt of 1 MB land; a bad end is named."""
    add(world, "garbage", f"head -c 200000 /dev/urandom; {COMMIT}; printf '\\377\\0\\033[2J' >&2")
    add(world, "latin", f"printf 'caf\\351\\n'; {COMMIT}")
    add(world, "forks", f"{COMMIT}; sleep 20 & exit 0")
    add(world, "large", f"{COMMIT}\n{'x' * MEGABYTE}")
    add(world, "fails", "printf 'no \\377 idea\\n' >&2; exit 7")
    summary = carry(world, agents=3)
    landed = dict.fromkeys(("garbage", "latin", "forks", "large"), "landed")
    assert results(summary) == {**landed, "fails": "failed"}
    (failed,) = [one for one in summary.results if one.task == "fails"]
    assert failed.detail == "it ended with status 7"
    assert world.query("SELECT COUNT(*) FROM runs WHERE ended_at_ms IS NULL") == [(0,)]
    world.require_sound()


def test_a_prompt_that_is_too_long_for_a_command(world: World) -> None:
    """A prompt of 1 MB in the command line fails its task with the reason; the others land."""
    add(world, "large", "x" * MEGABYTE)
    add(world, "small")
    words = ("sh", "-c", "{prompt}")
    summary = carry(world, command=AgentCommand(None, words))
    assert results(summary) == {"large": "failed", "small": "landed"}
    (large,) = [one for one in summary.results if one.task == "large"]
    assert "makes an argument of 1000000 bytes; 131071 are possible" in large.detail
    world.require_sound()


def test_an_agent_that_disappears(world: World) -> None:
    """If the program of the agent is deleted during the run, the next task names it."""
    add(world, "t1", f"{COMMIT}; rm {agent_of(world)}")
    add(world, "t2")
    summary = carry(world, agents=1)
    assert results(summary) == {"t1": "landed", "t2": "failed"}
    (t2,) = [one for one in summary.results if one.task == "t2"]
    assert "agent.sh" in t2.detail, t2
    with pytest.raises(NotFound):
        carry(world)
    world.require_sound()


def test_a_task_is_stopped_during_a_run(world: World) -> None:
    """`task stop` ends the agent, keeps its work, and the run goes on with the others."""
    gate = world.root.parent / "gate"
    add(world, "t1", f"{COMMIT}; touch half; touch {gate}; sleep 600")
    add(world, "t2")
    with running(world.root, "run", "-j", "1", "--land", "--", agent_of(world)) as process:
        wait_until(gate.exists)
        answer = run_program(world.root, "task", "stop", "t1")
        assert answer.status == 0, answer
        assert process.wait(60) == 1
    assert world.task("t1").status == "BLOCKED"
    assert "stopped" in (world.task("t1").last_error or "")
    assert world.task("t2").status == "COMPLETED"
    assert (world.root / "worktrees" / "t1" / "half").exists()
    assert len(seen(world)) == 2
    world.require_sound()


@pytest.mark.slow
def test_a_plan_of_100_000_tasks(world: World) -> None:
    """It is imported whole, the first tasks are the first of the queue, and a run begins them."""
    path = Path(world.root.parent / "plan.jsonl")
    path.write_text(
        "".join(
            json.dumps({"id": f"t{n}", "text": COMMIT, "needs": [f"t{n - 10}"] if n >= 10 else []})
            + "\n"
            for n in range(HUGE_TASKS)
        )
    )
    assert run_program(world.root, "task", "import", str(path)).status == 0
    words = ("run", "--max", "2", "--land", "--json", "--", agent_of(world))
    answer = run_program(world.root, *words)
    assert answer.status == 0, answer.err
    landed = [one["task"] for one in answer.document["tasks"] if one["result"] == "landed"]
    assert landed == ["t0", "t1"]
    assert world.query("SELECT COUNT(*) FROM tasks") == [(HUGE_TASKS,)]
    world.require_sound()
