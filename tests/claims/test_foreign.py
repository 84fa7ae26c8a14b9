"""Programs after seed 2 claim beside us: theirs hold against us, ours against them."""

import pytest

from gitworker import clock
from tests.claims.scene import LEASE_MS, Scene, refused
from tests.store.support import foreign, participant


def test_both_keep_the_others_claims(scene: Scene) -> None:
    """A valid claim is refused across programs, whoever made it."""
    root, auth = scene.paths.root, scene.of("auth")
    auth.take("x:ours")
    assert participant(root, "claim", "x:ours", "nim") is False
    assert participant(root, "claim", "x:theirs", "nim") is True
    with refused("claimed", "nim"):
        auth.take("x:theirs")
    assert participant(root, "renew", "x:theirs", "nim") is True
    participant(root, "release", "x:theirs", "nim")
    assert auth.take("x:theirs").epoch == 2


def test_a_foreign_reclaim_fences_us(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A foreign program that takes an expired claim of ours over makes us late."""
    now_ms = clock.now_ms() - 2 * LEASE_MS
    monkeypatch.setattr("gitworker.clock.now_ms", lambda: now_ms)
    epoch = scene.of("auth").take("x:db").epoch
    monkeypatch.undo()
    assert participant(scene.paths.root, "claim", "x:db", "nim") is True
    with refused("claim_lost", "nim holds it now"):
        scene.of("auth").renew("x:db", epoch=epoch)
    assert scene.claims()[0][:3] == ("x:db", "nim", 2)
    assert not scene.of("docs").check("x:db")


def test_a_foreign_renewal_counts(scene: Scene) -> None:
    """Where a foreign program renews a lease of ours, its wall clock counts from then on."""
    auth = scene.of("auth")
    auth.take("x:db", ttl_s=1)
    assert participant(scene.paths.root, "renew", "x:db", "auth") is True
    assert auth.require("x:db").left_ms > LEASE_MS // 2
    assert auth.renew("x:db").left_ms > LEASE_MS // 2, "a renewal made it shorter"


def test_our_own_agent_may_be_foreign(scene: Scene) -> None:
    """A worker whose agent reclaims by seed 2's own SQL has lost nothing."""
    auth = scene.of("auth")
    auth.take("x:db")
    foreign(scene.paths.database, "UPDATE task_claims SET lease_until_ms = 1")
    assert participant(scene.paths.root, "claim", "x:db", "auth") is True
    assert auth.renew("x:db").epoch == 2
    with refused("claim_lost"):
        auth.renew("x:db", epoch=1)


@pytest.mark.parametrize("until", ["4611686018427387904", "-5", "'soon'", "x'00'"])
def test_senseless_leases_stop_nobody(scene: Scene, until: str) -> None:
    """Whatever a foreign program wrote as a lease's end, looking and claiming go on."""
    insert = f"INSERT INTO task_claims VALUES ('path:[', 'n', 1, {until})"
    assert foreign(scene.paths.database, insert) == [[]]
    assert [one.name for one in scene.of("auth").everybodys()] == ["path:["]
    scene.of("auth").take("path:src")
    with refused("invalid"):
        scene.of("auth").take("path:[")


def test_senseless_holders_stop_nobody(scene: Scene) -> None:
    """A holder and a name that are no text are shown as far as they are."""
    insert = "INSERT INTO task_claims VALUES (x'41ff', x'ff', 1, 2)"
    assert foreign(scene.paths.database, insert) == [[]]
    assert [(one.name, one.holder) for one in scene.of("auth").everybodys()] == [
        ("A\ufffd", "\ufffd")
    ]
