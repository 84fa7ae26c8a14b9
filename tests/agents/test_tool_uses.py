"""The tool calls of an agent are messages, in a bounded number and without secrets."""

from types import SimpleNamespace
from typing import Any

from gitworker.agents.adapters.tool_uses import ToolUses, publish_tool_uses
from gitworker.agents.run_heartbeats import RunHeartbeats
from gitworker.observe.inbox.read_inbox import read_inbox
from gitworker.observe.logs.events import read_newest_events, read_worker_events
from gitworker.store.sqlite.write_gate import WriteGate
from tests.agents.supervised import SupervisedWorker
from tests.agents.test_adapters import own_agent
from tests.cli.kit import run
from tests.workers.world import wait_until

KEY = "sk-" + "a1b2c3d4" * 4


def heartbeats(auth: SupervisedWorker, tools: ToolUses) -> RunHeartbeats:
    """Return the heartbeats of a run of the worker, one now and none for an hour."""
    post: Any = SimpleNamespace(paths=auth.world.session().paths)
    started: Any = SimpleNamespace(worker="auth", task="t1", id=1)
    return RunHeartbeats(post, started, every_s=3600, tools=tools)


def test_many_calls_are_one_message(auth: SupervisedWorker) -> None:
    """A heartbeat publishes one message for all calls, without secrets, and cut."""
    tools = ToolUses()
    for number in range(300):
        tools.add(f"$ echo {number}")
    tools.add(f"$ deploy --token {KEY} " + "x" * 500)
    beats = heartbeats(auth, tools)
    beats.start()
    wait_until(lambda: tools.pending[0] == 0)
    beats.stop()
    (message,) = auth.world.messages("tool_use")
    assert message["count"] == 301
    assert len(message["calls"]) == 10
    assert message["message"].startswith("$ deploy --token [redacted] xxx")
    assert len(message["message"]) == 200


def test_a_busy_bus_loses_no_call(auth: SupervisedWorker) -> None:
    """Calls that could not be published wait for the next heartbeat, and the pump never waits."""
    tools = ToolUses()
    beats = heartbeats(auth, tools)
    gate = WriteGate(f"{auth.world.session().paths.database}-gate")
    gate.__enter__()
    try:
        beats.start()
        tools.add("$ make")
        assert tools.pending == (1, ["$ make"])
    finally:
        gate.__exit__()
    beats.pause()
    beats.start()
    wait_until(lambda: tools.pending[0] == 0)
    beats.stop()
    assert [one["count"] for one in auth.world.messages("tool_use")] == [1]


def test_views_stay_readable(auth: SupervisedWorker) -> None:
    """Tool calls push nothing out of `inbox`, `status` and `show`; `log` shows them."""
    session, tools = auth.world.session(), ToolUses()
    for number in range(30):
        tools.add(f"$ echo {number}")
        with session.store.write() as writer:
            tools.settle(publish_tool_uses(writer, tools, worker="auth", task="t1", run=1))
    assert read_inbox(session).items == ()
    with session.store.read() as reader:
        shown = read_newest_events(reader, 10) + read_worker_events(
            reader, worker="auth", task="t1", limit=10, with_tools=False
        )
        logged = read_worker_events(reader, worker="auth", task="t1", limit=10)
    assert shown
    assert "tool_use" not in {event.name for event in shown}
    assert [event.name for event in logged] == ["tool_use"] * 10


def test_calls_of_a_run(auth: SupervisedWorker) -> None:
    """The calls of an agent are published with its end at the latest."""
    program = own_agent(auth)
    call = (
        '{"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Bash",'
        ' "input": {"command": "make"}}]}}'
    )
    program.write_text(f"#!/bin/sh\ncat >/dev/null\necho '{call}'\n")
    run(auth.world.root, "exec", "auth", "--agent", "own", "-m", "Go")
    messages = auth.world.messages("tool_use")
    assert [one["message"] for one in messages] == ["$ make"]
