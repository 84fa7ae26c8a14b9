"""Whole programs with short times: returned work waits, other work expires by one rule."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.kit import PROGRAM, ok, run
from tests.workers.conftest import world
from tests.workers.world import World, wait_until

__all__ = ["world"]

TIMES = {"beat-s": 1, "stale-s": 2, "dead-s": 3, "expire-s": 5}
COMMIT = "echo {text} >{file} && git add {file} && git commit -qm Work"
RETURNED = {
    "sent": "changes_requested", "clash": "merge_conflict", "bad": "verify_failed",
    "undone": "withdrawn",
}  # fmt: skip


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that lives as long as the test."""
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def set_times(world: World, *, short: bool) -> None:
    """Shorten the times of liveness, or return to the defaults."""
    for name, value in TIMES.items():
        words = (
            (f"worker.liveness.{name}", str(value))
            if short
            else ("--unset", f"worker.liveness.{name}")
        )
        world.git("config", *words)


def handed_in(world: World, worker: str, file: str, text: str = "x") -> None:
    """Let an agent commit one file; its end hands the work in."""
    ok(world.root, "spawn", worker, f"t-{worker}")
    ok(world.root, "exec", worker, "--", "sh", "-c", COMMIT.format(file=file, text=text))


def send_all_back(world: World) -> None:
    """Bring four workers back to WORKING, one for each reason."""
    world.git("config", "worker.verify.commands", "test ! -e bad")
    for worker, file in (("sent", "a"), ("clash", "README"), ("bad", "bad")):
        handed_in(world, worker, file)
    ok(world.root, "reject", "sent", "-m", "A test is missing")
    world.advance({"README": "theirs\n"})
    assert run(world.root, "approve", "clash").status == 3
    ok(world.root, "spawn", "undone", "t-undone")
    ok(world.root, "exec", "undone", "--", "true")
    world.commit("undone", {"b": "1\n"})
    ok(world.root, "cancel", "undone")
    ok(world.root, "undo")
    ok(world.root, "approve", "bad")
    assert run(world.root, "merge", "bad").status == 1


def workers(world: World) -> dict[str, dict[str, Any]]:
    """Return the workers of `status --json` by name; every call applies what is due."""
    document = json.loads(ok(world.root, "status", "--json"))
    return {one["worker"]: one for one in document["workers"]}


def states(world: World, *names: str) -> list[str]:
    """Return the states of workers."""
    found = workers(world)
    return [found[name]["state"] for name in names]


def kill_agent(world: World, worker: str) -> None:
    """Start an agent, and kill it together with its supervisor."""
    ok(world.root, "spawn", worker, f"t-{worker}")
    command = [PROGRAM, "exec", worker, "--", "sleep", "600"]
    supervisor = subprocess.Popen(command, cwd=world.root, stderr=subprocess.DEVNULL)
    running = f"SELECT pid FROM runs WHERE worker_id = '{worker}' AND pid IS NOT NULL"
    wait_until(lambda: bool(world.query(running)))
    ((agent,),) = world.query(running)
    supervisor.send_signal(signal.SIGKILL)
    os.kill(agent, signal.SIGKILL)
    supervisor.wait()


def test_returned_work_waits_and_other_work_expires(
    world: World, sleeper: "subprocess.Popen[bytes]"
) -> None:
    """Four returned workers outlive every time limit; a dead and a silent agent expire."""
    send_all_back(world)
    ok(world.root, "spawn", "mute", "t-mute")
    ok(world.root, "start", "mute", "--pid", str(sleeper.pid))
    kill_agent(world, "gone")
    set_times(world, short=True)
    wait_until(lambda: states(world, "gone", "mute") == ["FAILED", "FAILED"])
    found = workers(world)
    assert {name: found[name]["state"] for name in RETURNED} == dict.fromkeys(RETURNED, "WORKING")
    assert {name: found[name]["returned"]["by"] for name in RETURNED} == RETURNED
    assert [found[name]["task_status"] for name in ("gone", "mute")] == ["READY", "BLOCKED"]
    assert world.task("t-gone").recovery_count == 1
    assert world.task("t-gone").retry_count == 0
    set_times(world, short=False)
    continue_each(world)
    assert set(states(world, *RETURNED, "gone", "mute")) == {"IN_REVIEW"}
    assert world.task("t-gone").recovery_count == 0


def continue_each(world: World) -> None:
    """Let each author go on by the command that the screens name."""
    clash = world.path("clash")
    assert workers(world)["clash"]["returned"]["files"] == ["README"]
    assert run(clash, "done").status == 3
    assert run(clash, "sync").status == 3
    (clash / "README").write_text("both\n")
    world.git("add", "README", cwd=clash)
    ok(clash, "sync", "--continue")
    world.git("rm", "-q", "bad", cwd=world.path("bad"))
    for name in ("sent", "bad", "gone", "mute"):
        if name in ("gone", "mute"):
            ok(world.path(name), "resume", name)
        world.commit(name, {f"more-{name}": "1\n"})
    for name in (*RETURNED, "gone", "mute"):
        ok(world.path(name), "done")


def test_an_author_who_came_back_can_expire(world: World) -> None:
    """Once its author has committed, the silence of returned work counts as that of any other."""
    handed_in(world, "sent", "a")
    ok(world.root, "reject", "sent", "-m", "A test is missing")
    set_times(world, short=True)
    world.commit("sent", {"more": "1\n"})
    seen = set()
    wait_until(lambda: seen.add(*states(world, "sent")) or "FAILED" in seen)
    assert seen - {"STALE"} == {"WORKING", "FAILED"}
    assert (world.task("t-sent").status, world.task("t-sent").recovery_count) == ("READY", 1)


def test_recoveries_in_a_row_are_limited(world: World) -> None:
    """A task whose agents die is recovered `task.max-retries` times, then it is BLOCKED."""
    world.git("config", "worker.task.max-retries", "1")
    kill_agent(world, "gone")
    for status in ("READY", "BLOCKED"):
        set_times(world, short=True)
        wait_until(lambda: states(world, "gone") == ["FAILED"])
        assert world.task("t-gone").status == status
        set_times(world, short=False)
        process = subprocess.Popen(["sleep", "600"])
        ok(world.root, "start", "gone", "--pid", str(process.pid))
        process.kill()
        process.wait()
