"""`git worker status` with 10, 100 and 1,000 workers: its time may hardly grow with them."""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import interleave
from benchmarks.results import Result, compare
from benchmarks.scene import PYTHON, Scene

ROUNDS = 15
SIZES = (10, 100, 1_000)
IMPORTS = "import click, apsw"


def measure_status(scene: Scene) -> Iterator[Result]:
    """Measure status with many workers against its two imports, and against itself with few."""
    roots = {size: _crowd(scene, size) for size in SIZES}
    samples = interleave(
        {
            "imports": lambda: scene.time(scene.folder, PYTHON, "-c", IMPORTS),
            "10": lambda: scene.time(roots[10], "git-worker", "status"),
            "100": lambda: scene.time(roots[100], "git-worker", "status"),
            "1000": lambda: scene.time(roots[1_000], "git-worker", "status"),
        },
        rounds=scene.count(ROUNDS),
        settle=scene.settle,
    )
    yield compare(
        "`status` with 100 workers",
        ours=("git-worker status", samples["100"]),
        theirs=(f'python -c "{IMPORTS}"', samples["imports"]),
        at_most=1.8,
    )
    yield compare(
        "`status`: 1,000 workers against 10",
        ours=("git-worker status (1,000 workers)", samples["1000"]),
        theirs=("git-worker status (10 workers)", samples["10"]),
        at_most=2.0,
    )


def _crowd(scene: Scene, size: int) -> Path:
    """Make a repository with `size` workers, each with a worktree and a commit of its own."""
    root = scene.small_repository(f"repo{size}")
    for number in range(size):
        scene.spawn(root, f"worker-{number}", f"task-{number}")
    return root
