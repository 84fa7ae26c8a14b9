"""git worker agents lists the living agents and their tasks."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gitworker import clock
from gitworker.observe.agents import json_agents, read_agents, render_agents
from gitworker.store.sqlite.database import Database
from gitworker.workers.start import start
from tests.agents.supervised import SupervisedWorker
from tests.cli.kit import ok, run
from tests.workers.world import World, without_heartbeat_daemon


def execute(world: World, sql: str, **values: Any) -> None:
    """Run one statement on the bus."""
    store = world.session().store
    assert isinstance(store, Database)
    store.execute(sql, values)


def foreign_beat(world: World, agent: str, age_s: float) -> None:
    """Record a heartbeat of that age, as a foreign program does."""
    execute(
        world,
        "INSERT INTO heartbeats VALUES (:agent, :at, 'working', 'their-task', 0.5)",
        agent=agent, at=clock.now_ms() - int(age_s * 1000),
    )  # fmt: skip


def shown(world: World, **options: bool) -> dict[str, dict[str, Any]]:
    """Return the agents by name."""
    found = json_agents(read_agents(world.session(), **options))["agents"]
    return {one["agent"]: one for one in found}


def test_no_agent(auth: SupervisedWorker) -> None:
    """If no agent is at work, the list names the command that starts one."""
    assert shown(auth.world) == {}
    answer = run(auth.world.root, "agents")
    assert answer.out == "no agent is alive: git worker exec <worker> -- <command>\n"


def test_a_supervised_agent(auth: SupervisedWorker) -> None:
    """A supervised agent is listed with liveness, task, run, process, host and command."""
    with auth.running("sleep", "60"):
        (found,) = auth.runs()
        ok(auth.world.root, "heartbeat", "auth", "--status", "blocked", "--progress", "0.25")
        (agent,) = json.loads(ok(auth.world.root, "agents", "--json"))["agents"]
        line = ok(auth.world.root, "agents").splitlines()[1].split()
    expected = {
        "agent": "auth", "liveness": "OK", "doing": "blocked", "task": "t1", "progress": 0.25,
        "state": "WORKING", "pid": found["pid"], "runs": True, "run": found["id"],
        "host": clock.host_name(), "command": "sleep 60", "paused_at_ms": None,
    }  # fmt: skip
    assert {name: agent[name] for name in expected} == expected
    assert agent["since_ms"] <= agent["beat_ms"] <= clock.now_ms()
    assert line[:2] + line[3:6] == ["auth", "OK", "blocked", "t1", "25%"]
    assert line[-2:] == ["sleep", "60"]


@pytest.mark.parametrize(
    ("age_s", "word"), [(0, "OK"), (31, "WARN"), (101, "STALE"), (301, "DEAD")]
)
def test_programs_that_only_beat(auth: SupervisedWorker, age_s: float, word: str) -> None:
    """A program that only sends heartbeats is listed by their age until it counts as ended."""
    foreign_beat(auth.world, "theirs", age_s)
    foreign_beat(auth.world, "forgotten", 25 * 3600)
    found = shown(auth.world)
    assert found.keys() == {"theirs"}
    assert found["theirs"]["liveness"] == word
    assert found["theirs"]["task"] == "their-task"
    assert found["theirs"]["state"] is None
    assert shown(auth.world, include_all=True).keys() == {"theirs", "forgotten"}


def test_seats(auth: SupervisedWorker) -> None:
    """A worker at work is listed even if its process has ended, and an idle one is not."""
    agent = subprocess.Popen(["sleep", "60"])
    with without_heartbeat_daemon(auth.world):
        start(auth.world.session(), "auth", pid=agent.pid)
        agent.kill()
        agent.wait()
        auth.world.spawn("docs", "t2")
        start(auth.world.session(), "docs", pid=os.getpid())
    execute(auth.world, "UPDATE workers SET pid_start = '1' WHERE worker_id = 'docs'")
    found = shown(auth.world)
    assert {name: one["doing"] for name, one in found.items()} == {"auth": "gone", "docs": "gone"}
    execute(auth.world, "UPDATE workers SET host = 'elsewhere' WHERE worker_id = 'docs'")
    there = shown(auth.world)["docs"]
    assert (there["doing"], there["runs"], there["host"]) == ("working", None, "elsewhere")
    ok(auth.world.root, "fail", "auth", "-m", "No")
    assert shown(auth.world).keys() == {"docs"}


def test_the_screen(auth: SupervisedWorker, tmp_path: Path) -> None:
    """On a screen the table fits its width and lets no escape sequence through."""
    foreign_beat(auth.world, "\x1b[31mred", 0)
    text = render_agents(read_agents(auth.world.session()), width=80, color=False)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
