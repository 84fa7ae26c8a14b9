"""Workers hold tasks by claims: heartbeats renew them, and commands report a lost claim."""

from collections.abc import Callable

import pytest

from gitworker.bus.heartbeat_message import HeartbeatReport, require_claims_kept, send_heartbeat
from gitworker.claims import Claims, open_claims
from gitworker.errors import Conflict
from gitworker.landing.merge import NotLanded
from gitworker.landing.prepare import prepare
from gitworker.landing.window import land
from gitworker.lifecycle.fail import fail
from gitworker.liveness.heartbeat_thread import HeartbeatThread, Report
from gitworker.model.ids import HQ
from gitworker.repo.replay.replay_cache import ReplayCache
from gitworker.store.sqlite.migrate import open_database
from gitworker.workers.start import start
from gitworker.workers.submit import Submission, submit
from tests.claims.scene import LEASE_MS, Clocks, Scene, refused
from tests.store.support import foreign, participant
from tests.workers.world import World, kept, unchanged, wait_until

EXPIRE = "UPDATE task_claims SET lease_until_ms = 1"


def steal(world: World, task: str) -> None:
    """Let a lease end and a foreign program take the task over."""
    foreign(f"{world.state_dir}/bus.db", EXPIRE)
    assert participant(world.state_dir, "claim", task, "nim") is True


def claims_of(world: World, holder: str) -> Claims:
    """Return the claims of a holder in a repository."""
    session = world.session()
    return Claims(session.store, session.paths, holder=holder)


def start_late(world: World) -> Callable[[], object]:
    """Return a late start of work."""
    world.spawn("auth", "login")
    steal(world, "login")
    return lambda: start(world.session(), "auth", pid=None)


def submit_late(world: World) -> Callable[[], object]:
    """Return a late submit."""
    world.working("auth", "login", {"a": "1\n"})
    steal(world, "login")
    return lambda: submit(world.session(), "auth", Submission())


@pytest.mark.parametrize("prepare_late", [start_late, submit_late])
def test_late_workers_are_refused(
    world: World, prepare_late: Callable[[World], Callable[[], object]]
) -> None:
    """A worker whose task was taken over is refused with the holder, even if it is free again."""
    call = prepare_late(world)
    with unchanged(world, "claimed", Conflict) as caught:
        call()
    assert "login is claimed by nim" in caught.value.message
    foreign(f"{world.state_dir}/bus.db", EXPIRE)
    with unchanged(world, "claim_lost", Conflict):
        call()
    participant(world.state_dir, "release", "login", "nim")
    with unchanged(world, "claim_lost", Conflict) as caught:
        call()
    assert caught.value.hint == "git worker claim take login"
    claims_of(world, "auth").take("login")
    call()


def test_an_idle_lease_is_still_the_workers(world: World) -> None:
    """A lease that ran out without another holder does not restrict its worker."""
    world.working("auth", "login", {"a": "1\n"})
    foreign(f"{world.state_dir}/bus.db", EXPIRE)
    world.submit("auth")
    participant(world.state_dir, "release", "login", "auth")
    world.approve("auth")
    world.land("auth")


def test_a_task_with_a_foreign_claim_does_not_land(world: World) -> None:
    """Work on a task that another program holds does not land until the claim is released."""
    world.approved("auth", "login", {"a": "1\n"})
    world.approved("docs", "pages", {"b": "1\n"})
    steal(world, "login")
    waiting, landed = world.merge("auth", "docs")
    assert isinstance(waiting, NotLanded)
    assert (waiting.error.code, waiting.error.status) == ("claimed", 3)
    assert not isinstance(landed, NotLanded)
    participant(world.state_dir, "release", "login", "nim")
    world.land("auth")


def test_a_task_that_is_taken_while_it_lands(world: World) -> None:
    """A task that is claimed between the check and the journal entry does not land."""
    world.approved("auth", "login", {"a": "1\n"})
    session = world.session()
    prepared = prepare(session, world.worker("auth"), onto=None, memory=ReplayCache())
    steal(world, "login")
    with kept(world, "claimed", Conflict):
        land(session, [prepared], keep=False)


def test_a_failure_releases_the_claim(world: World) -> None:
    """A failed task is free for the next worker, and the last worker has lost nothing."""
    world.working("auth", "login", {"a": "1\n"})
    fail(world.session(), "auth", reason="no")
    assert world.query("SELECT * FROM task_claims") == []
    assert world.query("SELECT * FROM claim_grants") == []
    assert world.query("SELECT * FROM claim_clocks") == []


def test_claims_before_an_assignment(world: World) -> None:
    """A worker's claimed task is assigned to no other worker, and to it under the same epoch."""
    world.spawn("auth", "login")
    with refused("conflict", "task login is assigned, held by auth"):
        claims_of(world, "docs").take("login")
    assert claims_of(world, "auth").take("login").epoch == 1
    assert claims_of(world, "auth").require("login", epoch=1).holder == "auth"


def test_heartbeats_renew(scene: Scene, clocks: Clocks) -> None:
    """A heartbeat renews every lease of its agent, and no other."""
    for name, holder in (("x:a", "auth"), ("path:b", "auth"), ("x:c", "docs")):
        scene.of(holder).take(name)
    clocks.pass_ms(30_000)
    clocks.jump_ms(-3_600_000)
    send_heartbeat(scene.store, scene.paths, worker="auth", sign=HeartbeatReport(), lease_ms=60_000)
    lefts = {name: left for name, _, _, left in scene.claims()}
    assert lefts == {"x:a": 60_000, "path:b": 60_000, "x:c": 30_000}


def test_a_heartbeat_reports_lost_claims(scene: Scene, clocks: Clocks) -> None:
    """A late heartbeat reports a lost claim once, and the loss of the worker's task every time."""
    with scene.store.write() as writer:
        writer.run("workers.insert", worker="auth", now=1)
        writer.run(
            "workers.set_assignment", worker="auth", task="t", branch="auth/t", base_oid=None,
            worktree=None, admin_dir=None, now=1,
        )  # fmt: skip
    scene.add_task("t")
    for name in ("t", "x:a"):
        scene.of("auth").take(name)
    require_claims_kept(scene.store, "auth")
    clocks.pass_ms(60_000)
    require_claims_kept(scene.store, "auth")
    for name in ("t", "x:a"):
        scene.of("docs").take(name)
    with refused("claim_lost", "t (held by docs now), x:a (held by docs now)"):
        require_claims_kept(scene.store, "auth")
    scene.of("docs").release("t")
    for _ in range(2):
        with refused("claim_lost", "auth lost its claim on t (free now)"):
            require_claims_kept(scene.store, "auth")
    scene.of("auth").take("t")
    require_claims_kept(scene.store, "auth")


def test_the_heartbeat_thread_renews(scene: Scene, clocks: Clocks) -> None:
    """A thread that sends heartbeats renews its agent's leases; without it they end."""
    scene.of("auth").take("x:a")
    thread = HeartbeatThread(lambda: open_database(scene.paths.database), every_s=0.05)
    thread.start()
    thread.put(Report("auth"))
    for _ in range(3):
        clocks.pass_ms(LEASE_MS - 1)
        wait_until(lambda: scene.of("auth").require("x:a").left_ms == LEASE_MS)
    assert not scene.of("docs").check("x:a")
    thread.stop(timeout_s=60)
    clocks.pass_ms(LEASE_MS)
    assert not scene.of("auth").check("x:a")
    assert scene.of("docs").take("x:a").epoch == 2


def test_agents_in_python(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library opens the repository of the current directory with the caller's identity."""
    place = world.spawn("auth", "login").path
    monkeypatch.chdir(place)
    with open_claims() as claims:
        assert (claims.holder, [one.name for one in claims.held()]) == ("auth", ["login"])
        assert claims.take("path:src/**", ttl_s=600).left_ms == 600_000
    monkeypatch.chdir(world.root)
    with open_claims() as claims:
        assert claims.holder == HQ
    with open_claims(holder="docs", lease_s=5) as claims, refused("claimed"):
        claims.take("path:src/app.py")


def test_the_library_is_named() -> None:
    """The package exports the documented names and no others."""
    import gitworker.claims

    assert gitworker.claims.Claim._fields[:3] == ("name", "holder", "epoch")
    with pytest.raises(AttributeError, match="nothing"):
        _ = gitworker.claims.nothing
