"""Every verb in every state of a worker, with the real program, against a golden table."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gitworker import clock
from gitworker.bus.drain import drain
from gitworker.lifecycle.fail import fail
from gitworker.lifecycle.moves import advance
from gitworker.model.worker import WorkerEvent
from gitworker.workers.cancel import cancel
from gitworker.workers.review import reject
from tests.cli.kit import plain, run
from tests.workers.world import World

GOLDEN = Path(__file__).parent / "golden"
PID = str(os.getpid())
VERBS: dict[str, tuple[str, ...]] = {
    "start": ("start", "{}", "--pid", PID),
    "exec": ("exec", "{}", "--", "true"),
    "resume": ("resume", "{}", "--pid", PID),
    "heartbeat": ("heartbeat", "{}"),
    "sync": ("sync", "--as", "{}"),
    "done": ("done", "{}"),
    "fail": ("fail", "{}", "-m", "No"),
    "approve": ("approve", "{}"),
    "reject": ("reject", "{}", "-m", "No"),
    "merge": ("merge", "{}"),
    "land": ("land", "{}"),
    "cancel": ("cancel", "{}"),
    "reset": ("reset", "{}"),
    "recycle": ("recycle", "{}"),
    "recover": ("recover", "{}"),
    "assign": ("assign", "{}", "next-{}"),
    "spawn": ("spawn", "{}", "next-{}"),
}
TWICE = ("start", "done", "fail", "approve", "reject", "cancel", "reset", "recycle", "recover")
Stage = Callable[[World, str], None]


def assigned(world: World, name: str) -> None:
    """Give a worker a task."""
    world.spawn(name, f"t-{name}")


def working(world: World, name: str) -> None:
    """Let a worker commit."""
    world.working(name, f"t-{name}", {name: "1\n"})


def in_review(world: World, name: str) -> None:
    """Let a worker hand its work in."""
    world.in_review(name, f"t-{name}", {name: "1\n"})


def approved(world: World, name: str) -> None:
    """Approve a worker's work."""
    world.approved(name, f"t-{name}", {name: "1\n"})


def completed(world: World, name: str) -> None:
    """Land a worker's work."""
    approved(world, name)
    world.land(name)


def idle(world: World, name: str) -> None:
    """Cancel a worker's task."""
    working(world, name)
    cancel(world.session(), name)


def failed(world: World, name: str) -> None:
    """Let a worker fail."""
    working(world, name)
    fail(world.session(), name, reason="no network")


def returned(world: World, name: str) -> None:
    """Request changes of a worker's work."""
    in_review(world, name)
    reject(world.session(), name, note="more tests")


def stale(world: World, name: str) -> None:
    """Let a worker at work become stale."""
    working(world, name)
    _make_stale(world, name, WorkerEvent.HEARTBEAT_TIMEOUT)


def stale_in_review(world: World, name: str) -> None:
    """Let a worker in review become stale."""
    in_review(world, name)
    _make_stale(world, name, WorkerEvent.REVIEW_TIMEOUT)


def _make_stale(world: World, name: str, event: WorkerEvent) -> None:
    """Fire the time-out one second from now: later than the heartbeat of the worker's commit."""
    drain(world.session())
    worker = world.worker(name)
    with pytest.MonkeyPatch.context() as patched, world.session().store.write() as writer:
        patched.setenv("GITWORKER_CLOCK_MS", str(clock.now_ms() + 1000))
        writer.run("workers.set_stale_from", worker=name, stale_from=worker.state)
        advance(writer, worker, event, actor="hq")


STAGES: tuple[Stage, ...] = (
    idle, assigned, working, returned, in_review, approved, stale, stale_in_review, failed,
    completed,
)  # fmt: skip


def answered(world: World, words: list[str]) -> str:
    """Return a command with its status and output, as the table shows it."""
    answer = run(world.root, *words)
    shown = " ".join("PID" if word == PID else word for word in words)
    lines = [f"$ git worker {shown}", f"status {answer.status}"]
    for mark, text in (("out", answer.out), ("err", answer.err)):
        text = re.sub(r"process \d+", "process <pid>", plain(text, world.root))
        lines += [f"{mark} {line}" for line in text.splitlines()]
    return "\n".join(lines)


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.__name__)
def test_verbs(quiet: World, stage: Stage) -> None:
    """A verb in a state has this status, output and hint; no event and no pair is named."""
    parts = []
    for verb, words in VERBS.items():
        name = f"w-{verb}"
        stage(quiet, name)
        filled = [word.format(name) for word in words]
        parts += [answered(quiet, filled) for _ in range(1 + (verb in TWICE))]
    found = "\n\n".join(parts) + "\n"
    assert "Invalid transition" not in found
    assert not re.search(r"\((IDLE|ASSIGNED|WORKING|IN_REVIEW|STALE|FAILED)", found)
    path = GOLDEN / f"{stage.__name__}.txt"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text(found)
        pytest.fail(f"{path} was missing and is written now: read it, then commit it")
    assert found == path.read_text(), f"delete {path} and run this test to write it again"
