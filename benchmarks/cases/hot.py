"""The verbs that agents call all day, against a bare interpreter of the same environment."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median

from benchmarks.measure import Sample, Way, interleave, processor_ms, time_process
from benchmarks.results import Result, compare
from benchmarks.scene import PYTHON, Scene

ROUNDS = 25
WARM_UP = 2
AT_MOST = 2.8
AIM = 2.2
HOOK_AT_MOST_MS = 30
BARE = ("python", "-c", "pass")
NOTE = '{"text": "Use port 8080"}'
VERBS = {
    "heartbeat": ("git-worker", "heartbeat"),
    "msg send": ("git-worker", "msg", "send", "status", '{"progress": 0.5}'),
    "msg poll": ("git-worker", "msg", "poll"),
    "hook PostToolUse": ("git-worker", "hook", "PostToolUse"),
    "hook UserPromptSubmit": ("git-worker", "hook", "UserPromptSubmit"),
    "hook SessionStart": ("git-worker", "hook", "SessionStart"),
    "hook Notification": ("git-worker", "hook", "Notification"),
    "hook Stop": ("git-worker", "hook", "Stop"),
}


class Clocks:
    """The processor times of named processes, besides their durations."""

    def __init__(self) -> None:
        self.processor: dict[str, list[float]] = {}

    def time(self, name: str, argv: tuple[str, ...], cwd: Path, env: Mapping[str, str]) -> float:
        """Return the milliseconds of a command, and note its processor time."""
        before = processor_ms()
        took = time_process(argv, cwd, env)
        self.processor.setdefault(name, []).append(processor_ms() - before)
        return took

    def against_bare(
        self, name: str, title: str, argv: tuple[str, ...], samples: Mapping[str, Sample]
    ) -> Result:
        """Return the result of a command, with its processor time against an interpreter's."""
        found = compare(
            title,
            ours=(" ".join(argv), samples[name]),
            theirs=(" ".join(BARE), samples["bare"]),
            at_most=AT_MOST,
            aim=AIM,
            at_most_ms=HOOK_AT_MOST_MS if argv[1] == "hook" else None,
        )
        ours, bare = (median(self.processor[one][WARM_UP:]) for one in (name, "bare"))
        figure = f"{found.figure}; processor {ours / bare:.2f} ×, {ours:.1f} ms"
        return replace(found, figure=figure)


def measure_hot_verbs(scene: Scene) -> Iterator[Result]:
    """Measure verbs as whole processes in the worktree of a worker whose agent we have started."""
    root = scene.small_repository("repo")
    worktree = scene.spawn(root, "auth", "t1")
    scene.worker(worktree, "start")
    clocks = Clocks()
    env = {**scene.env, "GITWORKER_WORKTREE": str(worktree)}
    samples = interleave(
        {
            "bare": lambda: clocks.time("bare", (PYTHON, *BARE[1:]), worktree, scene.env),
            **{name: _way(clocks, name, worktree, env) for name in VERBS},
        },
        rounds=scene.count(ROUNDS),
        warm_up=WARM_UP,
        settle=scene.settle,
    )
    for name, argv in VERBS.items():
        yield clocks.against_bare(name, f"`{name}`, whole process", argv, samples)
    yield from _measure_hooks_with_news(scene)


def _measure_hooks_with_news(scene: Scene) -> Iterator[Result]:
    """Measure the hook that begins a task, and one that carries a message.

    A worker begins its task only once, so each round has its own.
    """
    root = scene.small_repository("news")
    rounds = scene.count(ROUNDS)
    begins = [scene.spawn(root, f"w{number}", f"t{number}") for number in range(rounds + WARM_UP)]
    worktree = scene.spawn(root, "auth", "t")
    scene.worker(worktree, "start")
    start, tool = VERBS["hook SessionStart"], VERBS["hook PostToolUse"]
    clocks = Clocks()

    def begin() -> float:
        return clocks.time("begin", start, begins.pop(), scene.env)

    def hear() -> float:
        scene.worker(root, "msg", "send", "x-note", NOTE, "--to", "auth", "--as", "hq")
        return clocks.time("hear", tool, worktree, scene.env)

    def bare() -> float:
        return clocks.time("bare", (PYTHON, *BARE[1:]), worktree, scene.env)

    samples = interleave(
        {"bare": bare, "begin": begin, "hear": hear},
        rounds=rounds,
        warm_up=WARM_UP,
        settle=scene.settle,
    )
    titles = ("`hook SessionStart` that begins a task", "`hook PostToolUse` with a message")
    yield clocks.against_bare("begin", titles[0], start, samples)
    yield clocks.against_bare("hear", titles[1], tool, samples)


def _way(clocks: Clocks, name: str, worktree: Path, env: Mapping[str, str]) -> Way:
    return lambda: clocks.time(name, VERBS[name], worktree, env)
