"""A backup is a consistent store of its own: complete or absent, while others write."""

import threading
from pathlib import Path

import pytest

from gitworker.errors import Unavailable
from gitworker.model.ids import Oid, Ref
from gitworker.store.api import Store
from gitworker.store.backend import open_store
from gitworker.store.records.tips import all_tips, set_tip

ONE, TWO = Ref("refs/heads/one"), Ref("refs/heads/two")
ROUNDS = 20


def set_both(store: Store, oid: str) -> None:
    """Set both tips in one transaction."""
    with store.write(durable=False) as writer:
        set_tip(writer, ONE, Oid(oid), now=1)
        set_tip(writer, TWO, Oid(oid), now=1)


def tips_of(location: str) -> dict[Ref, Oid]:
    """Return the tips in the store at a location."""
    opened = open_store(location)
    try:
        return all_tips(opened)
    finally:
        opened.close()


def test_a_backup_is_a_store(store: Store, location: str) -> None:
    """A backup has all that was committed, and is independent of its source afterwards."""
    set_both(store, "a")
    store.backup(f"{location}.copy")
    set_both(store, "b")
    assert set(tips_of(f"{location}.copy").values()) == {"a"}
    assert set(tips_of(location).values()) == {"b"}


def test_a_newer_backup_replaces_an_older_one(store: Store, location: str) -> None:
    """The second backup to a location is the state of its own time."""
    for oid in ("a", "b"):
        set_both(store, oid)
        store.backup(f"{location}.copy")
    assert set(tips_of(f"{location}.copy").values()) == {"b"}


def test_a_backup_beside_a_writer(store: Store, location: str) -> None:
    """A backup while another connection writes has each transaction completely or not at all."""
    set_both(store, "0")
    begun, stop = threading.Event(), threading.Event()

    def write() -> None:
        writer = open_store(location)
        number = 0
        while not stop.is_set():
            number += 1
            set_both(writer, str(number))
            begun.set()
        writer.close()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        begun.wait(30)
        for _ in range(ROUNDS):
            store.backup(f"{location}.copy")
            assert len(set(tips_of(f"{location}.copy").values())) == 1
    finally:
        stop.set()
        thread.join()


def test_a_backup_that_cannot_be_written(store: Store, location: str, tmp_path: Path) -> None:
    """A backup without a place is Unavailable, leaves nothing, and the store still works."""
    with pytest.raises(Unavailable):
        store.backup(str(tmp_path / "missing" / "copy"))
    assert not (tmp_path / "missing").exists()
    set_both(store, "a")
    assert set(tips_of(location).values()) == {"a"}
