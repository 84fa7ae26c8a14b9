"""git's own maintenance (`git maintenance`, `git gc`) runs all the time, as after many commits."""

import pytest

from tests.concurrency.processes import require_linear
from tests.workers.world import World, is_at_work, wait_until

EAGER = {
    "maintenance.auto": "true",  # the other tests have no maintenance
    "gc.auto": "1",
    "maintenance.loose-objects.enabled": "true",  # before 2.54
    "maintenance.loose-objects.auto": "-1",
    "maintenance.pack-refs.enabled": "true",
    "maintenance.geometric-repack.auto": "-1",
    "maintenance.pack-refs.auto": "-1",
    "maintenance.commit-graph.auto": "-1",
    "maintenance.worktree-prune.auto": "-1",
    "maintenance.reflog-expire.auto": "-1",
}


@pytest.mark.slow
def test_landings_beside_git_maintenance(world: World) -> None:
    """If git packs, prunes and expires after every commit, no command fails or loses work."""
    for name, value in EAGER.items():
        world.git("config", name, value)
    names = [f"w{number}" for number in range(4)]
    for name in names:
        world.in_review(name, f"t-{name}", {name: "1\n"})
        world.spawn(f"{name}-late", f"late-{name}")
        world.commit(f"{name}-late", {"late": f"{name}\n"})
        done = world.drive("cancel", f"{name}-late")
        assert done.returncode == 0, done.stderr
    for name in names:
        world.approve(name)
        world.land(name)
    require_linear(world, names)
    packs = world.root / ".git/objects/pack"
    wait_until(lambda: any(packs.glob("*.pack")))
    wait_until(lambda: not is_at_work(world.root))  # git's maintenance ends in the background
    kept = world.git("for-each-ref", "--format=%(refname)", "refs/worker/rescue").splitlines()
    assert [world.show("late", ref) for ref in kept if "-late/" in ref] == names
    assert "missing" not in world.git("fsck", "--no-dangling", "--no-progress")
