"""The verbs whose time grows with the repository: spawn and landing on 13,000 files."""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import interleave
from benchmarks.results import Result, compare, shown
from benchmarks.scene import PYTHON, Scene, commit
from fixtures.big_repo import build_big_repo, path_of

SPAWN_ROUNDS = 9
IMPORTS = "import click, apsw, filelock"
IMPORT_FACTOR = 1.6
BRANCHES = 50
CHUNKS = 1
COMMITS = 4


def measure_spawn(scene: Scene) -> Iterator[Result]:
    """Measure spawn against `git worktree add` and the imports that every spawn needs."""
    root = build_big_repo(scene.folder / "repo")
    numbers = iter(range(10_000))
    samples = interleave(
        {
            "imports": lambda: scene.time(root, PYTHON, "-c", IMPORTS),
            "add": lambda: _add(scene, root, next(numbers)),
            "ours": lambda: _spawn(scene, root, next(numbers)),
        },
        rounds=scene.count(SPAWN_ROUNDS),
        settle=scene.settle_disk,
    )
    ours, add, imports = (samples[name].median for name in ("ours", "add", "imports"))
    allowed = add + IMPORT_FACTOR * imports
    yield Result(
        "`spawn` in 13,000 files",
        f"≤ `git worktree add` + {IMPORT_FACTOR:g} × imports = {allowed:.0f} ms",
        ours <= allowed,
        f"{ours:.0f} ms = add + {(ours - add) / imports:.2f} × imports",
        shown(samples["ours"]),
        f"{shown(samples['add'])}; imports {shown(samples['imports'])}",
        "git-worker spawn WORKER TASK",
        f'git worktree add -b BRANCH PATH; python -c "{IMPORTS}"',
    )


def measure_pool(scene: Scene) -> Iterator[Result]:
    """Measure a spawn that takes a parked worktree against `git worktree add`.

    In memory, as every case of so many files: there the pool saves least, because writing files,
    which it avoids, is cheapest there.
    """
    root = build_big_repo(scene.folder / "repo")
    scene.git(root, "config", "worker.worktree.pool", "1")
    scene.worker(root, "pool", "--fill")
    numbers = iter(range(10_000))
    samples = interleave(
        {
            "add": lambda: _add(scene, root, next(numbers)),
            "ours": lambda: _spawn(scene, root, next(numbers)),
        },
        rounds=scene.count(SPAWN_ROUNDS),
        settle=scene.settle_disk,
    )
    yield compare(
        "`spawn` in 13,000 files, with a pool",
        ours=("git-worker spawn WORKER TASK (worker.worktree.pool is 1)", samples["ours"]),
        theirs=("git worktree add -b BRANCH PATH", samples["add"]),
        at_most=0.25,
    )


def measure_landing(scene: Scene) -> Iterator[Result]:
    """Measure approve and merge of 50 clean branches against a script of plain git.

    Each round has two repositories with the same commits, one for each side.
    """
    ours = build_big_repo(scene.folder / "ours")
    plain = build_big_repo(scene.folder / "plain")
    workers = [_submitted(scene, ours, number) for number in range(BRANCHES)]
    trees = [_plain_worktree(scene, plain, number) for number in range(BRANCHES)]
    scene.age(*(tree for _, tree in workers), *trees)
    per_chunk = BRANCHES // CHUNKS
    ours_left, plain_left = iter(range(CHUNKS)), iter(range(CHUNKS))

    def our_chunk() -> float:
        first = next(ours_left) * per_chunk
        return _land(scene, ours, [worker for worker, _ in workers[first : first + per_chunk]])

    def plain_chunk() -> float:
        first = next(plain_left) * per_chunk
        return _script(scene, plain, trees[first : first + per_chunk])

    samples = interleave(
        {"plain": plain_chunk, "ours": our_chunk},
        rounds=CHUNKS,
        warm_up=0,
        settle=scene.settle_disk,
    )
    landed = scene.git(ours, "rev-list", "--count", "main")
    expected = scene.git(plain, "rev-list", "--count", "main")
    result = compare(
        f"approve and merge {BRANCHES} clean branches of {COMMITS} commits (per {per_chunk})",
        ours=("git-worker approve WORKER…; git-worker merge --all", samples["ours"]),
        theirs=("git rebase -q main; git merge -q --ff-only BRANCH (each)", samples["plain"]),
        at_most=0.5,
    )
    assert landed == expected, f"{landed} commits landed, plain git landed {expected}"
    yield result


def work(scene: Scene, tree: Path, number: int) -> None:
    """Commit `COMMITS` changes that no other branch touches."""
    for index in range(COMMITS):
        commit(scene, tree, path_of(5_000 + number * 10 + index), message=f"Change {index}")


def _add(scene: Scene, root: Path, number: int) -> float:
    path = scene.folder / f"plain-{number}"
    took = scene.time(root, "git", "worktree", "add", "-q", "-b", f"plain-{number}", str(path))
    scene.git(root, "worktree", "remove", "--force", str(path))
    return took


def _spawn(scene: Scene, root: Path, number: int) -> float:
    took = scene.time(root, "git-worker", "spawn", f"worker-{number}", f"task-{number}")
    scene.worker(root, "cancel", f"worker-{number}")
    return took


def _submitted(scene: Scene, root: Path, number: int) -> tuple[str, Path]:
    worker = f"worker-{number}"
    tree = scene.spawn(root, worker, f"task-{number}")
    scene.worker(tree, "start")
    work(scene, tree, number)
    scene.worker(tree, "done")
    return worker, tree


def _plain_worktree(scene: Scene, root: Path, number: int) -> Path:
    tree = scene.folder / f"tree-{number}"
    scene.git(root, "worktree", "add", "-q", "-b", f"topic-{number}", str(tree))
    work(scene, tree, number)
    return tree


def _land(scene: Scene, root: Path, workers: list[str]) -> float:
    approved = scene.time(root, "git-worker", "approve", *workers)
    return approved + scene.time(root, "git-worker", "merge", "--all")


def _script(scene: Scene, root: Path, trees: list[Path]) -> float:
    took = 0.0
    for tree in trees:
        took += scene.time(tree, "git", "rebase", "-q", "main")
        took += scene.time(
            root, "git", "merge", "-q", "--ff-only", tree.name.replace("tree", "topic")
        )
    return took
