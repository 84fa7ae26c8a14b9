"""The cost of our hooks for the user's own git: a commit, a rebase of five commits."""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import interleave
from benchmarks.results import Result, compare
from benchmarks.scene import Scene, commit

ROUNDS = 31
REBASE_ROUNDS = 15
REBASED = 5


def measure_hooks(scene: Scene) -> Iterator[Result]:
    """Measure commit and rebase in a worker's worktree against a plain linked worktree."""
    root = scene.small_repository("repo")
    ours = scene.spawn(root, "auth", "t1")
    scene.worker(ours, "start")
    plain = scene.folder / "plain"
    scene.git(root, "worktree", "add", "-q", "-b", "plain", str(plain), "main")
    yield _commits(scene, ours, plain)
    yield _rebases(scene, ours, plain)


def _commits(scene: Scene, ours: Path, plain: Path) -> Result:
    argv = ("git", "commit", "-q", "-m", "Change a file")

    def one(tree: Path) -> float:
        with (tree / "dir0" / "file0.txt").open("a") as stream:
            stream.write("another line\n")
        scene.git(tree, "add", "dir0/file0.txt")
        return scene.time(tree, *argv)

    samples = interleave(
        {"plain": lambda: one(plain), "ours": lambda: one(ours)},
        rounds=scene.count(ROUNDS),
        settle=scene.settle,
    )
    command = " ".join(argv)
    return compare(
        "`git commit` in a small repository",
        ours=(f"{command} (in a worker's worktree)", samples["ours"]),
        theirs=(f"{command} (in a plain worktree)", samples["plain"]),
        at_most=1.6,
        or_plus_ms=3.0,
    )


def _rebases(scene: Scene, ours: Path, plain: Path) -> Result:
    for tree in (ours, plain):
        scene.git(tree, "reset", "-q", "--hard", "main")
        for number in range(REBASED):
            commit(scene, tree, f"new/{number}.txt", message=f"Change {number}")
    tips = {tree: scene.git(tree, "rev-parse", "HEAD") for tree in (ours, plain)}
    onto = _newer_base(scene, plain)
    argv = ("git", "rebase", "-q", onto)

    def one(tree: Path) -> float:
        scene.git(tree, "reset", "-q", "--hard", tips[tree])
        scene.settle()
        return scene.time(tree, *argv)

    samples = interleave(
        {"plain": lambda: one(plain), "ours": lambda: one(ours)}, rounds=scene.count(REBASE_ROUNDS)
    )
    return compare(
        f"`git rebase` of {REBASED} commits",
        ours=("git rebase -q NEWER (in a worker's worktree)", samples["ours"]),
        theirs=("git rebase -q NEWER (in a plain worktree)", samples["plain"]),
        at_most=1.5,
    )


def _newer_base(scene: Scene, plain: Path) -> str:
    """Return a commit on top of main that touches another file."""
    tip = scene.git(plain, "rev-parse", "HEAD")
    scene.git(plain, "reset", "-q", "--hard", "main")
    commit(scene, plain, "dir1/file1.txt", message="Go on")
    newer = scene.git(plain, "rev-parse", "HEAD")
    scene.git(plain, "reset", "-q", "--hard", tip)
    return newer
