"""A worktree inside a worker's worktree, as some agents make them, is never deleted with it."""

from pathlib import Path

from gitworker.lifecycle.fail import fail
from gitworker.workers.cancel import cancel, reset
from tests.workers.world import World, unchanged


def nested(world: World, place: Path) -> Path:
    """Make a worktree in an ignored directory of another, with work that is nowhere else."""
    inner = place / "agents.o" / "inner"
    world.git("worktree", "add", "-q", "-b", "inner", str(inner), cwd=place)
    (inner / "precious").write_text("uncommitted\n")
    return inner


def test_landing(world: World) -> None:
    """The worktree of landed work is kept if another lies in it, and the result names that one."""
    place = world.approved("auth", "login", {"a": "1\n"})
    inner = nested(world, place)
    landed = world.land("auth")
    assert landed.kept == str(place)
    assert str(inner) in str(landed.kept_why)
    assert (inner / "precious").read_text() == "uncommitted\n"
    world.git("worktree", "remove", "--force", str(inner))
    world.spawn("auth", "next")
    assert not place.exists()


def test_cancel(world: World) -> None:
    """Work is not withdrawn while another worktree is inside its worktree."""
    inner = nested(world, world.working("auth", "login", {"a": "1\n"}))
    with unchanged(world, "nested"):
        cancel(world.session(), "auth")
    fail(world.session(), "auth", reason="stuck")
    with unchanged(world, "nested"):
        reset(world.session(), "auth")
    world.git("worktree", "move", str(inner), str(world.root.parent / "inner"))
    reset(world.session(), "auth")
    assert (world.root.parent / "inner/precious").exists()
