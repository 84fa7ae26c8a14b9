"""Background jobs leave no zombies in a long-lived process."""

import os
from pathlib import Path

from gitworker.processes import jobs
from tests.workers.world import wait_until


def children() -> list[int]:
    """Return the children of this process, zombies too."""
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    return [int(word) for word in path.read_text(encoding="ascii").split()]


def test_ended_jobs_are_reaped(tmp_path: Path) -> None:
    """A script that has ended is reaped when the next one begins."""
    before = set(children())
    for number in range(3):
        mark = tmp_path / str(number)
        jobs.start_script(f": >{mark}")
        wait_until(mark.exists)
        (job,) = set(children()) - before
        wait_until(lambda job=job: Path(f"/proc/{job}/stat").read_text().split()[2] == "Z")
