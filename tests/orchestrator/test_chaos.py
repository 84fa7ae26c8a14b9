"""Many tasks in a random graph, agents that crash, hang and fail, orchestrators that are killed."""

import os
import random
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.kit import ok
from tests.orchestrator.chaos import AGENT, broken_promises, orchestrate, write_plan
from tests.workers.world import World, wait_until

SCALE = int(os.environ.get("GITWORKER_TEST_SCALE", "1"))
TASKS = 40 if SCALE == 1 else 100 * SCALE
TIME_LIMIT_S = 5 if SCALE == 1 else 30
# 1,000 tasks took 50 minutes on two cores at a load of 30.
LIMIT_S = 600 * SCALE
# The orchestrators beside the first one, and whether that one is killed every few seconds.
COMPANIES = {"killed and beside another": (1, True)}
if SCALE > 1:
    COMPANIES |= {"alone": (0, False), "killed": (0, True), "beside another": (1, False)}


@pytest.mark.slow
@pytest.mark.parametrize("company", COMPANIES)
def test_chaos(tmp_path: Path, company: str) -> None:
    """Every task lands, is BLOCKED with a reason, or waits for a BLOCKED one that `why` names."""
    dice = random.Random(f"{company} {SCALE}")
    world = World.make(tmp_path / "r")
    world.git("config", "worker.task.retry-delay-s", "0")
    (world.state_dir / "chaos").mkdir(parents=True)
    agent, plan = tmp_path / "agent.sh", tmp_path / "plan.jsonl"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    write_plan(plan, tasks=TASKS, time_limit_s=TIME_LIMIT_S, dice=dice)
    ok(world.root, "task", "import", str(plan))
    others, killed = COMPANIES[company]
    kills = orchestrate(world, agent, killed=killed, others=others, limit_s=LIMIT_S, dice=dice)
    statuses = Counter(status for (status,) in world.query("SELECT status FROM tasks"))
    runs = Counter(outcome for (outcome,) in world.query("SELECT outcome FROM runs"))
    print(f"{TASKS} tasks {dict(statuses)}, runs {dict(runs)}, {kills} kills")
    assert broken_promises(world) == []
    assert statuses["COMPLETED"] > TASKS / 2, statuses
    world.require_sound()


def test_the_agent_sees_broken_promises(tmp_path: Path) -> None:
    """The agent records a second copy of itself, a start too early, and a start after landing."""
    world = World.make(tmp_path / "r")
    chaos = world.state_dir / "chaos"
    chaos.mkdir(parents=True)
    agent, prompt = tmp_path / "agent.sh", tmp_path / "prompt"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    prompt.write_text("hang work\nt0\n")
    env = {
        **os.environ, "GITWORKER_STATE": str(world.state_dir), "GITWORKER_TASK": "t1",
        "GITWORKER_ID": "w", "GITWORKER_PROMPT_FILE": str(prompt),
    }  # fmt: skip
    first = subprocess.Popen([agent], cwd=world.root, env=env)
    wait_until(lambda: (chaos / "broken").exists())
    assert (chaos / "broken").read_text() == "t1 runs before t0\n"
    (world.root / "t0.txt").write_text("done\n")
    subprocess.run([agent], cwd=world.root, env=env, check=True)
    first.kill()
    first.wait()
    subprocess.run([agent], cwd=world.root, env=env, check=True)
    seen = (chaos / "broken").read_text().splitlines()
    assert seen[1:] == ["t1 runs twice", "t1 runs again"]
