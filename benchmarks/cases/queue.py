"""The landing queue: verified windows against single landings, and the cost of removal."""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import interleave
from benchmarks.results import Result, compare, shown
from benchmarks.scene import Scene, commit
from fixtures.big_repo import build_big_repo, path_of

BRANCHES = 40
VERIFY = "sleep 1"
REMOVALS = 15
REMOVAL_SHARE = 0.1


def measure_queue(scene: Scene) -> Iterator[Result]:
    """Measure `merge --all` with a verify command of a second against a script of plain git."""
    ours, plain = scene.small_repository("ours"), scene.small_repository("plain")
    scene.git(ours, "config", "worker.verify.commands", VERIFY)
    trees = []
    for number in range(BRANCHES):
        worktree = scene.spawn(ours, f"worker-{number}", f"task-{number}")
        scene.worker(worktree, "start")
        commit(scene, worktree, f"new-{number}", message="Work")
        scene.worker(worktree, "done")
        tree = scene.folder / f"tree-{number}"
        scene.git(plain, "worktree", "add", "-q", "-b", f"topic-{number}", str(tree))
        commit(scene, tree, f"new-{number}", message="Work")
        trees.append(tree)
    scene.worker(ours, "approve", *(f"worker-{number}" for number in range(BRANCHES)))
    scene.settle()

    def script() -> float:
        took = 0.0
        for tree in trees:
            topic = tree.name.replace("tree", "topic")
            took += scene.time(tree, "git", "rebase", "-q", "main")
            took += scene.time(tree, "sh", "-c", VERIFY)
            took += scene.time(plain, "git", "merge", "-q", "--ff-only", topic)
        return took

    samples = interleave(
        {
            "ours": lambda: scene.time(ours, "git-worker", "merge", "--all"),
            "plain": script,
        },
        rounds=1,
        warm_up=0,
    )
    landed = [scene.git(root, "rev-list", "--count", "main") for root in (ours, plain)]
    assert landed[0] == landed[1], landed
    yield compare(
        f"landing {BRANCHES} clean branches, each to be verified by a command of 1 s",
        ours=(f"git-worker merge --all (worker.verify.commands is {VERIFY!r})", samples["ours"]),
        theirs=(f"git rebase -q main; {VERIFY}; git merge -q --ff-only (each)", samples["plain"]),
        at_most=0.25,
    )


def measure_landed_removal(scene: Scene) -> Iterator[Result]:
    """Measure the time that removal of a landed worktree adds to `merge`, against git's removal.

    It includes the check for uncommitted work, the journal and the branch.
    """
    root = build_big_repo(scene.folder / "repo")
    numbers = iter(range(10_000))

    def approved() -> str:
        number = next(numbers)
        worker = f"worker-{number}"
        worktree = scene.spawn(root, worker, f"task-{number}")
        scene.worker(worktree, "start")
        commit(scene, worktree, path_of(5_000 + number), message="Work")
        scene.worker(worktree, "done")
        scene.worker(root, "approve", worker)
        scene.age(worktree)
        scene.settle_disk()
        return worker

    def merge(*options: str) -> float:
        worker = approved()
        return scene.time(root, "git-worker", "merge", *options, worker)

    def theirs() -> float:
        tree: Path = scene.folder / "tree"
        scene.git(root, "worktree", "add", "-q", "--detach", str(tree))
        scene.age(tree)
        scene.settle_disk()
        return scene.time(root, "git", "worktree", "remove", str(tree))

    samples = interleave(
        {"removed": merge, "kept": lambda: merge("--keep"), "theirs": theirs},
        rounds=scene.count(REMOVALS),
    )
    added = samples["removed"].median - samples["kept"].median
    ratio = added / samples["theirs"].median
    yield Result(
        "removal of a landed worktree of 13,000 files, as part of `merge`",
        f"≤ {REMOVAL_SHARE:g} ×",
        ratio <= REMOVAL_SHARE,
        f"{ratio:.2f} ×, {added:+.0f} ms",
        f"{shown(samples['removed'])}; with --keep {shown(samples['kept'])}",
        shown(samples["theirs"]),
        "git-worker merge WORKER, less the same with --keep",
        "git worktree remove PATH",
    )
