"""A fleet on this computer: publishing, waking another machine, hot verbs, a server far away."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from time import perf_counter

from benchmarks.measure import Sample, Way, interleave, time_process
from benchmarks.results import Result, compare, not_measured
from benchmarks.scene import PYTHON, Scene
from fixtures.postgres import find_programs, run_server
from fixtures.wire import Wire
from gitworker.store.api import Reader
from gitworker.store.backend import bring_up_to_date, open_store
from gitworker.store.messages.mailbox import NewMessage, messages_after, publish_message

MESSAGES = 400
WAKES = 200
ROUNDS = 25
PER_SECOND = 300
WAKE_P99_MS = 50
HOT_AT_MOST = 2.8
WORKERS = 1_000
FAR_MS, FAR_AT_MOST_MS, FAR_ROUNDS = 150, 500, 7
FAR_COMMANDS = {  # `{n}` is another number each time
    "status": "status",
    "task add": "task add t{n} -m words",
    "claim take": "claim take x:{n} --as deploy",
    "spawn": "spawn w{n} s{n}",
    "cancel": "cancel w{n}",
}


def measure_fleet(scene: Scene) -> Iterator[Result]:
    """Measure two machines that are joined to a server with fsync, on a Unix socket."""
    programs = find_programs()
    if programs is None:
        reason = "the programs of PostgreSQL are not installed"
        yield not_measured("a fleet", f"≥ {PER_SECOND} a second", reason)
        return
    with run_server(programs, is_durable=True) as location:
        roots = [scene.small_repository(name) for name in ("alpha", "beta")]
        for root in roots:
            scene.worker(root, "fleet", "join", f"{location}#bench", "--name", root.name)
        yield _publish(scene, roots[0])
        yield _wake(scene, *roots)
        yield from _hot_verbs(scene, roots[0])
        yield from _far_away(scene, location)
        yield _many_workers(scene, location)


def _publish(scene: Scene, root: Path) -> Result:
    """Return how many durable messages one process publishes in a second, each by itself."""
    count = scene.count(MESSAGES)
    with closing(open_store(str(_database(root)))) as store:
        publish_message(store, _message("first"))
        began = perf_counter()
        for number in range(count):
            publish_message(store, _message(f"m{number}"))
        rate = count / (perf_counter() - began)
    return Result(
        "durable messages of one machine in a fleet, each by itself",
        f"≥ {PER_SECOND} a second",
        rate >= PER_SECOND,
        f"{rate:.0f} a second",
        our_command="publish_message",
    )


def _wake(scene: Scene, alpha: Path, beta: Path) -> Result:
    """Return the time from a publish on one machine to its arrival in the other's bus.db."""
    took: list[float] = []
    ready, seen = threading.Event(), threading.Event()
    count = scene.count(WAKES)
    sent = [0.0]

    def follow() -> None:
        with closing(open_store(str(_database(beta)))) as store, store.open_waker() as waker:
            bring_up_to_date(store)  # starts the link
            last = _newest(store)
            ready.set()
            while len(took) < count:
                waker.wait(5)
                found = messages_after(store, last, limit=10)
                if found:
                    last = found[-1].seq
                    took.append((perf_counter() - sent[0]) * 1000)
                    seen.set()

    thread = threading.Thread(target=follow)
    thread.start()
    ready.wait()
    with closing(open_store(str(_database(alpha)))) as store:
        for number in range(count):
            seen.clear()
            sent[0] = perf_counter()
            publish_message(store, _message(f"w{number}"))
            seen.wait(10)
    thread.join()
    ordered = sorted(took)
    p99 = ordered[int(count * 0.99) - 1]
    return Result(
        "from a message on one machine to the waking of another",
        f"99 % ≤ {WAKE_P99_MS} ms",
        p99 <= WAKE_P99_MS,
        f"99 % {p99:.1f} ms, median {ordered[count // 2]:.1f} ms",
        our_command="publish_message, then the waker of the other machine",
    )


def _hot_verbs(scene: Scene, root: Path) -> Iterator[Result]:
    """Compare hot verbs of a machine in a fleet with a bare interpreter."""
    worktree = scene.spawn(root, "auth", "t1")
    scene.worker(worktree, "start")
    verbs = {
        "heartbeat": ("git-worker", "heartbeat"),
        "msg send": ("git-worker", "msg", "send", "status", '{"progress": 0.5}'),
        "msg poll": ("git-worker", "msg", "poll"),
    }
    samples: dict[str, Sample] = interleave(
        {
            "bare": lambda: time_process((PYTHON, "-c", "pass"), worktree, scene.env),
            **{name: _way(argv, worktree, scene.env) for name, argv in verbs.items()},
        },
        rounds=scene.count(ROUNDS),
        warm_up=2,
        settle=scene.settle,
    )
    for name, argv in verbs.items():
        yield compare(
            f"`{name}` in a fleet, whole process",
            ours=(" ".join(argv), samples[name]),
            theirs=("python -c pass", samples["bare"]),
            at_most=HOT_AT_MOST,
        )


def _far_away(scene: Scene, location: str) -> Iterator[Result]:
    """Return the time of commands on a machine whose server is 150 ms away, there and back."""
    host, options = location.partition("host=")[2].partition("&")[::2]
    wire = Wire(host)
    try:
        root = scene.small_repository("far")
        place = f"postgresql:///postgres?host={wire.directory}&{options}#far"
        scene.worker(root, "fleet", "join", place, "--name", "far")
        wire.delay_s = FAR_MS / 2000
        for name, command in FAR_COMMANDS.items():
            yield _far_command(scene, root, name, command)
    finally:
        wire.close()


def _far_command(scene: Scene, root: Path, name: str, command: str) -> Result:
    """Return the median time of a command."""
    took: list[float] = []
    for number in range(scene.count(FAR_ROUNDS)):
        took.append(scene.time(root, "git-worker", *command.format(n=number).split()))
        scene.settle()
    median = sorted(took)[len(took) // 2]
    return Result(
        f"`{name}` on a machine of a fleet, {FAR_MS} ms from its server",
        f"≤ {FAR_AT_MOST_MS} ms",
        median <= FAR_AT_MOST_MS,
        f"{median:.0f} ms",
        our_command=f"git-worker {command}",
    )


def _many_workers(scene: Scene, location: str) -> Result:
    """Compare `status` with the workers of another machine and with ten in a repository alone."""
    there = scene.small_repository("crowd")
    for number in range(WORKERS):
        scene.spawn(there, f"worker-{number}", f"task-{number}")
    here, alone = scene.small_repository("watching"), scene.small_repository("alone")
    for number in range(10):
        scene.spawn(alone, f"worker-{number}", f"task-{number}")
    for root in (there, here):
        scene.worker(root, "fleet", "join", f"{location}#crowd", "--name", root.name)
    samples = interleave(
        {
            "fleet": lambda: scene.time(here, "git-worker", "status"),
            "alone": lambda: scene.time(alone, "git-worker", "status"),
        },
        rounds=scene.count(ROUNDS),
        settle=scene.settle,
    )
    return compare(
        f"`status`: {WORKERS:,} workers of another machine against 10 in a repository alone",
        ours=("git-worker status (fleet)", samples["fleet"]),
        theirs=("git-worker status (10 workers)", samples["alone"]),
        at_most=2.0,
    )


def _way(argv: tuple[str, ...], cwd: Path, env: Mapping[str, str]) -> Way:
    return lambda: time_process(argv, cwd, env)


def _database(root: Path) -> Path:
    return root / ".git" / "worker-state" / "bus.db"


def _newest(reader: Reader) -> int:
    found = messages_after(reader, 0, limit=1_000_000)
    return found[-1].seq if found else 0


def _message(text: str) -> NewMessage:
    return NewMessage(text, "x-bench", ts_ms=1, sender="hq", payload='{"n": 1}')
