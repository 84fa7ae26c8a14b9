"""Random commands on worktrees full of work, with gc and git's own gc, lose nothing."""

import os
import random
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import GitWorkerError
from gitworker.journal.gc.gc import gc, gc_request
from gitworker.journal.undo.undo import undo
from gitworker.lifecycle.fail import fail
from gitworker.workers.cancel import cancel, reset
from gitworker.workers.start import start
from gitworker.workers.sync import sync
from tests.workers.world import World, is_at_work, wait_until

SCALE = float(os.environ.get("GITWORKER_TEST_SCALE") or 1)
STEPS = 60
EVERY_BLOB = (
    "git rev-list --all --objects --no-object-names | git cat-file --batch-check"
    " | sed -n 's/ blob .*//p' | git cat-file --batch"
)
WORKERS = ("auth", "docs", "web")
NAMES = ("README", "a", "new/deep", "odd\nname", "x y")


class Life:
    """Three workers, their commits, and every text that they have written."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.random = random.Random(seed)
        self.number = 0
        self.subjects: set[str] = set()  # a replay keeps them
        self.texts: set[str] = set()

    def text(self) -> str:
        """Return a text that is nowhere else."""
        self.number += 1
        return f"precious {self.number}.\n"

    def place(self, worker: str) -> Path | None:
        """Return a worker's worktree, or None if it has none now."""
        rows = self.world.query(f"SELECT worktree FROM workers WHERE worker_id = '{worker}'")
        place = rows[0][0] if rows else None
        return Path(place) if place and os.path.isdir(place) else None

    def spawn(self, worker: str) -> None:
        """Give the worker its next task."""
        self.number += 1
        self.world.spawn(worker, f"task-{self.number}")
        start(self.world.session(), worker, pid=None)

    def write(self, place: Path) -> None:
        """Write a file without replacing uncommitted text, and sometimes stage it."""
        name = self.random.choice(NAMES)
        if Repo(place).run("status", "--porcelain", "--", name).stdout:
            return
        text = self.text()
        Repo(place).write({name: text})
        self.texts.add(text)
        if self.random.random() < 0.4:
            Repo(place).run("add", "--", name)

    def commit(self, place: Path) -> None:
        """Commit everything."""
        if Repo(place).git("status", "--porcelain"):
            self.number += 1
            self.subjects.add(f"Work {self.number}")
            Repo(place).commit(f"Work {self.number}")

    def sync(self, place: Path) -> None:
        """Rebase the branch onto the target, or go on with that, or leave it."""
        sync(self.world.session(place), self.random.choice(("start", "continue", "abort")))

    def hand_in(self, worker: str) -> None:
        """Submit the work, with or without uncommitted changes, and approve it."""
        if self.random.random() < 0.5:
            self.commit(self.world.path(worker))
        with suppress(GitWorkerError):
            self.world.submit(worker)
        self.world.approve(worker)

    def give_up(self, worker: str) -> None:
        """Let the worker fail, then reset it."""
        fail(self.world.session(), worker, reason="stuck")
        reset(self.world.session(), worker)

    def undo_any(self) -> None:
        """Undo a random operation."""
        numbers = [row[0] for row in self.world.query("SELECT id FROM operations")]
        undo(self.world.session(), self.random.choice(numbers or [1]))

    def step(self) -> None:
        """Run a random step, favouring those that are likely to succeed; refusals are accepted."""
        world, session, name = self.world, self.world.session(), self.random.choice(WORKERS)
        steps: dict[Callable[[], object], int] = {
            lambda: undo(session): 3,
            self.undo_any: 1,
            lambda: gc(session, gc_request(session, days=0)): 2,
            lambda: world.git("gc", "-q", "--prune=now"): 1,
            lambda: world.advance({self.random.choice(NAMES): self.text()}): 1,
            lambda: world.merge(everything=True): 2,
        }
        place = self.place(name)
        if place is None:
            steps[lambda: self.spawn(name)] = 12
        else:
            steps |= {
                lambda: self.write(place): 8,
                lambda: self.commit(place): 2,
                lambda: self.sync(place): 1,
                lambda: self.hand_in(name): 3,
                lambda: cancel(session, name): 3,
                lambda: self.give_up(name): 1,
            }
        with suppress(GitWorkerError):
            self.random.choices([*steps], [*steps.values()])[0]()

    def everything(self) -> str:
        """Return every text that a ref leads to, a worktree has, or the trash."""
        wait_until(lambda: not is_at_work(self.world.root))  # no deletion is running meanwhile
        shell = subprocess.run(
            EVERY_BLOB, shell=True, cwd=self.world.root, capture_output=True, check=True
        )
        found = [shell.stdout]
        for directory, _, names in os.walk(self.world.root / "worktrees"):
            for path in (Path(directory, name) for name in names):
                if path.is_file():
                    found.append(path.read_bytes())
        return b"".join(found).decode(errors="replace")


def live(world: World, seed: int) -> None:
    """Live one life, then require that every commit and every text still exists."""
    life = Life(world, seed)
    for _ in range(STEPS):
        life.step()
    world.git("gc", "-q", "--prune=now")
    assert life.subjects <= {*world.git("log", "--all", "--format=%s").splitlines()}
    everything = life.everything()
    assert [text for text in sorted(life.texts) if text not in everything] == []


@pytest.mark.parametrize("seed", range(2))
def test_lives(world: World, seed: int) -> None:
    """A few random lives."""
    live(world, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 2 + int(15 * SCALE)))
def test_many_lives(world: World, seed: int) -> None:
    """Many of them."""
    live(world, seed)
