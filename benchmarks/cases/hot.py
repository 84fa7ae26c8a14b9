"""The verbs that agents call all day, against a bare interpreter of the same environment."""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Sample, Way, interleave, time_process
from benchmarks.results import Result, compare
from benchmarks.scene import PYTHON, Scene

ROUNDS = 25
AT_MOST = 2.8
AIM = 2.2
BARE = ("python", "-c", "pass")
VERBS = {
    "heartbeat": ("git-worker", "heartbeat"),
    "msg send": ("git-worker", "msg", "send", "status", '{"progress": 0.5}'),
    "msg poll": ("git-worker", "msg", "poll"),
    "hook PostToolUse": ("git-worker", "hook", "PostToolUse"),
    "hook UserPromptSubmit": ("git-worker", "hook", "UserPromptSubmit"),
    "hook SessionStart": ("git-worker", "hook", "SessionStart"),
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
