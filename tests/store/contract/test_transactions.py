"""Transactions: one writer at a time, complete or not at all, snapshots, compare-and-set."""

import threading

import pytest

from gitworker.model.ids import Oid, Ref
from gitworker.store.api import Store
from gitworker.store.backend import create_store, open_store
from gitworker.store.records.tips import all_tips, find_tip, move_tip, set_tip
from gitworker.store.target import change_target, find_target, record_target
from gitworker.store.workers import add_worker, all_workers

REF = Ref("refs/heads/main")
DEADLINE_S = 30
THREADS, EACH = 4, 25


def test_a_commit_is_visible_to_others(store: Store, other: Store) -> None:
    """Other connections see a transaction after its end, and nothing of it before."""
    with store.write() as writer:
        set_tip(writer, REF, Oid("a"), now=1)
        assert find_tip(writer, REF) == "a"
        assert find_tip(other, REF) is None
    assert find_tip(other, REF) == "a"


def test_an_error_rolls_back(store: Store, other: Store) -> None:
    """An error inside a transaction undoes all of it, and the store still works."""

    def fail_inside() -> None:
        with store.write() as writer:
            set_tip(writer, REF, Oid("a"), now=1)
            add_worker(writer, "auth", 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_inside()
    assert (all_tips(other), all_workers(other)) == ({}, [])
    with store.write() as writer:
        set_tip(writer, REF, Oid("b"), now=1)
    assert find_tip(other, REF) == "b"


def test_a_read_is_one_snapshot(store: Store, other: Store) -> None:
    """All queries of one read see the same state, whatever others commit meanwhile."""
    with other.read() as reader:
        assert find_tip(reader, REF) is None
        with store.write() as writer:
            set_tip(writer, REF, Oid("a"), now=1)
        assert find_tip(reader, REF) is None
    with other.read() as reader:
        assert find_tip(reader, REF) == "a"


def test_the_gate_admits_one_writer(store: Store, location: str) -> None:
    """A second writer waits until the first one has ended, then sees its rows and writes."""
    seen: list[Oid | None] = []

    def write() -> None:
        second = open_store(location)
        with second.write() as writer:
            seen.append(find_tip(writer, REF))
            set_tip(writer, REF, Oid("b"), now=2)
        second.close()

    thread = threading.Thread(target=write)
    with store.write() as writer:
        thread.start()
        thread.join(0.2)
        assert thread.is_alive()
        assert seen == []
        set_tip(writer, REF, Oid("a"), now=1)
    thread.join(DEADLINE_S)
    assert seen == ["a"]
    assert find_tip(store, REF) == "b"


def test_a_compare_and_set_has_one_winner(store: Store, location: str) -> None:
    """Of concurrent changes from the same value one succeeds, so that none is overwritten."""
    with store.write() as writer:
        set_tip(writer, REF, Oid("0"), now=1)

    def count() -> None:
        own = open_store(location)
        for _ in range(EACH):
            is_moved = False
            while not is_moved:
                old = find_tip(own, REF)
                assert old is not None
                with own.write(durable=False) as writer:
                    is_moved = move_tip(writer, REF, old=old, new=Oid(str(int(old) + 1)), now=1)
        own.close()

    threads = [threading.Thread(target=count) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert find_tip(store, REF) == str(THREADS * EACH)


def test_single_statements(store: Store, other: Store) -> None:
    """One statement is a transaction of its own, and reports whether it changed a row."""
    record_target(store, "main")
    record_target(other, "trunk")
    assert find_target(store) == "main"
    assert not change_target(store, "trunk", seen="master")
    assert change_target(other, "trunk", seen="main")
    assert find_target(store) == "trunk"


def test_a_store_is_created_once(store: Store, location: str) -> None:
    """Creating an existing store opens it with its rows."""
    with store.write() as writer:
        set_tip(writer, REF, Oid("a"), now=1)
    again = create_store(location)
    assert find_tip(again, REF) == "a"
    again.close()
