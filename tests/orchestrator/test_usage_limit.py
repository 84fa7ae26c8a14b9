"""run: an agent meets a usage limit with a reset time, and continues its session afterwards."""

from pathlib import Path

import pytest

from gitworker import clock
from gitworker.orchestrator.carry_out import AgentCommand
from tests.orchestrator.test_run import add, agent_of, carry, results
from tests.orchestrator.test_run import world as world
from tests.workers.world import World, wait_until

# Its first part is a commit; then it meets the limit, and `--resume s1` does the second part.
AGENT = """\
#!/bin/sh
echo "$GITWORKER_TASK $*" >>"$GITWORKER_STATE/calls"
part() { echo "$1" >>"$1.txt"; git add -A; git commit -q -m "$1"; }
echo '{"type": "system", "session_id": "s1"}'
test "$GITWORKER_TASK" = before && { part Before; exit; }
test "$1" = --resume && { part Second; exit; }
part First
test -e "$GITWORKER_STATE/end" || echo $(($(date +%s) + 2)) >"$GITWORKER_STATE/end"
printf '{"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", '
echo '"resetsAt": '"$(cat "$GITWORKER_STATE/end")"'}}'
echo '{"type": "result", "is_error": true, "api_error_status": 429, "result": "usage limit"}'
exit 1
"""
LIMITED = AgentCommand("own", ())
LATER_MS = 3 * 3_600_000
MINUTE_MS = 60_000
STARTS = "SELECT started_at_ms FROM runs WHERE task_id = 't1' ORDER BY id"


@pytest.fixture
def limited(world: World) -> World:
    """Give a repository with an agent that meets a limit in the middle of the task t1."""
    program = Path(agent_of(world))
    program.write_text(AGENT)
    for name, value in (("command", str(program)), ("resume", f"{program}\n--resume\n{{session}}"),
                        ("input", "prompt"), ("stream", "claude")):  # fmt: skip
        world.git("config", f"worker.agents.own.{name}", value)
    add(world, "t1", "Go")
    return world


def calls(world: World) -> list[str]:
    """Return the task and the arguments of each start of the agent."""
    return (world.state_dir / "calls").read_text().splitlines()


def look(world: World, patch: pytest.MonkeyPatch, at_ms: int) -> int:
    """Let a run look once at a time; return the number of starts of the agent on t1 after it."""
    patch.setenv("GITWORKER_CLOCK_MS", str(at_ms))
    carry(world, command=LIMITED, lands=False, is_single=True)
    wait_until(lambda: world.query("SELECT COUNT(*) FROM runs WHERE ended_at_ms IS NULL") == [(0,)])
    return len(world.query(STARTS))


def pause_until(world: World, patch: pytest.MonkeyPatch) -> int:
    """Let the agent meet a limit of three hours; return the time of its end."""
    end_s = (clock.now_ms() + LATER_MS) // 1000
    (world.state_dir / "end").write_text(str(end_s))
    assert look(world, patch, clock.now_ms()) == 1
    assert world.states("own-1", "t1") == ("WORKING", "PAUSED")
    assert world.query("SELECT failure, resets_at_ms FROM runs") == [("usage_limit", end_s * 1000)]
    return end_s * 1000


def test_the_work_continues_within_a_minute(limited: World) -> None:
    """The agent's session continues after the limit, and no finished part is done again."""
    add(limited, "before", "Go")
    summary = carry(limited, command=LIMITED, agents=2)
    assert results(summary) == {"before": "landed", "t1": "landed"}
    end_ms = int((limited.state_dir / "end").read_text()) * 1000
    first, second = [at_ms for (at_ms,) in limited.query(STARTS)]
    assert first < end_ms <= second <= end_ms + MINUTE_MS
    assert sorted(calls(limited)) == ["before ", "t1 ", "t1 --resume s1"]
    subjects = limited.git("log", "--format=%s", "main").splitlines()
    assert sorted(subjects) == ["Before", "First", "Second", "Start"]
    assert (limited.show("First.txt"), limited.show("Second.txt")) == ("First", "Second")
    assert limited.task("t1").retry_count == 0
    limited.require_sound()


def test_nothing_continues_before_the_reset(
    limited: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run starts no agent one second before the end of the limit, and does a minute after it."""
    end_ms = pause_until(limited, monkeypatch)
    assert look(limited, monkeypatch, end_ms - 1000) == 1
    assert look(limited, monkeypatch, end_ms + MINUTE_MS) == 2
    assert calls(limited) == ["t1 ", "t1 --resume s1"]
    assert limited.states("own-1", "t1") == ("IN_REVIEW", "VERIFYING")


def test_nothing_continues_in_quiet_hours(limited: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit that ends in the quiet hours is waited for until these end."""
    end_ms = pause_until(limited, monkeypatch)
    hour = int(clock.local_seconds(end_ms)[11:13])
    quiet = f"{hour:02}:00-{(hour + 2) % 24:02}:00"
    limited.git("config", "worker.orchestrator.quiet-hours", quiet)
    past_hour_ms = int(clock.local_seconds(end_ms)[14:16]) * MINUTE_MS
    morning_ms = end_ms - past_hour_ms + 2 * 60 * MINUTE_MS
    assert look(limited, monkeypatch, end_ms + MINUTE_MS) == 1
    assert look(limited, monkeypatch, morning_ms - MINUTE_MS) == 1
    assert look(limited, monkeypatch, morning_ms + MINUTE_MS) == 2
