"""Power cuts: every promised message survives, on any disk that obeys a sync."""

import os
import pickle
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gitworker.app import DIRECTORIES
from gitworker.bus import open_bus
from gitworker.bus.files.export import BUS, export_logs, read_lines
from gitworker.paths import StatePaths
from gitworker.store.sqlite.migrate import open_database
from tests.bus.power import Disk, Event, Files, without_our_syncs, without_syncs

SCALE = int(os.environ.get("GITWORKER_TEST_SCALE", "1"))
EACH = 150
CUTS = 100 * SCALE
CONTROL_CUTS = 30
RECORDING = Path(__file__).with_name("recording.py")


@dataclass(frozen=True)
class Life:
    """A recorded run: its state directory and its events."""

    root: str
    events: list[Event]


@dataclass
class Losses:
    """The damage after some cuts."""

    lost: Counter[int] = field(default_factory=Counter)  # promised messages, by the cut's number
    damaged: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """Four senders and a reader, recorded once for all tests of this module."""
    place = tmp_path_factory.mktemp("life")
    root = place / "worker-state"
    for name in DIRECTORIES:
        (root / name).mkdir(parents=True)
    argv = [sys.executable, str(RECORDING), str(root), str(place / "events"), str(EACH)]
    subprocess.run(argv, check=True, env={"PATH": os.environ["PATH"]}, timeout=120)
    return Life(str(root), pickle.loads((place / "events").read_bytes()))


def cuts(events: list[Event], number: int, chance: random.Random) -> Iterator[tuple[int, Files]]:
    """Yield the files after power cuts at random moments of the bus's life, in time order."""
    begun = events.index(("published", ""))
    moments = Counter(chance.randint(begun + 1, len(events)) for _ in range(number))
    disk = Disk()
    for index in range(len(events) + 1):
        for _ in range(moments[index]):
            yield index, disk.cut_power(chance)
        if index < len(events):
            disk.play(index, events[index])


def losses(life: Life, events: list[Event], place: Path, *, number: int, seed: int) -> Losses:
    """Open the bus after each of so many cuts and return the damage."""
    found = Losses()
    chance = random.Random(seed)
    for cut, (moment, files) in enumerate(cuts(events, number, chance)):
        root = place / str(cut)
        for path, content in files.items():
            file = root / Path(path).relative_to(life.root)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        promised = {event[1] for event in events[:moment] if event[0] == "published" and event[1]}
        try:
            found.lost[cut] = len(promised - sound(StatePaths(str(root))))
        except Exception as error:  # noqa: BLE001 - whatever a broken database leads to
            found.damaged.append(f"cut {cut} at {moment}: {error!r}")
    return found


def torn_logs(
    life: Life, place: Path, *, number: int, seed: int
) -> Iterator[tuple[list[str], list[str]]]:
    """Cut the power so often, export afterwards, and yield the found and the wanted lines."""
    chance = random.Random(seed)
    for cut, (_, files) in enumerate(cuts(life.events, number, chance)):
        root = place / f"log-{cut}"
        for path, content in files.items():
            file = root / Path(path).relative_to(life.root)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        paths = StatePaths(str(root))
        store = open_database(paths.database)
        try:
            export_logs(store, paths)
            lines = read_lines(store, BUS, 0, limit=-1)
        finally:
            store.close()
        found = Path(paths.bus_log).read_bytes().decode("utf-8", "replace").splitlines()
        yield found, [(line or b"").decode() for _, line in lines]


def sound(paths: StatePaths) -> set[str]:
    """Return the messages of a bus that is consistent and usable; fail otherwise."""
    store = open_database(paths.database)
    try:
        assert store.execute("PRAGMA integrity_check") == [{"integrity_check": "ok"}]
        rows = store.execute("SELECT seq, id, from_agent, payload_ref FROM messages ORDER BY seq")
        cursors = store.execute("SELECT last_acked_seq FROM cursors")
    finally:
        store.close()
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
    assert all(cursor["last_acked_seq"] <= len(rows) for cursor in cursors)
    for sender in {row["from_agent"] for row in rows}:
        sent = [row["id"] for row in rows if row["from_agent"] == sender]
        assert sent == [f"{sender}-{number:05}" for number in range(len(sent))]
    for row in rows:
        if row["payload_ref"] is not None:
            assert row["id"] in Path(paths.blobs, row["payload_ref"]).read_text()
    with open_bus(paths.root, agent="after") as bus:
        bus.publish("x-note", id="after")
        assert bus.poll(len(rows) + 1)[-1]["id"] == "after"
    return {row["id"] for row in rows}


@pytest.mark.slow
def test_no_promised_message_is_lost(life: Life, tmp_path: Path) -> None:
    """With our settings no cut loses a promised message, a payload or the database."""
    found = losses(life, life.events, tmp_path, number=CUTS, seed=1)
    assert found.damaged == []
    assert sum(found.lost.values()) == 0
    assert len(found.lost) == CUTS


@pytest.mark.slow
def test_normal_alone_loses_messages(life: Life, tmp_path: Path) -> None:
    """Without our own sync the same run loses promised messages, but never the database."""
    events = without_our_syncs(life.events)
    found = losses(life, events, tmp_path, number=CONTROL_CUTS, seed=2)
    assert found.damaged == []
    assert sum(count > 0 for count in found.lost.values()) > CONTROL_CUTS // 3


@pytest.mark.slow
def test_a_disk_that_ignores_syncs_breaks_the_database(life: Life, tmp_path: Path) -> None:
    """If every sync is ignored the database itself breaks, so the simulation can cause damage."""
    found = losses(life, without_syncs(life.events), tmp_path, number=CONTROL_CUTS, seed=3)
    assert len(found.damaged) > CONTROL_CUTS // 3


@pytest.mark.slow
def test_the_log_has_no_hole_after_a_cut(
    life: Life, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the boot after a cut the exported log is complete again, whatever the disk kept of it."""
    monkeypatch.setattr("gitworker.clock.boot_id", lambda: "the next")
    for found, wanted in torn_logs(life, tmp_path, number=CUTS, seed=4):
        assert found == wanted


@pytest.mark.slow
def test_a_log_that_is_not_checked_has_holes(life: Life, tmp_path: Path) -> None:
    """If the boot counts as the same one, some cuts leave a hole, so there is one to repair."""
    logs = torn_logs(life, tmp_path, number=CUTS, seed=4)
    assert any(found != wanted for found, wanted in logs)


def test_the_disk_keeps_synced_writes() -> None:
    """Synced writes survive every cut; later ones survive in any part, or as single sectors."""
    disk = Disk()
    disk.play(0, ("write", "f", 0, b"a" * 1024))
    disk.play(1, ("write", "f", 0, b"b" * 1024))
    disk.play(2, ("sync", "f", "ours", 1))
    chance = random.Random(0)
    seen = {disk.cut_power(chance)["f"] for _ in range(200)}
    a, b = b"a" * 512, b"b" * 512
    assert seen == {a + a, a + b, b + a, b + b}
    disk.play(3, ("sync", "f", "ours", 3))
    assert {disk.cut_power(chance)["f"] for _ in range(50)} == {b + b}


def test_the_disk_renames_with_its_directory() -> None:
    """A new name may be missing until the directory is synced; the old content never is."""
    disk = Disk()
    disk.play(0, ("write", "d/old", 0, b"a"))
    disk.play(1, ("sync", "d/old", "ours", 1))
    disk.play(2, ("rename", "d/old", "d/new"))
    chance = random.Random(0)
    seen = {tuple(disk.cut_power(chance).items()) for _ in range(50)}
    assert seen == {(("d/old", b"a"),), (("d/new", b"a"),)}
    disk.play(3, ("sync", "d", "ours", 3))
    assert {tuple(disk.cut_power(chance).items()) for _ in range(50)} == {(("d/new", b"a"),)}
