"""Publishing through the library against a bare loop of apsw, alone, in a crowd, and at a pace."""

import itertools
from collections.abc import Iterator

from benchmarks.bus_jobs import publisher
from benchmarks.bus_scene import (
    JOBS,
    UNLIMITED,
    new_bus,
    p50_p99,
    percentile,
    speed,
    started,
    together,
)
from benchmarks.measure import Way, interleave, time_call
from benchmarks.results import Result
from benchmarks.scene import Scene

ROUNDS = 21
MESSAGES = 1000
DURABLE_MESSAGES = 200
WRITERS = 32
EACH = 20
CROWD_ROUNDS = 3
SYNC_MS = 4
SENDERS = 64
PACE_MS = 100
PACED = 60
BUSY_ENDS = 10  # so many of each first and last messages are sent while others begin or have ended
OURS = 'gitworker.bus: bus.publish("x-bench", {…}%s)'
THEIRS = "apsw: json.dumps, one prepared INSERT a transaction, the same schema, synchronous=%s"


def measure_publish(scene: Scene) -> Iterator[Result]:
    """Measure one publisher alone: unsynced, and durable."""
    for kind, ways, count, at_least in (
        ("unsynced", ("unsynced", "raw-normal"), MESSAGES, 0.8),
        ("durable", ("library", "raw"), DURABLE_MESSAGES, 0.9),
    ):
        way = {how: _loop(scene, how, count) for how in ways}
        samples = interleave(way, rounds=scene.count(ROUNDS))
        is_unsynced = kind == "unsynced"
        yield speed(
            f"publish {count:,} messages, {kind}",
            ours=(OURS % (", durable=False" if is_unsynced else ""), samples[ways[0]]),
            theirs=(THEIRS % ("NORMAL" if is_unsynced else "FULL"), samples[ways[1]]),
            at_least=at_least,
        )


def _loop(scene: Scene, how: str, count: int) -> Way:
    one = publisher(how, str(new_bus(scene.folder / how)))

    def call() -> None:
        for _ in range(count):
            one()

    return lambda: time_call(call)


def measure_crowd(scene: Scene) -> Iterator[Result]:
    """Measure 32 processes at once on a disk whose syncs take 4 ms longer."""
    number = itertools.count()

    def crowd(how: str) -> float:
        state = new_bus(scene.folder / f"{how}-{next(number)}")
        job = (*JOBS, "publish", how, str(state), str(EACH), str(SYNC_MS), "0")
        with started(scene, *[job] * WRITERS, **UNLIMITED) as processes:
            return together(processes)[1] * 1000

    samples = interleave(
        {"library": lambda: crowd("library"), "raw": lambda: crowd("raw")},
        rounds=scene.count(CROWD_ROUNDS),
        warm_up=0,
    )
    yield speed(
        f"{WRITERS} processes publish {EACH} each, syncs slowed by {SYNC_MS} ms",
        ours=(OURS % "", samples["library"]),
        theirs=(THEIRS % "FULL", samples["raw"]),
        at_least=3,
    )


def measure_pace(scene: Scene) -> Iterator[Result]:
    """Measure 64 processes that publish ten messages a second each."""
    state = new_bus(scene.folder / "paced")
    job = (*JOBS, "publish", "library", str(state), str(PACED), "0", str(PACE_MS))
    with started(scene, *[job] * SENDERS) as processes:
        answers, _ = together(processes)
    took = [time for times in answers for time in times[BUSY_ENDS:-BUSY_ENDS]]
    yield Result(
        f"{SENDERS} processes publish ten a second each, durable",
        "p99 ≤ 10 ms",
        percentile(took, 99) <= 10,
        f"p99 {percentile(took, 99):.1f} ms",
        p50_p99(took),
        our_command=OURS % "",
        note="the first and the last second are left out: 64 interpreters begin and end then",
    )
