"""Many approved workers at once, some of them bad, to measure the landing queue."""

import os
import random
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from fixtures.repos import Repo
from gitworker.workers.approve import NotApproved, approve_all
from tests.workers.world import World

CHECK = "! grep -rqs BAD load"
DATA = Path(os.environ.get("GITWORKER_DATA") or Path(__file__).parents[3] / "shared" / "data")
BUNDLE = DATA / "pre-commit.bundle"
OWN = {"README": "one\n", "src/app.py": "print('hello')\n"}


def make_world(root: Path) -> World:
    """Return a clone of a real repository if one is available, else a small one of our own."""
    if not BUNDLE.is_file():
        return World.make(root)
    Repo(root.parent).git("clone", "-q", str(BUNDLE), str(root))
    repo = Repo(root)
    repo.git("checkout", "-q", "-B", "main")
    repo.git("remote", "remove", "origin")
    return World(root)


@dataclass
class QueueLoad:
    """Approved workers by expected result: each number below `count` has exactly one."""

    world: World
    start: str
    good: list[str] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)
    clashing: list[str] = field(default_factory=list)

    @classmethod
    def fill(cls, world: World, count: int, *, seed: int) -> "QueueLoad":
        """Approve workers, of whom one in twenty breaks the check and one in twenty conflicts."""
        chance = random.Random(seed)
        names = [f"w{number:03}" for number in range(count)]
        odd = chance.sample(names[1:], max(1, count // 20) * 2)
        bad, clashing = odd[: len(odd) // 2], odd[len(odd) // 2 :]
        first = names[0]  # the oldest, so it lands first; the clashing workers clash with it
        for name in names:
            files = {f"load/{name}": "BAD\n" if name in bad else f"{name}\n"}
            if name == first or name in clashing:
                files["load-shared"] = f"{name}\n"
            world.in_review(name, f"t-{name}", files)
        start = world.tip()
        failed = [
            one for one in approve_all(world.session(), names) if isinstance(one, NotApproved)
        ]
        assert failed == []
        good = [name for name in names if name not in odd]
        return cls(world, start, good, sorted(bad), sorted(clashing))

    @property
    def names(self) -> list[str]:
        """Return the names of all workers."""
        return sorted([*self.good, *self.bad, *self.clashing])

    def is_done(self) -> bool:
        """Return whether no worker waits to land any more."""
        return not self.world.query("SELECT 1 FROM workers WHERE state = 'APPROVED'")

    def require_result(self) -> None:
        """Fail the test unless each worker came to its own end, and to no other."""
        world = self.world
        world.require_sound(self.start)
        states = dict(world.query("SELECT worker_id, state FROM workers"))
        expected = dict.fromkeys(self.good, "COMPLETED")
        expected |= dict.fromkeys([*self.bad, *self.clashing], "WORKING")
        assert states == expected
        reasons = world.query(
            "SELECT entity_id, event FROM transitions WHERE machine = 'worker'"
            " AND event IN ('verify_failed', 'merge_conflict') ORDER BY entity_id"
        )
        expected_reasons = dict.fromkeys(self.bad, "verify_failed")
        expected_reasons |= dict.fromkeys(self.clashing, "merge_conflict")
        assert reasons == sorted(expected_reasons.items())
        landed = world.git("log", "--format=", "--name-only", f"{self.start}..main", "--", "load")
        assert sorted(landed.split()) == [f"load/{name}" for name in self.good]
        assert world.query("SELECT 1 FROM operations WHERE status = 'open'") == []

    def require_every_tip_verified(self, folder: Path) -> None:
        """Run the check on everything that the target was ever moved to by us."""
        lines = self.world.git("reflog", "show", "--format=%H %gs", "main").splitlines()
        tips = [line.split()[0] for line in lines if "merge w" in line]
        assert tips
        self.world.git("worktree", "add", "-q", "--detach", str(folder), tips[0])
        for tip in tips:
            self.world.git("checkout", "-q", "--detach", tip, cwd=folder)
            done = subprocess.run(["sh", "-c", CHECK], cwd=folder, check=False)
            assert done.returncode == 0, tip
        self.world.git("worktree", "remove", "--force", str(folder))

    def count_runs(self) -> int:
        """Return how often the verify commands ran."""
        ((count,),) = self.world.query("SELECT COUNT(*) FROM verify_runs")
        return int(count)
