"""`git worker conflicts` of 100 branches that all meet, on 10,000 files: first and second run."""

import os
from collections.abc import Iterator
from itertools import combinations, islice
from pathlib import Path

from benchmarks.measure import interleave, run
from benchmarks.results import Result, compare, shown
from benchmarks.scene import PYTHON, Scene
from fixtures.big_repo import build_big_repo, path_of, text_of

BRANCHES = 100
FILES = 10_000
OTHERS = 5  # files that a branch edits beside the common one
SHARED = 7
FIRST_ROUNDS = 3
ROUNDS = 9
LIMIT_S = 60  # for 4,950 pairs of branches
AT_ONCE = 100  # pairs that plain git merges in a round, one process each
IMPORTS = "import click, apsw"
EACH = 'while read -r pair; do git merge-tree --write-tree --name-only $pair; done <"$1"; true'
CACHES = ("merge_verdicts", "replay_verdicts", "tip_forks", "tip_changes")


def measure_radar(scene: Scene) -> Iterator[Result]:
    """Measure a survey without known results against a minute and a process a pair; then again."""
    root = build_big_repo(scene.folder / "repo", files=FILES, commits=20)
    # the background radar would survey before our measurement
    scene.git(root, "config", "worker.radar.enabled", "false")
    tips = _branches(scene, root)
    _insert_workers(root)
    scene.worker(root, "status")
    some = _write_pairs(scene, tips)
    first = interleave(
        {
            "plain": lambda: scene.time(root, "sh", "-c", EACH, "sh", str(some)),
            "ours": lambda: _survey_time(scene, root),
        },
        rounds=FIRST_ROUNDS,
        warm_up=0,
        settle=scene.settle_disk,
    )
    took_s = first["ours"].median / 1000
    pairs = BRANCHES * (BRANCHES - 1) // 2
    yield Result(
        f"`conflicts` of {BRANCHES} branches that all meet, {FILES:,} files, nothing known",
        f"≤ {LIMIT_S} s",
        took_s <= LIMIT_S,
        f"{took_s:.1f} s; {pairs} merges by a process each would take"
        f" {first['plain'].median / 1000 / AT_ONCE * pairs:.0f} s",
        shown(first["ours"]),
        f"{shown(first['plain'])} for {AT_ONCE} pairs",
        "git-worker conflicts",
        "git merge-tree --write-tree --name-only ONE OTHER",
    )
    again = interleave(
        {
            "imports": lambda: scene.time(root, PYTHON, "-c", IMPORTS),
            "ours": lambda: scene.time(root, "git-worker", "conflicts"),
        },
        rounds=scene.count(ROUNDS),
        settle=scene.settle,
    )
    yield compare(
        f"`conflicts` of {BRANCHES} branches, all known",
        ours=("git-worker conflicts", again["ours"]),
        theirs=(f'python -c "{IMPORTS}"', again["imports"]),
        at_most=3.0,
    )


def _branches(scene: Scene, root: Path) -> list[str]:
    """Make branches that edit one file in common and some of their own; return their tips."""
    main = scene.git(root, "rev-parse", "main")
    stream = []
    for number in range(BRANCHES):
        lines = text_of(SHARED).splitlines()
        lines[number % 12 * 2] = f"line of {number}"
        files = {SHARED: "\n".join(lines) + "\n"}
        for other in range(OTHERS):
            at = 100 + number * 40 + other * 7
            files[at] = f"changed by {number}\n{text_of(at)}"
        stream.append(
            f"commit refs/heads/worker-{number}/task-{number}\n"
            f"committer A <a@example.org> {1_800_000_000 + number} +0000\ndata 0\nfrom {main}\n"
        )
        stream += [
            f"M 100644 inline {path_of(at)}\ndata {len(text)}\n{text}\n"
            for at, text in files.items()
        ]
    file = scene.folder / "stream"
    file.write_text("".join(stream))
    run(["sh", "-c", 'git fast-import --quiet <"$1"', "sh", str(file)], root, scene.env)
    listed = scene.git(root, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads")
    return [line[:40] for line in listed.splitlines() if "/worker-" in line]


def _insert_workers(root: Path) -> None:
    """Insert the workers of these branches as WORKING, without worktrees, which no survey reads."""
    from gitworker.app import open_session
    from gitworker.bus.transitions import move_worker
    from gitworker.model.worker import WorkerEvent
    from gitworker.store.workers import add_worker

    before = Path.cwd()
    os.chdir(root)
    try:
        session = open_session()
        with session.store.write() as writer:
            for number in range(BRANCHES):
                name = f"worker-{number}"
                worker = add_worker(writer, name, 1)
                writer.run(
                    "workers.set_assignment", worker=name, task=f"task-{number}",
                    branch=f"{name}/task-{number}", base_oid="0" * 40, worktree=None,
                    admin_dir=None, now=1,
                )  # fmt: skip
                for event in (WorkerEvent.ASSIGN, WorkerEvent.START):
                    worker = move_worker(writer, worker, event, actor="hq")
    finally:
        os.chdir(before)


def _write_pairs(scene: Scene, tips: list[str]) -> Path:
    file = scene.folder / "pairs"
    some = islice(combinations(tips, 2), AT_ONCE)
    file.write_text("".join(f"{one} {other}\n" for one, other in some))
    return file


def _survey_time(scene: Scene, root: Path) -> float:
    """Return the time of a survey without known results."""
    import apsw

    connection = apsw.Connection(f"{root}/.git/worker-state/bus.db")
    for table in CACHES:
        connection.execute(f"DELETE FROM {table}")
    connection.close()
    return scene.time(root, "git-worker", "conflicts")
