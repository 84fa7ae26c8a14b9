"""The verbs that agents call all day, against a bare interpreter of the same environment."""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Sample, Way, interleave, time_process
from benchmarks.results import Result, compare
from benchmarks.scene import PYTHON, Scene

ROUNDS = 25
WARM_UP = 2
AT_MOST = 2.8
AIM = 2.2
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


def measure_hot_verbs(scene: Scene) -> Iterator[Result]:
    """Measure verbs as whole processes in the worktree of a worker whose agent we have started."""
    root = scene.small_repository("repo")
    worktree = scene.spawn(root, "auth", "t1")
    scene.worker(worktree, "start")
    samples = interleave(
        {
            "bare": lambda: scene.time(worktree, PYTHON, *BARE[1:]),
            **{name: _way(scene, worktree, argv) for name, argv in VERBS.items()},
        },
        rounds=scene.count(ROUNDS),
        settle=scene.settle,
    )
    for name, argv in VERBS.items():
        yield _against_bare(f"`{name}`, whole process", argv, samples[name], samples["bare"])
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

    def begin() -> float:
        return time_process(start, begins.pop(), scene.env)

    def hear() -> float:
        scene.worker(root, "msg", "send", "x-note", NOTE, "--to", "auth", "--as", "hq")
        return time_process(tool, worktree, scene.env)

    samples = interleave(
        {"bare": lambda: scene.time(worktree, PYTHON, *BARE[1:]), "begin": begin, "hear": hear},
        rounds=rounds,
        warm_up=WARM_UP,
        settle=scene.settle,
    )
    bare = samples["bare"]
    yield _against_bare("`hook SessionStart` that begins a task", start, samples["begin"], bare)
    yield _against_bare("`hook PostToolUse` with a message", tool, samples["hear"], bare)


def _way(scene: Scene, worktree: Path, argv: tuple[str, ...]) -> Way:
    env = {**scene.env, "GITWORKER_WORKTREE": str(worktree)}
    return lambda: time_process(argv, worktree, env)


def _against_bare(name: str, argv: tuple[str, ...], ours: Sample, bare: Sample) -> Result:
    return compare(
        name,
        ours=(" ".join(argv), ours),
        theirs=(" ".join(BARE), bare),
        at_most=AT_MOST,
        aim=AIM,
    )
