"""`land` of one reviewed worker against a script of plain git, in a large repository."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

from benchmarks.measure import interleave
from benchmarks.results import Result, compare
from benchmarks.scene import Scene, commit
from fixtures.big_repo import build_big_repo, path_of

ROUNDS = 12
SCRIPT = (
    'git -C "$1" rebase -q main && git merge -q --ff-only "$2"'
    ' && git worktree remove "$1" && git branch -q -d "$2"'
)


def measure_land(scene: Scene) -> Iterator[Result]:
    """Measure the landing of one commit whose branch is behind the target by one commit.

    Each side has a repository of its own with the same commits.
    """
    ours, plain = build_big_repo(scene.folder / "ours"), build_big_repo(scene.folder / "plain")
    numbers = count()

    def land() -> float:
        number = next(numbers)
        worker = f"worker-{number}"
        tree = scene.spawn(ours, worker, f"task-{number}")
        scene.worker(tree, "start")
        _prepare(scene, tree, ours, number)
        scene.worker(tree, "done")
        scene.settle_disk()
        return scene.time(ours, "git-worker", "land", worker)

    def script() -> float:
        number = next(numbers)
        topic, tree = f"topic-{number}", scene.folder / f"tree-{number}"
        scene.git(plain, "worktree", "add", "-q", "-b", topic, str(tree))
        _prepare(scene, tree, plain, number)
        scene.settle_disk()
        return scene.time(plain, "sh", "-c", SCRIPT, "sh", str(tree), topic)

    samples = interleave(
        {"ours": land, "plain": script}, rounds=scene.count(ROUNDS), settle=scene.settle_disk
    )
    yield compare(
        "`land` of a worker in review, 13,000 files",
        ours=("git-worker land WORKER", samples["ours"]),
        theirs=(
            "git rebase -q main && git merge -q --ff-only BRANCH && git worktree remove PATH"
            " && git branch -q -d BRANCH",
            samples["plain"],
        ),
        at_most=1.5,
        aim=1.0,
    )


def _prepare(scene: Scene, tree: Path, root: Path, number: int) -> None:
    """Commit on the branch, and then another file on the target."""
    commit(scene, tree, path_of(5_000 + number), message="Work")
    commit(scene, root, path_of(3_000 + number), message="By another author")
    scene.age(tree)
