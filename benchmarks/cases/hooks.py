"""The cost of our hooks for the user's own git: a commit, a rebase of five commits.

Most of that cost is the start of a shell for each hook, which differs by machine. Each figure is
therefore compared with the same git command without hooks, and with hooks that only exit.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.measure import Sample, interleave
from benchmarks.results import Result, shown
from benchmarks.scene import Scene, commit

ROUNDS = 31
REBASE_ROUNDS = 15
REBASED = 5
HOOKS = ("pre-commit", "post-commit", "pre-rebase", "post-checkout", "post-rewrite")
COMMIT_FACTOR = 1.6
REBASE_FACTOR = 1.5
SILENT_FACTOR = 1.25  # of the same command with hooks that only exit


def measure_hooks(scene: Scene) -> Iterator[Result]:
    """Measure commit and rebase in a worker's worktree against a plain linked worktree."""
    root = scene.small_repository("repo")
    trees = {"ours": scene.spawn(root, "auth", "t1")}
    scene.worker(trees["ours"], "start")
    for name in ("plain", "silent"):
        trees[name] = scene.folder / name
        scene.git(root, "worktree", "add", "-q", "-b", name, str(trees[name]), "main")
    _install_silent_hooks(scene, trees["silent"])
    yield _commits(scene, trees)
    yield _rebases(scene, trees)


def _install_silent_hooks(scene: Scene, tree: Path) -> None:
    directory = scene.folder / "silent-hooks"
    directory.mkdir()
    for name in HOOKS:
        (directory / name).write_text("#!/bin/sh\nexit 0\n")
        (directory / name).chmod(0o755)
    scene.git(tree, "config", "--worktree", "core.hooksPath", str(directory))


def _commits(scene: Scene, trees: dict[str, Path]) -> Result:
    argv = ("git", "commit", "-q", "-m", "Change a file")

    def one(tree: Path) -> float:
        with (tree / "dir0" / "file0.txt").open("a") as stream:
            stream.write("another line\n")
        scene.git(tree, "add", "dir0/file0.txt")
        return scene.time(tree, *argv)

    samples = interleave(
        {name: partial(one, tree) for name, tree in trees.items()},
        rounds=scene.count(ROUNDS),
        settle=scene.settle,
    )
    name = "`git commit` in a small repository"
    return _judged(name, " ".join(argv), samples, at_most=COMMIT_FACTOR)


def _rebases(scene: Scene, trees: dict[str, Path]) -> Result:
    for tree in trees.values():
        scene.git(tree, "reset", "-q", "--hard", "main")
        for number in range(REBASED):
            commit(scene, tree, f"new/{number}.txt", message=f"Change {number}")
    tips = {tree: scene.git(tree, "rev-parse", "HEAD") for tree in trees.values()}
    onto = _newer_base(scene, trees["plain"])

    def one(tree: Path) -> float:
        scene.git(tree, "reset", "-q", "--hard", tips[tree])
        scene.settle()
        return scene.time(tree, "git", "rebase", "-q", onto)

    samples = interleave(
        {name: partial(one, tree) for name, tree in trees.items()},
        rounds=scene.count(REBASE_ROUNDS),
    )
    name = f"`git rebase` of {REBASED} commits"
    return _judged(name, "git rebase -q NEWER", samples, at_most=REBASE_FACTOR)


def _judged(name: str, command: str, samples: dict[str, Sample], *, at_most: float) -> Result:
    ours, plain, silent = (samples[key].median for key in ("ours", "plain", "silent"))
    return Result(
        name,
        f"≤ {at_most:g} ×, or ≤ {SILENT_FACTOR:g} × hooks that only exit",
        ours <= at_most * plain or ours <= SILENT_FACTOR * silent,
        f"{ours / plain:.2f} ×, {ours - plain:+.1f} ms; {ours / silent:.2f} × hooks that only exit",
        shown(samples["ours"]),
        f"{shown(samples['plain'])}; hooks that only exit {shown(samples['silent'])}",
        f"{command} (in a worker's worktree)",
        f"{command} (in a plain worktree, without hooks and with hooks that only exit)",
    )


def _newer_base(scene: Scene, plain: Path) -> str:
    """Return a commit on top of main that touches another file."""
    tip = scene.git(plain, "rev-parse", "HEAD")
    scene.git(plain, "reset", "-q", "--hard", "main")
    commit(scene, plain, "dir1/file1.txt", message="Go on")
    newer = scene.git(plain, "rev-parse", "HEAD")
    scene.git(plain, "reset", "-q", "--hard", tip)
    return newer
