"""Work that is handed in while the fleet cannot be reached."""

import os
from collections.abc import Iterator

import pytest

from gitworker import clock
from gitworker.bus.blobs import save_blob
from gitworker.bus.files.collect_blobs import CollectedBlobs, collect_blobs
from tests.cli.kit import ok, run
from tests.fleet.conftest import Door
from tests.store.machines import Machine
from tests.workers.world import World, wait_until

STATE = "SELECT state FROM workers WHERE worker_id = 'auth'"


@pytest.fixture
def cut_off(world: World, door: Door) -> Iterator[World]:
    """A machine with a commit to hand in, which cannot reach its fleet."""
    world.session()
    ok(world.root, "fleet", "join", door.location, "--name", "one")
    world.spawn("auth", "login")
    world.commit("auth", {"a": "1\n"})
    ok(world.root, "status")
    door.shut()
    yield world
    Machine(world.state_dir).kill_link()


@pytest.mark.parametrize("link_ends", [False, True])
def test_a_hand_in_is_made_later(cut_off: World, door: Door, *, link_ends: bool) -> None:
    """The work is handed in once, with its note, as soon as the fleet can be reached."""
    answer = run(cut_off.root, "done", "auth", "-m", "it works")
    assert answer.status == 0, answer
    assert "is handed in later" in answer.out
    assert run(cut_off.root, "done", "auth", "-m", "it works", "--json").document["put_off"]
    assert cut_off.query(STATE) == [("WORKING",)]
    if link_ends:
        Machine(cut_off.state_dir).kill_link()
    door.open()
    if link_ends:
        Machine(cut_off.state_dir).start_link()
    wait_until(lambda: cut_off.query(STATE) == [("IN_REVIEW",)])
    wait_until(lambda: cut_off.query("SELECT COUNT(*) FROM fleet_hand_ins") == [(0,)])
    notes = cut_off.query("SELECT note FROM reviews WHERE verdict = 'requested'")
    assert notes == [("it works",)]


def test_a_hand_in_that_is_refused_later(cut_off: World, door: Door) -> None:
    """The bus has the reason, and it is not tried again."""
    ok(cut_off.root, "done", "auth")
    cut_off.git("reset", "-q", "--hard", "main", cwd=cut_off.path("auth"))
    door.open()
    wait_until(lambda: cut_off.query("SELECT COUNT(*) FROM fleet_hand_ins") == [(0,)])
    assert "the hand-in was refused" in ok(cut_off.root, "log")
    assert cut_off.query(STATE) == [("WORKING",)]


def test_a_message_that_waits_keeps_its_content(world: World) -> None:
    """A blob that a message needs which could not be published for days is not collected."""
    session = world.session()
    blobs = session.paths.blobs
    ref = save_blob(blobs, b'"late"')
    os.utime(f"{blobs}/{ref}", (1, 1))
    with session.store.write_own() as writer:
        writer.run(
            "fleet.send", id="a", ts_ms=1, from_agent="hq", to_agent=None, type="x",
            correlation_id=None, in_reply_to=None, payload=None, payload_ref=ref,
        )  # fmt: skip
    assert collect_blobs(session.store, blobs, now_ms=clock.now_ms()) == CollectedBlobs(0, 0)
    assert os.listdir(blobs) == [ref]
