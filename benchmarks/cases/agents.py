"""The cost of supervision for an agent: the time until it begins, and the path of its output."""

import itertools
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import interleave
from benchmarks.results import Result, compare, shown
from benchmarks.scene import PYTHON, Scene

ROUNDS = 25
BEGIN_FACTOR = 8.0  # about four on a busy machine: interpreter, store, state machine
MEBIBYTES = 256
COPY_FACTOR = 1.5
AGENT = ("date", "+%s%N")


def measure_begin(scene: Scene) -> Iterator[Result]:
    """Measure from the start of `exec` to the first instruction of its agent.

    The worker is ASSIGNED each time, so that the transition to WORKING is included.
    """
    root = scene.small_repository("repo")
    numbers = itertools.count()

    def ours() -> float:
        number = next(numbers)
        scene.spawn(root, f"w{number}", f"t{number}")
        return _begun(scene, root, "git-worker", "exec", f"w{number}", "--", *AGENT)

    samples = interleave(
        {
            "bare": lambda: scene.time(root, PYTHON, "-c", "pass"),
            "direct": lambda: _begun(scene, root, *AGENT),
            "ours": ours,
        },
        rounds=scene.count(ROUNDS),
        settle=scene.settle,
    )
    begun, direct, bare = (samples[name].median for name in ("ours", "direct", "bare"))
    allowed = direct + BEGIN_FACTOR * bare
    yield Result(
        "`exec`, until the agent begins",
        f"≤ directly + {BEGIN_FACTOR:g} × a bare interpreter = {allowed:.0f} ms",
        begun <= allowed,
        f"{begun:.1f} ms = directly + {(begun - direct) / bare:.2f} × bare",
        shown(samples["ours"]),
        f"{shown(samples['direct'])}; bare {shown(samples['bare'])}",
        "git-worker exec WORKER -- date",
        "date; python -c pass",
    )


def measure_output(scene: Scene) -> Iterator[Result]:
    """Measure the speed of an agent's output to log and caller, against tee(1)."""
    root = scene.small_repository("repo")
    worktree = scene.spawn(root, "auth", "t1")
    source = f"head -c {MEBIBYTES << 20} /dev/zero"
    log = worktree / "tee.log"
    samples = interleave(
        {
            "ours": lambda: _shell(scene, root, f"git-worker exec auth -- {source} | cat"),
            "tee": lambda: _shell(scene, root, f"{source} | tee {log} | cat"),
        },
        rounds=scene.count(5),
        settle=scene.settle_disk,
    )
    yield compare(
        f"{MEBIBYTES} MiB of an agent's output, start and end included",
        ours=(f"git-worker exec auth -- {source} | cat", samples["ours"]),
        theirs=(f"{source} | tee FILE | cat", samples["tee"]),
        at_most=COPY_FACTOR,
        or_plus_ms=150,  # a whole `exec` of a command that writes nothing
    )


def _begun(scene: Scene, cwd: Path, *argv: str) -> float:
    """Return the milliseconds from start to run of a command that prints the time."""
    before = time.time_ns()
    done = subprocess.run(argv, cwd=cwd, env=scene.env, capture_output=True, check=True)
    return (int(done.stdout.split()[0]) - before) / 1e6


def _shell(scene: Scene, cwd: Path, line: str) -> float:
    return scene.time(cwd, "sh", "-c", f"{line} >/dev/null 2>&1")
