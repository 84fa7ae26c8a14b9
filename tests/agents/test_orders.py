"""Orders to a supervisor by `cmd` messages, and the time limit."""

import json
import os
import signal
import time

import pytest

from tests.agents.supervised import COMMIT, SupervisedWorker, is_alive, is_stopped, read_until
from tests.cli.kit import DEADLINE_S, Answer, ok, run
from tests.hints.following import note
from tests.workers.world import wait_until

AGENT = ("sh", "-c", "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done")
STUBBORN = ("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done")


@pytest.mark.parametrize("key", ["command", "action"])
def test_stop(auth: SupervisedWorker, key: str) -> None:
    """A stop ends the agent by TERM and fails the task with the reason, whatever it ends with."""
    with auth.running(*AGENT) as process:
        assert process.stdout
        read_until(process.stdout.fileno(), b"ready\n")
        sent = auth.order("stop", "enough", key=key)
        assert process.stdout.read() == b"bye\n"
        assert process.wait(DEADLINE_S) == 0
    assert auth.state() == "FAILED"
    assert auth.runs()[0]["reason"] == "stopped by hq: enough"
    assert ("info", "stop", "hq: enough") in auth.logs()
    assert auth.world.query("SELECT * FROM orphans") == [], "no stop is left to complete"
    (answer,) = auth.world.query(f"SELECT type FROM messages WHERE in_reply_to = '{sent}'")
    assert answer == ("log",)


def test_an_agent_that_does_not_stop_is_killed(auth: SupervisedWorker) -> None:
    """An agent that ignores TERM is killed once the grace of now is over, with all of its group."""
    root = auth.world.root
    ok(root, "config", "agent.stop_grace_s", "600")
    with auth.running(*STUBBORN) as process:
        assert process.stdout
        read_until(process.stdout.fileno(), b"ready\n")
        ok(root, "config", "agent.stop_grace_s", "1")
        auth.order("stop")
        auth.order("stop", "again")
        assert process.wait(DEADLINE_S) == 137
    (found,) = auth.runs()
    assert found["reason"] == "stopped by hq"
    assert not is_alive(found["pid"])


def test_a_changed_interval(auth: SupervisedWorker) -> None:
    """A running supervisor takes a changed interval of heartbeats, long before the old one ends."""
    ok(auth.world.root, "config", "liveness.beat_s", "600")
    with auth.running("sh", "-c", "echo ready; exec sleep 60") as process:
        assert process.stdout
        read_until(process.stdout.fileno(), b"ready\n")
        first = last_heartbeat(auth)
        ok(auth.world.root, "config", "liveness.beat_s", "1")
        wait_until(lambda: last_heartbeat(auth) > first)


def last_heartbeat(auth: SupervisedWorker) -> int:
    """Return the time of the worker's last heartbeat."""
    ((ts_ms,),) = auth.world.query("SELECT ts_ms FROM heartbeats WHERE agent_id = 'auth'")
    return int(ts_ms)


def test_pause_and_resume(auth: SupervisedWorker) -> None:
    """A paused agent is stopped, keeps its heartbeat, and resumes at the same point."""
    env = {**os.environ, "GITWORKER_LIVENESS_BEAT_S": "1"}
    script = "trap 'exit 0' USR1; echo ready; while :; do sleep 0.02; done"
    with auth.running("sh", "-c", script, env=env) as process:
        assert process.stdout
        read_until(process.stdout.fileno(), b"ready\n")
        pid = auth.runs()[0]["pid"]
        auth.order("pause", "lunch")
        wait_until(lambda: is_stopped(pid))
        wait_until(lambda: auth.runs()[0]["paused_at_ms"] is not None)
        auth.order("pause", "still")
        wait_until(lambda: len(auth.logs()) == 3)
        (agent,) = json.loads(ok(auth.world.root, "agents", "--json"))["agents"]
        assert (agent["doing"], agent["liveness"]) == ("paused", "OK")
        beats = "SELECT ts_ms FROM heartbeats"
        before = auth.world.query(beats)
        wait_until(lambda: auth.world.query(beats) > before)
        process.send_signal(10)  # USR1: passed on, and a stopped process is let go on to hear it
        assert process.wait(DEADLINE_S) == 0
    assert [event for _, event, _ in auth.logs()] == ["agent_start", "pause", "pause"]


def test_resume_continues_it(auth: SupervisedWorker) -> None:
    """After resume the agent runs again, and one that was never paused ignores a resume."""
    with auth.running("sh", "-c", "echo ready; read line; exit 4", stdin=-1) as process:
        assert process.stdout
        assert process.stdin
        read_until(process.stdout.fileno(), b"ready\n")
        pid = auth.runs()[0]["pid"]
        auth.order("resume", "early")
        auth.order("pause")
        wait_until(lambda: is_stopped(pid))
        auth.order("resume", "on")
        wait_until(lambda: not is_stopped(pid))
        wait_until(lambda: auth.runs()[0]["paused_at_ms"] is None)
        process.stdin.write(b"go\n")
        process.stdin.close()
        assert process.wait(DEADLINE_S) == 4
        process.stdin = None
    assert auth.runs()[0]["reason"] == "it ended with status 4"


def assert_paused(auth: SupervisedWorker) -> None:
    """Require that every view shows a paused agent and the command that continues it."""
    root, command = auth.world.root, "git worker continue auth"
    shown = json.loads(ok(root, "show", "auth", "--json"))
    assert (shown["trouble"]["code"], shown["next"]) == ("paused", command)
    status = ok(root, "status")
    assert "the agent of auth is paused" in status
    assert f"→ {command}" in status
    (need,) = json.loads(ok(root, "inbox", "--json"))["items"]
    assert (need["kind"], need["text"], need["command"]) == (
        "paused",
        "its agent is paused",
        command,
    )
    waited = run(root, "wait", "auth", "--timeout", "0")
    assert waited.err.startswith(f"the agent of auth is paused; to continue it: {command}\n")


def test_verbs_reach_the_agent(auth: SupervisedWorker) -> None:
    """pause, continue and stop act on a supervised agent, and leave its inbox empty."""
    root = auth.world.root
    ok(root, "inbox", "--as", "auth")
    with auth.running("sh", "-c", "echo ready; while :; do sleep 0.02; done") as process:
        assert process.stdout
        read_until(process.stdout.fileno(), b"ready\n")
        pid = auth.runs()[0]["pid"]
        paused = "sent pause to the agent of auth; next: git worker continue auth\n"
        assert run(root, "pause", "auth", "-m", "lunch") == Answer(0, paused, "")
        wait_until(lambda: is_stopped(pid))
        wait_until(lambda: auth.runs()[0]["paused_at_ms"] is not None)
        assert_paused(auth)
        sent = "sent continue to the agent of auth; next: git worker show auth"
        assert ok(root, "continue", "auth") == sent
        wait_until(lambda: not is_stopped(pid))
        note("git worker continue auth", paused)
        ok(root, "stop", "t1", "-m", "enough")
        assert process.wait(DEADLINE_S) == 143
    assert auth.runs()[0]["reason"] == "stopped by hq: enough"
    assert run(root, "inbox", "--as", "auth").out == ""
    before = len(auth.world.messages("cmd"))
    answer = run(root, "stop", "auth")
    nothing = "no agent of auth is running, so nothing was sent; next: git worker resume auth\n"
    assert answer == Answer(0, nothing, "")
    assert run(root, "stop", "auth", "--json").document["id"] is None
    assert len(auth.world.messages("cmd")) == before


@pytest.mark.parametrize("age_s", [85, 300])
def test_an_agent_of_an_earlier_boot(auth: SupervisedWorker, age_s: int) -> None:
    """After a reboot no order is sent; the answer names the command that continues the work."""
    world = auth.world
    ok(world.root, "exec", "auth", "-d", "--", "sleep", "600")
    ((agent, supervisor),) = world.query("SELECT pid, supervisor_pid FROM runs")
    for pid in (supervisor, agent):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not (is_alive(agent) or is_alive(supervisor)))
    store = world.session().store
    for table in ("runs", "workers"):
        store.execute(f"UPDATE {table} SET boot_id = 'earlier'")  # type: ignore[attr-defined]
    store.execute(  # type: ignore[attr-defined]
        f"UPDATE heartbeats SET ts_ms = {int(time.time() * 1000) - age_s * 1000}"
    )
    for verb in ("stop", "pause", "continue"):
        answer = run(world.root, verb, "auth")
        begin = "the agent of auth was a process of an earlier boot of this machine, so nothing was"
        assert (answer.status, answer.err) == (0, ""), answer
        assert answer.out.startswith(f"{begin} sent; next: "), answer
        assert answer.out.endswith("git worker resume auth\n")
        assert ("next: sleep " in answer.out) is (age_s == 85)
    assert world.messages("cmd") == []
    assert run(world.root, "stop", "auth", "--json").document["id"] is None


def test_cancel_names_the_stop(auth: SupervisedWorker) -> None:
    """A worker whose agent runs cannot be cancelled; the hint ends the agent."""
    root = auth.world.root
    with auth.running("sleep", "600") as process:
        refused = run(root, "cancel", "auth")
        assert refused.status == 1
        hint = "git worker stop auth"
        assert refused.err.endswith(f"hint: {hint}   # and run the command again\n")
        ok(root, *hint.split()[2:])
        assert process.wait(DEADLINE_S) == 143
    ok(root, "cancel", "auth")


def test_a_signal_ends_a_pause(auth: SupervisedWorker) -> None:
    """An agent that a signal lets go on is shown as paused no more."""
    script = "trap 'echo heard' USR1; echo ready; while :; do sleep 0.02; done"
    with auth.running("sh", "-c", script) as process:
        assert process.stdout
        read_until(process.stdout.fileno(), b"ready\n")
        auth.order("pause")
        wait_until(lambda: auth.runs()[0]["paused_at_ms"] is not None)
        process.send_signal(10)
        read_until(process.stdout.fileno(), b"heard\n")
        wait_until(lambda: auth.runs()[0]["paused_at_ms"] is None)
        auth.order("stop")


def test_resume_wakes_one_that_stopped_itself(auth: SupervisedWorker) -> None:
    """A resume continues an agent that has stopped itself."""
    with auth.running("sh", "-c", "kill -STOP $$; exit 4") as process:
        pid = auth.runs()[0]["pid"]
        wait_until(lambda: is_stopped(pid))
        auth.order("resume")
        assert process.wait(DEADLINE_S) == 4


def test_a_paused_agent_can_be_stopped(auth: SupervisedWorker) -> None:
    """A stop reaches an agent that is paused."""
    with auth.running("sleep", "60") as process:
        pid = auth.runs()[0]["pid"]
        auth.order("pause")
        wait_until(lambda: is_stopped(pid))
        auth.order("stop", "anyway")
        assert process.wait(DEADLINE_S) == 143


def test_only_ones_own_and_later_orders_count(auth: SupervisedWorker) -> None:
    """Earlier orders, invalid ones, and those to all agents or to others stop no agent."""
    auth.order("stop", "too early")
    with auth.running("sleep", "60") as process:
        auth.world.spawn("docs", "t2")
        root = auth.world.root
        auth.foreign_order({"command": "stop"}, to=None)
        ok(root, "msg", "send", "cmd", '{"command": "stop"}', "--to", "docs")
        ok(root, "msg", "send", "status", '{"command": "stop"}', "--to", "auth")
        auth.foreign_order({"command": "dance", "reason": "please"}, to="auth")
        auth.order(None)
        wait_until(lambda: len(auth.logs()) == 3)
        assert auth.logs()[1:] == [
            ("warn", "order", "dance is not an order"),
            ("warn", "order", "nothing is not an order"),
        ]
        assert process.poll() is None


def test_orders_leave_the_agents_messages_alone(auth: SupervisedWorker) -> None:
    """The supervisor acknowledges orders for itself, and the agent's messages stay unread."""
    root = auth.world.root
    before = run(root, "msg", "poll", "--no-ack", "--as", "auth").lines
    with auth.running("sleep", "60") as process:
        note = ok(root, "msg", "send", "status", '{"phase": "hello"}', "--to", "auth")
        sent = auth.order("stop")
        assert process.wait(DEADLINE_S) == 143
    unread = [m["id"] for m in run(root, "msg", "poll", "--no-ack", "--as", "auth").lines]
    assert unread[: len(before)] == [m["id"] for m in before]
    assert {note, sent} <= set(unread)
    ((seq,),) = auth.world.query(f"SELECT seq FROM messages WHERE id = '{sent}'")
    cursors = dict(auth.world.query("SELECT agent_id, last_acked_seq FROM cursors"))
    assert cursors == {"auth": before[0]["seq"] - 1, "auth.supervisor": seq}


def test_time_limit(auth: SupervisedWorker) -> None:
    """An agent that takes longer than its limit is stopped, and that is the reason."""
    answer = auth.exec(f"{COMMIT}; sleep 60", "--time-limit", "0.3")
    assert answer.status == 143
    assert "auth has failed: the time limit of 0.3 s was reached" in answer.err
    assert events(auth) == ["TIMEOUT"]
    assert auth.exec("true").status == 0  # the next agent continues


def test_a_stopped_task_waits_for_an_assignment(auth: SupervisedWorker) -> None:
    """A stopped task is blocked and not retried until it is assigned again."""
    with auth.running("sleep", "60") as process:
        auth.order("stop", "not now")
        assert process.wait(DEADLINE_S) == 143
    assert auth.world.states("auth", "t1") == ("FAILED", "BLOCKED")
    assert events(auth) == ["ADMIN_STOP"]
    root = auth.world.root
    ok(root, "reset", "auth")
    ok(root, "spawn", "auth", "t1")
    assert auth.world.states("auth", "t1") == ("ASSIGNED", "ASSIGNED")
    assert events(auth) == ["ADMIN_STOP", "ADMIN_RESTART", "ASSIGNED"]
    assert auth.exec(COMMIT).status == 0
    auth.world.require_sound()


def test_a_long_order(auth: SupervisedWorker) -> None:
    """An order whose payload is too long for the message itself is obeyed as well."""
    with auth.running("sleep", "60") as process:
        auth.order("stop", "y" * 5000)
        assert process.wait(DEADLINE_S) == 143
    assert auth.runs()[0]["reason"].startswith("stopped by hq: yyy")


def events(auth: SupervisedWorker) -> list[str]:
    """Return the events of the task since its agent began."""
    rows = auth.world.query("SELECT event FROM transitions WHERE machine = 'task' ORDER BY seq")
    names = [str(row[0]) for row in rows]
    return names[names.index("AGENT_STARTED") + 1 :]


def test_a_wait_without_an_agent(auth: SupervisedWorker) -> None:
    """A wait ends at once if the agent has ended and handed nothing in, and names the next step."""
    root = auth.world.root
    auth.exec("true")
    waited = run(root, "wait", "auth", "--for", "landed")
    assert waited.status == 1
    assert waited.err.startswith(
        "error: worker auth does not continue: its agent ended without handing anything in\n"
        "hint: git worker resume auth "
    )
    assert ok(root, "wait", "auth") == "auth is at work, and its agent has ended"
    question = ("x-question", '{"question": "Which port?"}', "--to", "hq", "--correlation", "t1")
    ok(root, "--as", "auth", "msg", "send", *question)
    (seq,) = auth.world.query("SELECT MAX(seq) FROM messages WHERE type = 'x-question'")[0]
    waited = run(root, "wait", "auth", "--for", "landed")
    assert waited.err == (
        "error: worker auth does not continue: its agent ended and waits for an answer:"
        " Which port?\n"
        f"hint: git worker send auth --reply-to {seq} <text>   # then: git worker resume auth\n"
    )
