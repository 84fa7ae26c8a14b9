"""Queues of 1,000 and of 100,000 tasks: a tick of a run and the views; a run that only waits."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Failed, Sample, interleave, time_call
from benchmarks.results import Result, compare
from benchmarks.scene import Scene
from gitworker.app import open_session
from gitworker.orchestrator.facts import read_picture
from gitworker.orchestrator.rules_next import Limits, decide

FEW, MANY = 1000, 100_000
READY = 300
IDLE_S = 30.0
IDLE_MIB = 60.0
IDLE_PERCENT = 0.5
TICK_MS = 50.0
COMMANDS = (("task", "ready"), ("status",), ("task", "why", f"t{READY + 1}"))


def measure_tasks(scene: Scene) -> Iterator[Result]:
    """Measure that a tick and the views cost the same among 100,000 tasks."""
    few, many = _queue(scene, "few", FEW), _queue(scene, "many", MANY)
    for command in COMMANDS:
        argv = ("git-worker", *command)
        samples = interleave(
            {
                "many": lambda argv=argv: scene.time(many, *argv),  # type: ignore[misc]
                "few": lambda argv=argv: scene.time(few, *argv),  # type: ignore[misc]
            },
            rounds=scene.count(15),
        )
        yield compare(
            f"`{' '.join(command)}` among {MANY:,} tasks against {FEW:,}",
            ours=(f"git-worker {' '.join(command)} ({MANY:,})", samples["many"]),
            theirs=(f"git-worker {' '.join(command)} ({FEW:,})", samples["few"]),
            at_most=1.3,
        )
    ticks = interleave(
        {"many": lambda: _tick(many), "few": lambda: _tick(few)}, rounds=scene.count(40)
    )
    yield _below("a look and a decision of `run` among 100,000 tasks", ticks["many"], TICK_MS)
    yield _idle(scene)


def _queue(scene: Scene, name: str, number: int) -> Path:
    """Return a repository with tasks of which 300 are READY and the others wait for one."""
    root = scene.small_repository(name)
    lines = [
        {"id": f"t{index}", "title": f"Task {index}", "needs": ["t0"] if index > READY else []}
        for index in range(number)
    ]
    plan = scene.folder / f"{name}.jsonl"
    plan.write_text("\n".join(map(json.dumps, lines)) + "\n")
    scene.worker(root, "task", "import", str(plan))
    scene.settle()
    return root


def _tick(root: Path) -> float:
    """Return the milliseconds of the reads and of the decision of one tick."""
    before = os.getcwd()
    os.chdir(root)
    try:
        session = open_session(identity=None)
    finally:
        os.chdir(before)

    def look() -> None:
        picture = read_picture(session, "command", agents=4, skipped={}, refused={}, tested={})
        limits = Limits(4, lands=True, rounds=3)
        plan = decide(picture.facts, limits, agent="command", now=0)
        assert len(plan.actions) == 4

    return time_call(look)


def _below(name: str, sample: Sample, most_ms: float) -> Result:
    figure = f"{sample.median:.1f} ms"
    return Result(name, f"≤ {most_ms:g} ms", sample.median <= most_ms, figure)


def _idle(scene: Scene) -> Result:
    """Return the processor time and the memory of a run whose only agent does nothing."""
    root = scene.small_repository("idle")
    scene.worker(root, "task", "add", "idle", "--title", "Wait")
    argv = ["git-worker", "run", "-j", "1", "--", "sleep", str(IDLE_S * 2)]
    run = subprocess.Popen(
        argv, cwd=root, env=dict(scene.env), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        time.sleep(5)  # until its agent has begun
        before = _ticks(run.pid)
        time.sleep(IDLE_S)
        used_s = (_ticks(run.pid) - before) / os.sysconf("SC_CLK_TCK")
        status = Path(f"/proc/{run.pid}/status").read_text()
    except OSError as error:
        raise Failed(f"the run ended early: {error}") from error
    finally:
        run.terminate()
        run.terminate()
        run.wait()
    mib = int(status.partition("VmRSS:")[2].split()[0]) / 1024
    percent = 100 * used_s / IDLE_S
    return Result(
        "a run that waits for an agent: processor and memory",
        f"< {IDLE_PERCENT:g} %, < {IDLE_MIB:g} MiB", percent < IDLE_PERCENT and mib < IDLE_MIB,
        f"{percent:.2f} %, {mib:.0f} MiB", our_command=" ".join(argv),
    )  # fmt: skip


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
