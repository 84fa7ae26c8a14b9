"""`pool`: parked worktrees on the command line, and the job that fills it after a spawn."""

from pathlib import Path

from tests.cli.conftest import Scene
from tests.cli.kit import ok, run
from tests.conftest import git
from tests.workers.world import wait_until


def parked(scene: Scene) -> int:
    """Return how many worktrees are parked."""
    return len(list(Path(scene.root).glob("worktrees/.pool/parked-*")))


def test_the_life_of_a_pool(scene: Scene) -> None:
    """A pool is switched on, filled, shown, taken from, filled again behind us, and emptied."""
    root = scene.root
    assert ok(root, "pool") == (
        "0 of 0 worktrees parked\nenable it: git worker config worktree.pool 2"
    )
    git(root, "config", "worker.worktree.pool", "1")
    shown = ok(root, "pool", "--fill").splitlines()
    assert shown[0] == "1 of 1 worktree parked"
    assert shown[1].endswith("  at the tip")
    (one,) = run(root, "pool", "--json").document["parked"]
    place = ok(root, "spawn", "auth", "login")
    assert Path(place).stat().st_ino != Path(root).stat().st_ino
    assert not Path(one["path"]).exists()
    wait_until(lambda: parked(scene) == 1)
    wait_until(lambda: not run(root, "pool", "--json").document["working"])
    assert ok(root, "pool", "--empty") == "removed 1 parked worktree"
    assert parked(scene) == 0
    assert run(root, "pool", "--fill", "--empty").status == 2
