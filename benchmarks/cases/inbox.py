"""The bytes that a new worker reads after many tasks of others: its inbox against a whole poll."""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import run
from benchmarks.results import Result
from benchmarks.scene import Scene, commit

TASKS = 200
SHARE = 0.001  # of the messages of 200 tasks: one assignment is for the worker


def measure_inbox(scene: Scene) -> Iterator[Result]:
    """Land many tasks, then spawn a worker and measure the output that it and a stranger read."""
    root = scene.small_repository("repo")
    for number in range(TASKS):
        _hand_in(scene, root, number)
    names = [f"worker-{number}" for number in range(TASKS)]
    scene.worker(root, "approve", *names)
    scene.worker(root, "merge", "--all")
    worktree = scene.spawn(root, "late", "late-task")
    whole = _bytes(scene, root, "msg", "poll", "--limit", "100000", "--no-ack", "--as", "stranger")
    polled = _bytes(scene, worktree, "msg", "poll", "--no-ack")
    inbox = _bytes(scene, worktree, "inbox")
    again = _bytes(scene, worktree, "inbox")
    yield Result(
        f"bytes that a new worker's `inbox` prints after {TASKS} landed tasks of others",
        f"≤ {SHARE:g} ×",
        inbox <= SHARE * whole and again == 0,
        f"{inbox / whole:.6f} ×",
        f"{inbox:,} bytes, then {again}",
        f"{whole:,} bytes",
        "git-worker inbox (of a new worker)",
        "git-worker msg poll --limit 100000 (of an agent whose cursor is at the start of the bus)",
        note=f"`msg poll` of the new worker prints {polled:,} bytes",
    )


def _hand_in(scene: Scene, root: Path, number: int) -> None:
    worktree = scene.spawn(root, f"worker-{number}", f"task-{number}")
    scene.worker(worktree, "start")
    commit(scene, worktree, f"new-{number}", message=f"Work {number}")
    scene.worker(worktree, "done")


def _bytes(scene: Scene, cwd: Path, *words: str) -> int:
    """Return the size of a command's output, its last line end included."""
    text = run(["git-worker", *words], cwd, scene.env)
    return len(text.encode()) + 1 if text else 0
