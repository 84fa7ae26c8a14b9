"""Secrets of an agent reach neither the bus nor its log, but the agent gets them."""

from pathlib import Path

from tests.agents.supervised import SupervisedWorker
from tests.cli.kit import ok
from tests.workers.world import World

SECRET = "sk-ant-abcdefghijklmnopqrstuvwxyz"


def test_a_secret_in_a_command_and_its_output(auth: SupervisedWorker) -> None:
    """The caller sees the output as it is; the database, its export and the log do not."""
    script = f': --api-key {SECRET}; printf "KEY=$A"; printf "$B end"'
    answer = auth.exec(script, env={"A": SECRET[:9], "B": SECRET[9:]})
    assert f"KEY={SECRET} end" in answer.out
    assert auth.log.read_text() == "KEY=[redacted] end"
    command = auth.runs()[0]["command"]
    assert SECRET[:9] not in command
    ok(auth.world.root, "msg", "export", "--git")
    stored = auth.world.git("log", "-p", "refs/worker/log") + repr(auth.world.rows())
    assert SECRET[9:] not in stored
    assert SECRET[:9] not in stored


def test_a_secret_in_a_task(tmp_path: Path) -> None:
    """The message about a task is without its secret; the prompt of its agent has it."""
    world = World.make(tmp_path / "repo")
    world.spawn("auth", "t1", title="Use a key", text=f"Call it with {SECRET}")
    (assigned,) = world.messages("task_assign")
    assert assigned["text"] == "Call it with [redacted]"
    assert SECRET in ok(world.root, "task", "text", "t1")
