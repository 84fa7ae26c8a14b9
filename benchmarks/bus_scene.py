"""Helpers of the bus's benchmarks: a bus without a repository, processes started together."""

import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.measure import Failed, Sample
from benchmarks.results import Result, shown
from benchmarks.scene import Scene
from gitworker.app import DIRECTORIES
from gitworker.store.sqlite.migrate import create_database

JOBS = (sys.executable, "-m", "benchmarks.bus_jobs")
ROOT = Path(__file__).resolve().parents[1]
DEADLINE_S = 300
# The benchmarks do not measure our limits on rate and unread messages.
UNLIMITED = {"GITWORKER_MESSAGE_MAX_RATE": "0", "GITWORKER_MESSAGE_MAX_UNREAD": "0"}


def new_bus(folder: Path) -> Path:
    """Make a state directory with an empty bus in it and return it."""
    for name in DIRECTORIES:
        (folder / name).mkdir(parents=True)
    create_database(f"{folder}/bus.db").close()
    return folder


@contextmanager
def started(
    scene: Scene, *commands: Sequence[str], **env: str
) -> Iterator[list["subprocess.Popen[str]"]]:
    """Start processes, wait until they print `ready`, and end them after the block."""
    environment = {**scene.env, "PYTHONPATH": str(ROOT), **env}
    processes = [
        subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for command in commands
    ]
    try:
        for process in processes:
            if line_of(process) != "ready":
                raise Failed(f"{' '.join(map(str, process.args))}: it did not begin")  # type: ignore[arg-type]
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def line_of(process: "subprocess.Popen[str]") -> str:
    """Return the next line that a process prints; empty at its end."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def together(processes: "list[subprocess.Popen[str]]") -> tuple[list[list[float]], float]:
    """Start ready processes; return the output of each, and the seconds until all had answered."""
    begun = time.perf_counter()
    for process in processes:
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended: its answer shows why
            process.stdin.write("go\n")
            process.stdin.flush()
    answers = []
    for process in processes:
        line = line_of(process)
        if not line:
            raise Failed(f"{' '.join(map(str, process.args))}: it gave no answer")  # type: ignore[arg-type]
        answers.append(json.loads(line))
    return answers, time.perf_counter() - begun


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the value that so many percent of all do not exceed."""
    ordered = sorted(values)
    return ordered[math.ceil(len(ordered) * percent / 100) - 1]


def p50_p99(values: Sequence[float], digits: int = 2) -> str:
    """Return median and 99th percentile as text."""
    return f"p50 {statistics.median(values):.{digits}f}, p99 {percentile(values, 99):.{digits}f}"


def speed(
    name: str, *, ours: tuple[str, Sample], theirs: tuple[str, Sample], at_least: float
) -> Result:
    """Return the result of a promised multiple of their number per second."""
    ratio = theirs[1].median / ours[1].median
    return Result(
        name,
        f"≥ {at_least:g} × the speed",
        ratio >= at_least,
        f"{ratio:.2f} × the speed",
        shown(ours[1]),
        shown(theirs[1]),
        ours[0],
        theirs[0],
    )
