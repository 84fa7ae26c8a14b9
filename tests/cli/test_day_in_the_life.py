"""A day with five agents, played with whole programs: each of them meets another trouble, each goes
on by the command that its screen names, and everything lands.
"""

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.repos import Repo
from tests.cli.kit import ok, run, wait_until
from tests.conftest import git

LIVENESS = {"beat-s": 1, "warn-s": 2, "stale-s": 3, "dead-s": 6, "expire-s": 8}
RETURNED = ("conflicts", "breaks", "argues")
CONTROL = "control"  # a worker that fails by the same limits
COMMIT = "git add -A && git commit -qm 'Work of {name}'"
AGENTS = {
    "forgets": "echo new > forgets.txt",
    "dies": (
        f"test -e dies.txt || {{ echo new > dies.txt && {COMMIT.format(name='dies')}"
        " && echo more >> dies.txt && kill -9 $$; }"  # started again, it finds its work and ends
    ),
    "conflicts": (
        f"echo theirs > shared.txt && {COMMIT.format(name='conflicts')} && git worker done"
    ),
    "breaks": (f"echo BROKEN > breaks.txt && {COMMIT.format(name='breaks')} && git worker done"),
    "argues": f"echo new > argues.txt && {COMMIT.format(name='argues')} && git worker done",
}


class Day:
    """The repository, and what a person reads and types there."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def workers(self) -> dict[str, dict[str, Any]]:
        """Return the rows of `status` by worker."""
        rows = json.loads(ok(self.root, "status", "--all", "--json"))["workers"]
        return {row["worker"]: row for row in rows}

    def states(self) -> dict[str, str]:
        """Return the state of each worker."""
        return {name: row["state"] for name, row in self.workers().items()}

    def next(self, worker: str, place: Path | None = None) -> str:
        """Return the command that the worker's page names, read in a directory."""
        return str(json.loads(ok(place or self.root, "show", worker, "--json"))["next"])

    def follow(self, worker: str, *, as_author: bool = False) -> None:
        """Run the command that the worker's page names to `hq` or its author; it must succeed."""
        place = self.worktree(worker) if as_author else self.root
        command = self.next(worker, place).replace("<text>", "ready")
        done = subprocess.run(
            command, shell=True, cwd=place, check=False, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, (command, done)

    def worktree(self, worker: str) -> Path:
        """Return a worker's worktree."""
        return Path(ok(self.root, "path", worker))


@pytest.fixture
def day(repository: Path) -> Day:
    """A repository with a verify command, and five agents that ended."""
    Repo(repository).commit(
        "Set up",
        {
            ".gitworker.toml": '[verify]\ncommands = ["! grep -q BROKEN *.txt"]\n',
            "shared.txt": "ours\n",
        },
    )
    ok(repository, "trust", "--yes")
    running = [
        subprocess.Popen(
            ["git-worker", "spawn", name, "--title", f"Task of {name}", "--", "sh", "-c", script],
            cwd=repository,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for name, script in AGENTS.items()
    ]
    for process in running:
        process.wait(timeout=120)
    return Day(repository)


def test_everything_lands(day: Day) -> None:
    """Forgotten work, a killed agent, a conflict, a failed verification and a review all land."""
    assert day.states()["dies"] == "FAILED"
    take_up_ended_agents(day)
    send_three_back(day)
    wait_longer_than_any_limit(day)
    go_on(day)
    ok(day.root, "land", "--all")
    states = day.states()
    assert {states[name] for name in AGENTS} == {"COMPLETED"}
    check_the_record(day)


def take_up_ended_agents(day: Day) -> None:
    """The agent that died runs again; its work, and forgotten work, is handed in."""
    assert "--commit" in day.next("forgets")
    day.follow("forgets")
    day.follow("dies")
    assert day.states()["dies"] == "WORKING"
    assert (day.worktree("dies") / "dies.txt").read_text() == "new\nmore\n"
    day.follow("dies")
    assert {day.states()[name] for name in ("forgets", "dies")} == {"IN_REVIEW"}


def send_three_back(day: Day) -> None:
    """The target moves against one worker, one does not pass, a reviewer returns one."""
    Repo(day.root).commit("Move the target", {"shared.txt": "changed\n"})
    assert run(day.root, "approve", "conflicts").status == 3
    ok(day.root, "approve", "breaks")
    assert run(day.root, "merge", "breaks").status == 1
    ok(day.root, "reject", "argues", "-m", "Please add a line")
    rows = day.workers()
    returned = {name: rows[name]["returned"]["by"] for name in RETURNED}
    assert returned == {
        "conflicts": "merge_conflict", "breaks": "verify_failed", "argues": "changes_requested",
    }  # fmt: skip


def wait_longer_than_any_limit(day: Day) -> None:
    """Work that was sent back has no time limit, however short the limits of other work are.

    They hold for the rest of the day. A worker whose process ends now fails by them.
    """
    for name, seconds in LIVENESS.items():
        git(day.root, "config", f"worker.liveness.{name}", str(seconds))
    with author(day, CONTROL, "spawn", CONTROL, "--title", "Measure the time"):
        assert day.states()[CONTROL] == "WORKING"
    wait_until(lambda: day.states()[CONTROL] == "FAILED")
    rows = day.workers()
    assert {rows[name]["state"] for name in RETURNED} == {"WORKING"}, rows
    assert all(rows[name]["returned"]["waits_for_author"] for name in RETURNED), rows
    ok(day.root, "cancel", CONTROL)


@contextlib.contextmanager
def author(day: Day, worker: str, *before: str) -> Iterator[Path]:
    """Have a living process of a worker, which sends heartbeats; yield the worktree."""
    if before:
        ok(day.root, *before)
    with subprocess.Popen(["sleep", "600"]) as process:
        ok(day.root, "start", worker, "--pid", str(process.pid))
        yield day.worktree(worker)
        process.kill()


def go_on(day: Day) -> None:
    """Each author follows the next command of its page, and hands in again."""
    with author(day, "conflicts") as place:
        assert run(place, "sync").status == 3
        (place / "shared.txt").write_text("changed by both\n")
        git(place, "add", "shared.txt")
        ok(place, "sync", "--continue")
        day.follow("conflicts", as_author=True)
    with author(day, "breaks") as place:
        Repo(place).commit("Repair", {"breaks.txt": "whole\n"})
        day.follow("breaks", as_author=True)
    with author(day, "argues") as place:
        Repo(place).commit("Add a line", {"argues.txt": "new\nline\n"})
        day.follow("argues", as_author=True)
    states = day.states()
    assert {states[name] for name in AGENTS} == {"IN_REVIEW"}


def check_the_record(day: Day) -> None:
    """The target is linear and holds all the work; nothing was reset and nothing expired."""
    assert git(day.root, "rev-list", "--merges", "main") == ""
    assert (day.root / "dies.txt").read_text() == "new\nmore\n"
    assert (day.root / "shared.txt").read_text() == "changed by both\n"
    ok(day.root, "validate", ".worker-state/transitions.jsonl")
    log = (day.root / ".worker-state" / "transitions.jsonl").read_text()
    assert '"reset"' not in log
    expired = [line for line in log.splitlines() if '"expire"' in line]
    assert expired
    assert all(f'"{CONTROL}"' in line for line in expired), expired
    assert git(day.root, "status", "--porcelain") == ""
