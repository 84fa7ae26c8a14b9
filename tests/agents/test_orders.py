"""Orders to a supervisor by `cmd` messages, and the time limit."""

import json
import os

import pytest

from tests.agents.seat import COMMIT, Seat, is_alive, is_stopped, read_until
from tests.cli.kit import DEADLINE_S, ok, run
from tests.workers.world import wait_until

AGENT = ("sh", "-c", "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done")
STUBBORN = ("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done")


@pytest.mark.parametrize("key", ["command", "action"])
def test_stop(seat: Seat, key: str) -> None:
    """A stop ends the agent by TERM and fails the task with the reason, whatever it ends with."""
    with seat.running(*AGENT) as process:
        assert process.stdout
        read_until(process.stdout.fileno(), b"ready\n")
        sent = seat.order("stop", "enough", key=key)
        assert process.stdout.read() == b"bye\n"
        assert process.wait(DEADLINE_S) == 0
    assert seat.state() == "FAILED"
    assert seat.runs()[0]["reason"] == "stopped by hq: enough"
    assert ("info", "stop", "hq: enough") in seat.logs()
    assert seat.world.query("SELECT * FROM orphans") == [], "no stop is left to complete"
    (answer,) = seat.world.query(f"SELECT type FROM messages WHERE in_reply_to = '{sent}'")
    assert answer == ("log",)


def test_an_agent_that_does_not_stop_is_killed(seat: Seat) -> None:
    """An agent that ignores TERM is killed once the grace is over, with all of its group."""
    env = {**os.environ, "GITWORKER_AGENT_STOP_GRACE_S": "1"}
    with seat.running(*STUBBORN, env=env) as process:
        assert process.stdout
        read_until(process.stdout.fileno(), b"ready\n")
        seat.order("stop")
        seat.order("stop", "again")
        assert process.wait(DEADLINE_S) == 137
    (found,) = seat.runs()
    assert found["reason"] == "stopped by hq"
    assert not is_alive(found["pid"])


def test_pause_and_resume(seat: Seat) -> None:
    """A paused agent is stopped, keeps its heartbeat, and resumes at the same point."""
    env = {**os.environ, "GITWORKER_LIVENESS_BEAT_S": "1"}
    script = "trap 'exit 0' USR1; echo ready; while :; do sleep 0.02; done"
    with seat.running("sh", "-c", script, env=env) as process:
        assert process.stdout
        read_until(process.stdout.fileno(), b"ready\n")
        pid = seat.runs()[0]["pid"]
        seat.order("pause", "lunch")
        wait_until(lambda: is_stopped(pid))
        wait_until(lambda: seat.runs()[0]["paused_at_ms"] is not None)
        seat.order("pause", "still")
        wait_until(lambda: len(seat.logs()) == 3)
        (agent,) = json.loads(ok(seat.world.root, "agents", "--json"))["agents"]
        assert (agent["doing"], agent["liveness"]) == ("paused", "OK")
        beats = "SELECT ts_ms FROM heartbeats"
        before = seat.world.query(beats)
        wait_until(lambda: seat.world.query(beats) > before)
        process.send_signal(10)  # USR1: passed on, and a stopped process is let go on to hear it
        assert process.wait(DEADLINE_S) == 0
    assert [event for _, event, _ in seat.logs()] == ["agent_start", "pause", "pause"]


def test_resume_continues_it(seat: Seat) -> None:
    """After resume the agent runs again, and one that was never paused ignores a resume."""
    with seat.running("sh", "-c", "echo ready; read line; exit 4", stdin=-1) as process:
        assert process.stdout
        assert process.stdin
        read_until(process.stdout.fileno(), b"ready\n")
        pid = seat.runs()[0]["pid"]
        seat.order("resume", "early")
        seat.order("pause")
        wait_until(lambda: is_stopped(pid))
        seat.order("resume", "on")
        wait_until(lambda: not is_stopped(pid))
        wait_until(lambda: seat.runs()[0]["paused_at_ms"] is None)
        process.stdin.write(b"go\n")
        process.stdin.close()
        assert process.wait(DEADLINE_S) == 4
        process.stdin = None
    assert seat.runs()[0]["reason"] == "it ended with status 4"


def test_a_signal_ends_a_pause(seat: Seat) -> None:
    """An agent that a signal lets go on is shown as paused no more."""
    script = "trap 'echo heard' USR1; echo ready; while :; do sleep 0.02; done"
    with seat.running("sh", "-c", script) as process:
        assert process.stdout
        read_until(process.stdout.fileno(), b"ready\n")
        seat.order("pause")
        wait_until(lambda: seat.runs()[0]["paused_at_ms"] is not None)
        process.send_signal(10)
        read_until(process.stdout.fileno(), b"heard\n")
        wait_until(lambda: seat.runs()[0]["paused_at_ms"] is None)
        seat.order("stop")


def test_resume_wakes_one_that_stopped_itself(seat: Seat) -> None:
    """A resume continues an agent that has stopped itself."""
    with seat.running("sh", "-c", "kill -STOP $$; exit 4") as process:
        pid = seat.runs()[0]["pid"]
        wait_until(lambda: is_stopped(pid))
        seat.order("resume")
        assert process.wait(DEADLINE_S) == 4


def test_a_paused_agent_can_be_stopped(seat: Seat) -> None:
    """A stop reaches an agent that is paused."""
    with seat.running("sleep", "60") as process:
        pid = seat.runs()[0]["pid"]
        seat.order("pause")
        wait_until(lambda: is_stopped(pid))
        seat.order("stop", "anyway")
        assert process.wait(DEADLINE_S) == 143


def test_only_ones_own_and_later_orders_count(seat: Seat) -> None:
    """Earlier orders, invalid ones, and those to all agents or to others stop no agent."""
    seat.order("stop", "too early")
    with seat.running("sleep", "60") as process:
        seat.world.spawn("docs", "t2")
        root = seat.world.root
        ok(root, "msg", "send", "cmd", '{"command": "stop"}')
        ok(root, "msg", "send", "cmd", '{"command": "stop"}', "--to", "docs")
        ok(root, "msg", "send", "status", '{"command": "stop"}', "--to", "auth")
        seat.order("dance", "please")
        seat.order(None)
        wait_until(lambda: len(seat.logs()) == 3)
        assert seat.logs()[1:] == [
            ("warn", "order", "dance is not an order"),
            ("warn", "order", "nothing is not an order"),
        ]
        assert process.poll() is None


def test_orders_leave_the_agents_messages_alone(seat: Seat) -> None:
    """The supervisor acknowledges orders for itself, and the agent's messages stay unread."""
    root = seat.world.root
    before = run(root, "msg", "poll", "--no-ack", "--as", "auth").lines
    with seat.running("sleep", "60") as process:
        note = ok(root, "msg", "send", "status", '{"phase": "hello"}', "--to", "auth")
        sent = seat.order("stop")
        assert process.wait(DEADLINE_S) == 143
    unread = [m["id"] for m in run(root, "msg", "poll", "--no-ack", "--as", "auth").lines]
    assert unread[: len(before)] == [m["id"] for m in before]
    assert {note, sent} <= set(unread)
    ((seq,),) = seat.world.query(f"SELECT seq FROM messages WHERE id = '{sent}'")
    cursors = dict(seat.world.query("SELECT agent_id, last_acked_seq FROM cursors"))
    assert cursors == {"auth.supervisor": seq}


def test_time_limit(seat: Seat) -> None:
    """An agent that takes longer than its limit is stopped, and that is the reason."""
    answer = seat.exec(f"{COMMIT}; sleep 60", "--time-limit", "0.3")
    assert answer.status == 143
    assert "auth is FAILED: the time limit of 0.3 s was reached" in answer.err
    assert seat.exec("true").status == 1
    assert events(seat) == ["TIMEOUT"]


def test_a_stopped_task_waits_for_an_assignment(seat: Seat) -> None:
    """A stopped task is blocked and not retried until it is assigned again."""
    with seat.running("sleep", "60") as process:
        seat.order("stop", "not now")
        assert process.wait(DEADLINE_S) == 143
    assert seat.world.states("auth", "t1") == ("FAILED", "BLOCKED")
    assert events(seat) == ["ADMIN_STOP"]
    root = seat.world.root
    ok(root, "reset", "auth")
    ok(root, "spawn", "auth", "t1")
    assert seat.world.states("auth", "t1") == ("ASSIGNED", "ASSIGNED")
    assert events(seat) == ["ADMIN_STOP", "ADMIN_RESTART", "ASSIGNED"]
    assert seat.exec(COMMIT).status == 0
    seat.world.require_sound()


def test_a_long_order(seat: Seat) -> None:
    """An order whose payload is too long for the message itself is obeyed as well."""
    with seat.running("sleep", "60") as process:
        seat.order("stop", "y" * 5000)
        assert process.wait(DEADLINE_S) == 143
    assert seat.runs()[0]["reason"].startswith("stopped by hq: yyy")


def events(seat: Seat) -> list[str]:
    """Return the events of the task since its agent began."""
    rows = seat.world.query("SELECT event FROM transitions WHERE machine = 'task' ORDER BY seq")
    names = [str(row[0]) for row in rows]
    return names[names.index("AGENT_STARTED") + 1 :]
