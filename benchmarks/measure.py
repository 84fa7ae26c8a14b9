"""Timing and memory of whole processes, and interleaved comparison of two or more ways.

A way is a callable that returns its milliseconds: most start one process and wait for it.
Interleaving runs every way once per round, in alternating order, so that a slow minute of the
machine affects all of them alike.
"""

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Way = Callable[[], float]

# Runs the command from a small process and prints its peak in KiB: a child's peak starts at its
# parent's (Linux keeps it over exec), and ours would hide the command's.
_PEAK = """\
import os, sys
null = os.open(os.devnull, os.O_WRONLY)
actions = [(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)]
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=actions)
_, status, usage = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)
"""
KIB_PER_UNIT = 1 if sys.platform.startswith("linux") else 1 / 1024  # macOS counts bytes


class Failed(Exception):
    """A measured command failed."""


@dataclass(frozen=True)
class Sample:
    """The milliseconds of the rounds of one way."""

    times: tuple[float, ...]

    @property
    def median(self) -> float:
        """Return the median in milliseconds."""
        return statistics.median(self.times)

    @property
    def spread(self) -> tuple[float, float]:
        """Return the first and third quartile in milliseconds."""
        if len(self.times) < 2:
            return (self.times[0], self.times[0])
        first, _, third = statistics.quantiles(self.times, n=4, method="inclusive")
        return (first, third)


def run(argv: Sequence[str], cwd: Path, env: Mapping[str, str], *, stdin: bytes = b"") -> str:
    """Run a command of the preparation; return its output; raise Failed if it fails."""
    done = subprocess.run(
        argv, cwd=cwd, env=dict(env), input=stdin, check=False, capture_output=True
    )
    if done.returncode:
        raise Failed(f"{' '.join(argv[:6])}: status {done.returncode}: {_last_line(done.stderr)}")
    return done.stdout.decode("utf-8", "replace").strip()


def time_process(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> float:
    """Return the milliseconds of a command from its start to its end, output discarded."""
    started = time.perf_counter_ns()
    done = subprocess.run(
        argv, cwd=cwd, env=dict(env), check=False, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    took = (time.perf_counter_ns() - started) / 1e6
    if done.returncode:
        raise Failed(f"{' '.join(argv[:6])}: status {done.returncode}: {_last_line(done.stderr)}")
    return took


def processor_ms() -> float:
    """Return the processor time, in milliseconds, of all children that this process waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000


def time_call(call: Callable[[], object]) -> float:
    """Return the milliseconds of a call in this process."""
    started = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - started) / 1e6


def peak_mib(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> float:
    """Return the peak resident memory of a command and the children it waited for, in MiB."""
    launcher = [sys.executable, "-I", "-S", "-c", _PEAK, *argv]
    status, units = run(launcher, cwd, env).split()
    if status != "0":
        raise Failed(f"{' '.join(argv[:6])}: status {status}")
    return int(units) * KIB_PER_UNIT / 1024


def used_s(pid: int) -> float:
    """Return the processor time of all threads of a process in seconds (Linux)."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((one / "schedstat").read_text().split()[0]) for one in tasks) / 1e9


def resident_mib(pid: int) -> float:
    """Return the resident memory of a process in MiB (Linux)."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    (size,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(size) / 1024


def interleave(
    ways: Mapping[str, Way],
    *,
    rounds: int,
    warm_up: int = 2,
    settle: Callable[[], None] | None = None,
) -> dict[str, Sample]:
    """Run every way once per round, first to last and then last to first; return their samples.

    `settle` runs before each measurement and waits until background work of earlier ones has ended.
    """
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(warm_up + rounds):
        names = list(ways) if number % 2 == 0 else list(ways)[::-1]
        for name in names:
            if settle is not None:
                settle()
            took = ways[name]()
            if number >= warm_up:
                times[name].append(took)
    return {name: Sample(tuple(taken)) for name, taken in times.items()}


def settled(token: str, residents: set[int], deadline_s: float = 3.0) -> None:
    """Wait until no process started by this benchmark runs in the background (Linux).

    Such processes have `token` in their environment. A process that outlives the deadline (the
    heartbeat daemon of a repository) joins `residents`, which later calls do not wait for.
    """
    end = time.monotonic() + deadline_s
    while running := carriers(token) - residents:
        if time.monotonic() > end:
            residents |= running
            return
        time.sleep(0.005)


def carriers(token: str) -> set[int]:
    """Return the pids of the processes that have `token` in their environment."""
    found: set[int] = set()
    if not os.path.isdir("/proc/self"):
        return found
    wanted = token.encode()
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if wanted in file.read():
                        found.add(int(name))
            except OSError:
                continue
    return found


def _last_line(text: bytes) -> str:
    lines = text.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "(no message)"
