"""Other queues on SQLite beside ours: messages put one by one, then taken, in one process.

Each queue takes messages in its usual way: ours as many as `poll` returns, with one acknowledgement
of the last; honker's queue in batches of that size, its stream as they come; the others singly,
since they offer nothing else. The notes show our own time for single messages.
"""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from statistics import median

from benchmarks.bus_scene import JOBS, ROOT, UNLIMITED, new_bus, speed, started, together
from benchmarks.measure import Failed, Way, interleave
from benchmarks.results import Result, not_measured
from benchmarks.scene import Scene

PEERS = ("litequeue", "persist-queue", "huey", "honker", "honker-stream")
PYTHON = ROOT / ".bench-peers" / "bin" / "python"
SCRIPT = ROOT / "benchmarks" / "peer_jobs.py"
MESSAGES = 2000
ROUNDS = 7


def measure_peers(scene: Scene) -> Iterator[Result]:
    """Measure every peer that is installed, in turn with ours."""
    number = itertools.count()
    for name in PEERS:
        ours: list[list[float]] = []
        theirs: list[list[float]] = []

        def run(taken: list[list[float]], *command: str) -> float:
            with started(scene, command, **UNLIMITED) as processes:
                (times,), _ = together(processes)
            taken.append(times)
            return times[0] + times[1]

        def our_way(ours: list[list[float]] = ours) -> float:
            state = new_bus(scene.folder / f"ours-{next(number)}")
            return run(ours, *JOBS, "jobs", str(state), str(MESSAGES))

        def their_way(name: str = name, theirs: list[list[float]] = theirs) -> float:
            folder = scene.folder / f"{name}-{next(number)}"
            folder.mkdir()
            return run(theirs, str(PYTHON), str(SCRIPT), name, str(folder), str(MESSAGES))

        measurement = f"{MESSAGES:,} messages put and taken, beside {name}"
        ways: dict[str, Way] = {"theirs": their_way, "ours": our_way}
        try:
            samples = interleave(ways, rounds=scene.count(ROUNDS), warm_up=1)
        except (Failed, OSError):
            reason = "`make bench-peers` could not install it here"
            yield not_measured(measurement, "≥ 1 × the speed", reason)
            continue
        result = speed(
            measurement,
            ours=("bus.publish(…, durable=False); bus.poll(), bus.ack(…)", samples["ours"]),
            theirs=(f"benchmarks/peer_jobs.py {name}", samples["theirs"]),
            at_least=1,
        )
        yield replace(result, note=_halves(ours, theirs))


def _halves(ours: list[list[float]], theirs: list[list[float]]) -> str:
    """Return both halves of the job as text, with our time for single messages."""
    put, taken, _, singly = (median(times) for times in zip(*ours, strict=True))
    their_put, their_taken = (median(times) for times in zip(*theirs, strict=True))
    return (
        f"ours put {put:.0f} ms, taken {taken:.0f} ms ({singly:.0f} ms one at a time);"
        f" theirs put {their_put:.0f} ms, taken {their_taken:.0f} ms"
    )
