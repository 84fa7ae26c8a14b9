"""Several approved workers land by one fast-forward, and none blocks another."""

from fixtures.repos import Repo
from gitworker.landing.merge import Landed, NotLanded
from gitworker.workers.approve import approve
from tests.workers.world import World


def landed(results: list[Landed | NotLanded]) -> list[str]:
    """Return the workers that landed."""
    return [result.worker_id for result in results if isinstance(result, Landed)]


def approve_three(world: World, **files: dict[str, str]) -> None:
    """Approve three workers, each with one file of its own and the given extra files."""
    for name in ("amy", "bob", "cat"):
        world.approved(name, f"t-{name}", {name: "1\n", **files.get(name, {})})


def test_one_fast_forward(world: World) -> None:
    """Workers that fit on top of each other move the target once, in the order named."""
    approve_three(world)
    before = len(world.git("reflog", "show", "main").splitlines())
    assert landed(world.merge("cat", "amy", "bob")) == ["cat", "amy", "bob"]
    assert len(world.git("reflog", "show", "main").splitlines()) == before + 1
    names = world.git("log", "--format=", "--name-only", "--reverse", "main~3..main").split()
    assert names == ["cat", "amy", "bob"]
    rows = world.query("SELECT target_old, target_new FROM landings ORDER BY id")
    assert [old for old, _ in rows[1:]] == [new for _, new in rows[:-1]]
    assert world.worktrees() == []


def test_conflict_inside_the_window(world: World) -> None:
    """A worker that conflicts with an earlier one returns to WORKING, and the later ones land."""
    approve_three(world, amy={"README": "amy\n"}, bob={"README": "bob\n"})
    first, second, third = world.merge("amy", "bob", "cat")
    assert landed([first, third]) == ["amy", "cat"]
    assert isinstance(second, NotLanded)
    assert (second.error.status, second.error.code) == (3, "rebase_conflict")
    assert world.states("bob", "t-bob") == ("WORKING", "IN_PROGRESS")


def test_one_worker_overlaps_uncommitted_work(world: World) -> None:
    """If one worker overlaps the user's uncommitted work, the others land without it."""
    approve_three(world, bob={"README": "bob\n"})
    Repo(world.root).write({"README": "the user's\n"})
    results = world.merge(everything=True)
    assert landed(results) == ["amy", "cat"]
    assert world.states("bob", "t-bob") == ("APPROVED", "AWAITING_APPROVAL")
    assert (world.root / "README").read_text() == "the user's\n"
    world.git("checkout", "-q", "README")
    world.land("bob")


def test_named_twice(world: World) -> None:
    """A worker that is named twice, by its task the second time, lands once."""
    approve_three(world)
    assert set(landed(world.merge("amy", "t-amy", "bob"))) == {"amy", "bob"}
    assert len(world.query("SELECT * FROM landings")) == 2
    assert world.query("SELECT * FROM operations WHERE status = 'open'") == []


def test_no_worker_waits(world: World) -> None:
    """Nothing lands if no worker is approved."""
    assert world.merge(everything=True) == []


def test_one_was_changed_since(world: World) -> None:
    """A worker whose approval no longer holds is left out of the window."""
    approve_three(world)
    world.commit("bob", {"late": "x\n"})
    assert landed(world.merge(everything=True)) == ["amy", "cat"]
    assert world.worker("bob").state == "IN_REVIEW"
    approve(world.session(), "bob", at="bob/t-bob")
    assert landed(world.merge(everything=True)) == ["bob"]
