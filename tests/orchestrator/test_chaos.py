"""Many tasks in a random graph, agents that crash, hang and fail, orchestrators that are killed."""

import os
import random
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.kit import ok
from tests.orchestrator.chaos import AGENT, broken_promises, orchestrate, write_plan
from tests.workers.world import World

SCALE = int(os.environ.get("GITWORKER_TEST_SCALE", "1"))
TASKS = 40 if SCALE == 1 else 100 * SCALE
TIME_LIMIT_S = 5 if SCALE == 1 else 30
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
    kills = orchestrate(world, agent, killed=killed, others=others, limit_s=300 * SCALE, dice=dice)
    statuses = Counter(status for (status,) in world.query("SELECT status FROM tasks"))
    runs = Counter(outcome for (outcome,) in world.query("SELECT outcome FROM runs"))
    print(f"{TASKS} tasks {dict(statuses)}, runs {dict(runs)}, {kills} kills")
    assert broken_promises(world) == []
    assert statuses["COMPLETED"] > TASKS / 2, statuses
    world.require_sound()
