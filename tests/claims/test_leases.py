"""Claims: one holder at a time, growing epochs, leases that end by the right clock."""

import pytest

from gitworker.model.task import TaskEvent
from gitworker.store.claims import renew_claims
from tests.claims.scene import LEASE_MS, Clocks, Scene, refused
from tests.hints.following import note

HOUR_MS = 3_600_000
ENDS = [(LEASE_MS - 1, False), (LEASE_MS, True)]


def test_one_holder(scene: Scene, clocks: Clocks) -> None:
    """A second claim is refused with the holder and the time, and nothing changes."""
    claim = scene.of("auth").take("x:db")
    assert (claim.name, claim.holder, claim.epoch, claim.left_ms) == ("x:db", "auth", 1, LEASE_MS)
    clocks.pass_ms(10_000)
    with refused("claimed", "x:db is claimed by auth for another 50 s, until 2023-11-14T22:14:20Z"):
        scene.of("docs").take("x:db")
    assert scene.claims() == [("x:db", "auth", 1, 50_000)]
    assert scene.of("auth").held() == scene.of("docs").everybodys()
    assert scene.of("docs").held() == []


def test_a_holder_may_take_its_claim_again(scene: Scene, clocks: Clocks) -> None:
    """A worker that takes its own claim again keeps its epoch."""
    auth = scene.of("auth")
    auth.take("x:db")
    clocks.pass_ms(10_000)
    again = auth.take("x:db")
    assert (again.epoch, again.left_ms) == (1, LEASE_MS)


def test_each_shell_is_its_own_hq(scene: Scene) -> None:
    """A claim that one shell took as hq is refused to another shell."""
    scene.of("hq").take("x:deploy")
    with refused("claimed", "hq"):
        scene.of("hq").take("x:deploy")


@pytest.mark.parametrize(("after_ms", "is_free"), ENDS)
@pytest.mark.parametrize("jump_ms", [-HOUR_MS, 0, 120_000])
def test_a_takeover_is_possible_at_expiry_only(
    scene: Scene, clocks: Clocks, after_ms: int, is_free: bool, jump_ms: int
) -> None:
    """A silent holder's claim is free when its lease ends, whatever the wall clock does."""
    scene.of("auth").take("x:db")
    clocks.pass_ms(after_ms)
    clocks.jump_ms(jump_ms)
    if is_free:
        assert scene.of("docs").take("x:db").epoch == 2
    else:
        with refused("claimed", "auth"):
            scene.of("docs").take("x:db")


@pytest.mark.parametrize(("after_ms", "is_free"), ENDS)
def test_after_a_boot_the_wall_clock_counts(
    scene: Scene, clocks: Clocks, after_ms: int, is_free: bool
) -> None:
    """After a boot a lease ends by the wall clock."""
    scene.of("auth").take("x:db")
    clocks.boot_id, clocks.mono_ms = "next-boot", 7
    clocks.jump_ms(after_ms)
    assert scene.of("auth").check("x:db") is not is_free


def test_late_holders_are_refused(scene: Scene, clocks: Clocks) -> None:
    """Every call of a holder that was taken over is refused, even after a release."""
    auth, docs = scene.of("auth"), scene.of("docs")
    epoch = auth.take("x:db").epoch
    clocks.pass_ms(LEASE_MS)
    docs.take("x:db")
    message = "auth lost its claim on x:db (epoch 1); docs holds it now"
    for call in (auth.renew, auth.release, auth.require):
        with refused("claim_lost", message):
            call("x:db")
        with refused("claim_lost", message):
            call("x:db", epoch=epoch)
    assert not auth.check("x:db")
    docs.release("x:db")
    with refused("claim_lost", "the claim is free now"):
        auth.renew("x:db")
    assert auth.take("x:db").epoch == 3


def test_an_older_self_is_refused_by_its_epoch(scene: Scene, clocks: Clocks) -> None:
    """A process with an older epoch of its own claim is refused after its successor's claim."""
    auth = scene.of("auth")
    old = auth.take("x:db").epoch
    clocks.pass_ms(LEASE_MS)
    new = auth.take("x:db").epoch
    assert (old, new) == (1, 2)
    with refused("claim_lost", "another epoch"):
        auth.renew("x:db", epoch=old)
    assert auth.renew("x:db", epoch=new).epoch == new


def test_an_expired_claim_without_a_successor(scene: Scene, clocks: Clocks) -> None:
    """It does not hold, but its holder may renew it under the same epoch."""
    auth = scene.of("auth")
    auth.take("x:db")
    clocks.pass_ms(LEASE_MS + 5_000)
    assert not auth.check("x:db")
    with refused("claim_expired", "expired 5 s ago"):
        auth.require("x:db")
    assert scene.claims() == [("x:db", "auth", 1, -5_000)]
    renewed = auth.renew("x:db", epoch=1)
    note("git worker claim renew x:db", "expired 5 s ago")
    assert (renewed.epoch, renewed.left_ms) == (1, LEASE_MS)
    assert auth.require("x:db", epoch=1) == renewed


def test_release(scene: Scene) -> None:
    """A released claim is free, under the next epoch; a second release reports that."""
    auth = scene.of("auth")
    auth.take("x:db")
    auth.release("x:db")
    with refused("not_found", "auth holds no claim on x:db"):
        auth.release("x:db")
    assert scene.of("docs").take("x:db").epoch == 2
    with refused("conflict", "x:db is claimed by docs, not by auth"):
        auth.renew("x:db")


def test_lengths(scene: Scene, clocks: Clocks) -> None:
    """A lease has the length that was asked for, and heartbeats renew it for that long."""
    auth = scene.of("auth")
    auth.take("x:short", ttl_s=1.5)
    auth.take("x:usual")
    clocks.pass_ms(1_000)

    def lefts(setting_ms: int | None) -> list[int]:
        with scene.store.write() as writer:
            renew_claims(writer, "auth", setting_ms=setting_ms)
        return [left for *_, left in scene.claims()]

    assert lefts(None) == [1_500, LEASE_MS]
    assert lefts(90_000) == [1_500, 90_000]
    clocks.jump_ms(-HOUR_MS)
    clocks.pass_ms(1_000)
    assert lefts(None) == [1_500, 90_000]
    assert auth.renew("x:usual", ttl_s=5).left_ms == 5_000
    assert lefts(90_000) == [1_500, 5_000]
    with refused("invalid", "is not possible"):
        auth.take("x:other", ttl_s=0)


def test_overlapping_paths(scene: Scene) -> None:
    """A pattern is refused if it shares a path with another holder's pattern."""
    auth, docs = scene.of("auth"), scene.of("docs")
    auth.take("path:src/auth/**")
    assert auth.take("path:src/auth/login.py").epoch == 1
    for name in ("path:src/*/login.py", "path:src", "path:**", "path:src/auth/"):
        with refused("claimed", "overlaps path:src/auth/"):
            docs.take(name)
    docs.take("path:docs/**")
    assert docs.take("x:src/auth/**").epoch == 1


def test_an_expired_overlap_is_lost(scene: Scene, clocks: Clocks) -> None:
    """A claim on paths of an expired pattern takes that pattern from its holder."""
    auth, docs = scene.of("auth"), scene.of("docs")
    auth.take("path:src/**")
    clocks.pass_ms(LEASE_MS)
    docs.take("path:src/a.py")
    with refused("claim_lost", "auth lost its claim on path:src/** (epoch 1)"):
        auth.renew("path:src/**")
    with refused("claimed", "overlaps path:src/a.py"):
        auth.take("path:src/**")
    assert [name for name, *_ in scene.claims()] == ["path:src/a.py"]


def test_tasks(scene: Scene) -> None:
    """A task can be claimed if it is known and READY, and the bus gets one message."""
    auth = scene.of("auth")
    with refused("not_found", "there is no task t1"):
        auth.take("t1")
    scene.add_task("t1", TaskEvent.DEPS_MET)
    auth.take("t1")
    auth.take("t1")
    with refused("claimed", "auth"):
        scene.of("docs").take("t1")
    scene.of("docs").take("x:t1")
    (message,) = scene.store.rows("messages.follow", after=0, limit=9)
    sent = (message["type"], message["from_agent"], message["correlation_id"])
    assert sent == ("task_claim", "auth", "t1")
    scene.add_task("t2", TaskEvent.DEPS_MET, TaskEvent.ASSIGNED)
    with refused("conflict", "task t2 is assigned, held by another worker"):
        auth.take("t2")
    scene.add_task("t3", TaskEvent.DEPS_MET, TaskEvent.USER_CANCELLED)
    with refused("refused", "task t3 was cancelled"):
        auth.take("t3")
    with scene.store.read() as reader:
        assert reader.row("tasks.by_id", task="t1")["status"] == "READY"  # type: ignore[index]


def test_bad_names(scene: Scene) -> None:
    """An invalid name is refused by every call."""
    auth = scene.of("auth")
    for call in (auth.take, auth.renew, auth.release, auth.require, auth.check):
        with refused("invalid"):
            call("x:\x1b[31m")


def test_one_hq_cannot_release_the_claim_of_another(scene: Scene, clocks: Clocks) -> None:
    """A claim that one `hq` took over from another cannot be renewed or released by the first."""
    first, second = scene.of("hq"), scene.of("hq")
    first.take("x:deploy", ttl_s=1)
    clocks.pass_ms(1200)
    second.take("x:deploy")
    assert (first.check("x:deploy"), second.check("x:deploy")) == (False, True)
    for call in (first.renew, first.release, first.require):
        with refused("claim_lost"):
            call("x:deploy")
    assert second.renew("x:deploy").epoch == 2
    second.release("x:deploy")
    assert second.held() == []
