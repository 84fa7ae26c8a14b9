"""The delay of a follower in another process, and its CPU while no message comes."""

import os
import random
import select
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bus_jobs import library_publisher
from benchmarks.bus_scene import JOBS, line_of, new_bus, p50_p99, percentile, started
from benchmarks.results import Result
from benchmarks.scene import Scene
from gitworker.store.sqlite.waking import ADAPTIVE, INOTIFY

MESSAGES = 400
ADAPTIVE_MESSAGES = 12
IDLE_S = 10.0
P99_MS = 5.0
IDLE_PERCENT = 0.5


def measure_wake(scene: Scene) -> Iterator[Result]:
    """Measure publish → follow in another process, and the follower's CPU while it waits."""
    floor: list[float] = []
    ours, our_idle = _follow(scene, INOTIFY, floor, count=scene.count(MESSAGES), gap_s=0.02)
    theirs, their_idle = _follow(scene, ADAPTIVE, [], count=scene.count(ADAPTIVE_MESSAGES), gap_s=2)
    commands = {
        "our_command": "bus.publish(…) → follow, woken by inotify",
        "their_command": "the same follower with adaptive polling (200 ms to 2 s)",
    }
    p99 = percentile(ours, 99)
    yield Result(
        "publish → follow in another process",
        f"p99 ≤ {P99_MS:g} ms",
        p99 <= P99_MS,
        f"p99 {p99:.2f} ms",
        p50_p99(ours),
        p50_p99(theirs, 0),
        note=f"a line to another process and back, by turns with the messages: {p50_p99(floor)} ms",
        **commands,
    )
    yield Result(
        "CPU of a follower while nothing comes",
        f"< {IDLE_PERCENT:g} %",
        our_idle < IDLE_PERCENT,
        f"{our_idle:.3f} %",
        f"{our_idle:.3f} %",
        f"{their_idle:.3f} %",
        **commands,
    )


def _follow(
    scene: Scene, way: str, floor: list[float], *, count: int, gap_s: float
) -> tuple[list[float], float]:
    """Return the milliseconds from publish to the follower's line, and its idle CPU in percent.

    `floor` gets the times of a line through two pipes in the same minutes.
    """
    state = new_bus(scene.folder / way)
    chance = random.Random(1)
    publish = library_publisher(str(state), durable=True)
    times = []
    commands = ((*JOBS, "follow", str(state), way), (*JOBS, "echo"))
    with started(scene, *commands) as (follower, echo):
        assert echo.stdin is not None
        for _ in range(count):
            time.sleep(chance.uniform(gap_s / 4, gap_s))
            begun = time.perf_counter()
            publish()
            line_of(follower)
            times.append((time.perf_counter() - begun) * 1000)
            time.sleep(chance.uniform(gap_s / 4, gap_s))
            begun = time.perf_counter()
            echo.stdin.write("line\n")
            echo.stdin.flush()
            line_of(echo)
            floor.append((time.perf_counter() - begun) * 1000)
        idle = _idle_percent(follower)
    return times, idle


def _idle_percent(process: "subprocess.Popen[str]") -> float:
    select.select([], [], [], 1.0)
    before = _cpu_ns(process.pid)
    begun = time.perf_counter()
    time.sleep(IDLE_S)
    return (_cpu_ns(process.pid) - before) / 1e9 / (time.perf_counter() - begun) * 100


def _cpu_ns(pid: int) -> int:
    """Return the CPU time of a process in nanoseconds (Linux; elsewhere by the ticks of ps)."""
    schedstat = Path(f"/proc/{pid}/schedstat")
    if schedstat.exists():
        return int(schedstat.read_text().split()[0])
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
