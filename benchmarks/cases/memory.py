"""The peak memory of every command, since many agents run commands at once on one machine."""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Failed, peak_mib
from benchmarks.results import Result, not_measured
from benchmarks.scene import Scene, commit
from fixtures.big_repo import build_big_repo, path_of

LIGHT_MIB = 60
# Commands that load pygit2 or GitPython.
HEAVY_MIB = 110
HEAVY = {"doctor", "run"}
# In an order in which each command is legal after the one before.
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("spawn", "mem", "m1"),
    ("start", "mem"),
    ("heartbeat", "mem"),
    ("status",),
    ("list",),
    ("show", "mem"),
    ("path", "mem"),
    ("log",),
    ("msg", "send", "status", "{}"),
    ("msg", "poll"),
    ("done", "mem"),
    ("diff", "mem", "--stat"),
    ("approve", "mem"),
    ("merge", "mem"),
    ("doctor",),
    ("spawn", "other", "m2"),
    ("cancel", "other"),
)


def measure_memory(scene: Scene) -> Iterator[Result]:
    """Measure the peak of each command in a repository of 13,000 files."""
    root = build_big_repo(scene.folder / "repo")
    for command in COMMANDS:
        verb = " ".join(command[:2]) if command[0] == "msg" else command[0]
        measurement = f"`{verb}`, peak memory"
        limit = HEAVY_MIB if command[0] in HEAVY else LIGHT_MIB
        try:
            if command[0] == "done":
                worktree = scene.worker(root, "path", "mem")
                commit(scene, Path(worktree), path_of(0), message="Work")
            peak = peak_mib(("git-worker", *command), root, scene.env)
        except Failed as failure:
            yield not_measured(measurement, f"< {limit} MiB", str(failure))
            continue
        figure = f"{peak:.0f} MiB"
        yield Result(
            measurement,
            f"< {limit} MiB",
            peak < limit,
            figure,
            our_command="git-worker " + " ".join(command),
        )
