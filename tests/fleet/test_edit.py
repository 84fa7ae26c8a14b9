"""The capabilities of the machines of a fleet."""

from pathlib import Path

from tests.cli.kit import ok, run
from tests.fleet.test_hints import add_other_machine, join, machine
from tests.store.machines import Machine
from tests.workers.world import World

__all__ = ["machine"]


def capabilities(world: World) -> dict[str, list[str]]:
    """Return the capabilities of each machine as `fleet status` shows them."""
    shown = run(world.root, "fleet", "status", "--json").document["machines"]
    return {one["id"]: one["capabilities"] for one in shown}


def test_a_machine_has_capabilities(world: World, machine: Machine, location: str) -> None:
    """They are given when a machine joins, also again, and replaced later."""
    ok(world.root, "fleet", "join", location, "--name", "one", "--capability", "gpu,cuda")
    assert capabilities(world) == {"one": ["gpu", "cuda"]}
    assert "gpu, cuda" in ok(world.root, "fleet", "status")
    join(world, location)
    assert capabilities(world) == {"one": ["gpu", "cuda"]}
    ok(world.root, "fleet", "join", location, "--capability", "gpu")
    assert capabilities(world) == {"one": ["gpu"]}
    assert ok(world.root, "fleet", "edit", "--capability", "big-disk") == "one has big-disk"
    assert capabilities(world) == {"one": ["big-disk"]}
    ok(world.root, "fleet", "edit", "one", "--capability", "")
    assert capabilities(world) == {"one": []}


def test_the_capabilities_of_another_machine(
    world: World, machine: Machine, location: str, tmp_path: Path
) -> None:
    """Those of each machine that has not left can be changed on every machine."""
    add_other_machine(tmp_path / "other", location)
    join(world, location)
    ok(world.root, "fleet", "edit", "other", "--capability", "gpu")
    assert capabilities(world) == {"other": ["gpu"], "one": []}
    bad = run(world.root, "fleet", "edit", "--capability", "a b")
    assert "not a capability" in bad.err
    refused = run(world.root, "fleet", "edit", "third", "--capability", "gpu")
    assert (refused.status, "no machine 'third'" in refused.err) == (4, True)


def test_capabilities_without_a_fleet(world: World) -> None:
    """A repository of its own, and a worker, cannot change any."""
    world.session()
    worker = run(world.root, "--as", "auth", "fleet", "edit", "--capability", "gpu")
    assert "cannot change the fleet" in worker.err
    refused = run(world.root, "fleet", "edit", "--capability", "gpu")
    assert "in no fleet" in refused.err
