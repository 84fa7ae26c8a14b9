"""Foreign programs claim beside us: their claims hold against us, ours against them."""

import pytest

from gitworker import clock
from tests.claims.scene import LEASE_MS, Scene, refused
from tests.store.support import foreign, participant


def test_both_keep_the_others_claims(scene: Scene) -> None:
    """A valid claim refuses other programs, whichever program made it."""
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
    """A foreign program that takes over our expired claim makes us late."""
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
    """If a foreign program renews our lease, its wall clock counts from then on."""
    auth = scene.of("auth")
    auth.take("x:db", ttl_s=1)
    assert participant(scene.paths.root, "renew", "x:db", "auth") is True
    assert auth.require("x:db").left_ms > LEASE_MS // 2
    assert auth.renew("x:db").left_ms > LEASE_MS // 2, "a renewal made it shorter"


def test_our_own_agent_may_be_foreign(scene: Scene) -> None:
    """A worker whose agent reclaims with the documented SQL has lost nothing."""
    auth = scene.of("auth")
    auth.take("x:db")
    foreign(scene.paths.database, "UPDATE task_claims SET lease_until_ms = 1")
    assert participant(scene.paths.root, "claim", "x:db", "auth") is True
    assert auth.renew("x:db").epoch == 2
    with refused("claim_lost"):
        auth.renew("x:db", epoch=1)


@pytest.mark.parametrize("until", ["4611686018427387904", "-5", "'soon'", "x'00'"])
def test_malformed_leases_do_no_harm(scene: Scene, until: str) -> None:
    """A malformed end of a foreign lease stops neither reading nor claiming."""
    insert = f"INSERT INTO task_claims VALUES ('path:[', 'n', 1, {until})"
    assert foreign(scene.paths.database, insert) == [[]]
    assert [one.name for one in scene.of("auth").everybodys()] == ["path:["]
    scene.of("auth").take("path:src")
    with refused("invalid"):
        scene.of("auth").take("path:[")


def test_malformed_holders_do_no_harm(scene: Scene) -> None:
    """A holder or name that is not text is shown as far as it is readable."""
    insert = "INSERT INTO task_claims VALUES (x'41ff', x'ff', 1, 2)"
    assert foreign(scene.paths.database, insert) == [[]]
    assert [(one.name, one.holder) for one in scene.of("auth").everybodys()] == [
        ("A\ufffd", "\ufffd")
    ]
