"""Parents and children at random: whatever happened before, each lands with its own work, once."""

import os
import random
from collections.abc import Callable

import pytest

from fixtures.repos import Repo
from gitworker.branches.rules_stack import ParentState
from gitworker.branches.stack import parent_state_of, parents_of
from gitworker.errors import GitWorkerError
from gitworker.landing.merge import Landed
from gitworker.workers.start import start
from gitworker.workers.sync import sync
from tests.workers.world import World

SCALE = float(os.environ.get("GITWORKER_TEST_SCALE") or 1)
STEPS = 10


class Life:
    """A parent `auth` and a child `ui` on top of it, each with files of its own."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.random = random.Random(seed)
        self.number = 0
        self.mine: dict[str, list[str]] = {"auth": [], "ui": []}
        world.working("auth", "login", {"auth0": "0\n"})
        world.spawn("ui", "form", start="auth")
        start(world.session(), "ui", pid=None)
        self.commit("ui")

    def commit(self, worker: str) -> None:
        """Commit a file of the worker's."""
        self.number += 1
        name = f"{worker}{self.number}"
        self.world.commit(worker, {name: f"{self.number}\n"}, f"{worker} {self.number}")
        self.mine[worker].append(f"{worker} {self.number}")

    def amend_parent(self) -> None:
        """Change the parent's last commit."""
        self.number += 1
        place = Repo(self.world.path("auth"))
        place.write({"auth0": f"{self.number}\n"})
        place.git("add", "--all")
        place.git("commit", "-q", "--amend", "--no-edit")

    def reword_parent(self) -> None:
        """Give the parent's last commit another date: another id, the same patch."""
        self.number += 1
        place = Repo(self.world.path("auth"))
        place.git("commit", "-q", "--amend", "--no-edit", f"--date=2020-01-01T00:00:{self.number}")

    def rebase_parent(self) -> None:
        """Rebase the parent onto the target by its own sync."""
        sync(self.world.session(self.world.path("auth")))

    def sync_child(self) -> None:
        """Sync the child onto the branch that it should be stacked on."""
        sync(self.world.session(self.world.path("ui")))

    def rebase_child(self) -> None:
        """Rebase the child onto the parent's branch by plain git, if that works."""
        place = Repo(self.world.path("ui"))
        if place.run("rebase", "auth/login").returncode:
            place.git("rebase", "--abort")

    def rebase_child_onto_target(self) -> None:
        """Rebase the child, copies of the parent's commits and all, onto the target."""
        place = Repo(self.world.path("ui"))
        if place.run("rebase", "main").returncode:
            place.git("rebase", "--abort")

    def advance(self) -> None:
        """Move the target on."""
        self.number += 1
        self.world.advance({f"main{self.number}": "m\n"}, f"main {self.number}")

    def step(self) -> None:
        """Do something at random."""
        steps: list[Callable[[], None]] = [
            lambda: self.commit("auth"), lambda: self.commit("ui"), self.amend_parent,
            self.reword_parent, self.rebase_parent, self.sync_child, self.rebase_child,
            self.rebase_child_onto_target, self.advance,
        ]  # fmt: skip
        self.random.choice(steps)()

    def land(self, *workers: str) -> None:
        """Hand in, approve and land workers."""
        for worker in workers:
            self.world.submit(worker)
            self.world.approve(worker)
        assert all(isinstance(one, Landed) for one in self.world.merge(*workers))


def live(world: World, seed: int) -> None:
    """Live one life and require that parent and child have landed with their own work, once."""
    life = Life(world, seed)
    first = world.tip()
    for _ in range(STEPS):
        life.step()
    text = (world.path("auth") / "auth0").read_text()
    if life.random.random() < 0.5:
        life.land("auth", "ui")
    else:
        life.land("auth")
        for _ in range(life.random.randrange(3)):
            life.random.choice([life.sync_child, lambda: life.commit("ui"), life.advance])()
        with world.session().store.read() as reader:
            stack = parents_of(reader)["ui", "form"]
            assert parent_state_of(reader, stack) is ParentState.LANDED
        life.land("ui")
    landed = world.git("log", "--format=%s", f"{first}..main").splitlines()
    for worker, subjects in life.mine.items():
        assert sorted(one for one in landed if one.startswith(f"{worker} ")) == sorted(subjects)
    assert landed.count("Work") == 1
    assert world.show("auth0") == text.strip()


@pytest.mark.parametrize("seed", range(2))
def test_lives(world: World, seed: int) -> None:
    """A few random lives."""
    live(world, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 2 + int(20 * SCALE)))
def test_many_lives(world: World, seed: int) -> None:
    """Many of them."""
    try:
        live(world, seed)
    except GitWorkerError as error:
        raise AssertionError(f"{error.code}: {error}\n{error.detail}") from error
