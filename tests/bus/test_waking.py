"""Waking: a waiter learns of every commit of other connections, by inotify or by polling."""

import os
import resource
import select
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gitworker.bus.following.notify_followers import FollowerNotifier, notify_followers
from gitworker.paths import StatePaths
from gitworker.store.sqlite.database import Database
from gitworker.store.sqlite.inotify import LOST, Inotify
from gitworker.store.sqlite.waking import (
    ADAPTIVE,
    INOTIFY,
    MAX_WAIT_S,
    RECHECK_DELAYS_S,
    VERSION,
    VERSION_FIRST_S,
    VERSION_LAST_S,
    SqliteWaker,
    open_waker,
)
from tests.store.support import foreign, opened, send

# Takes every lock of the WAL-index (sqlite.org/walformat.html, bytes 120 to 127).
LOCKER = """\
import fcntl, sys
file = open(sys.argv[1], "r+b")
fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 8, 120)
print("locked", flush=True)
sys.stdin.read()
"""
LONG_S = 30
SHORT_S = 0.01


@pytest.fixture
def waker(state: StatePaths, store: Database) -> Iterator[SqliteWaker]:
    """A waker that uses inotify."""
    with open_waker(store, state, ways=(INOTIFY,)) as made:
        assert made.fileno() >= 0
        yield made


@pytest.mark.parametrize("way", [INOTIFY, VERSION, ADAPTIVE])
def test_every_way_wakes(state: StatePaths, store: Database, way: str) -> None:
    """A commit of another connection ends the wait, with every kind of waker."""

    def publish() -> None:
        with opened(state.database) as theirs:
            send(theirs, "m")

    with open_waker(store, state, ways=(way,)) as waker:
        assert (waker.fileno() >= 0) is (way == INOTIFY)
        publisher = threading.Thread(target=publish)
        publisher.start()
        assert waker.wait(LONG_S)
        publisher.join()
    assert store.row("messages.last_seq") in ({"seq": 0}, {"seq": 1})


def test_a_foreign_commit_wakes(state: StatePaths, waker: SqliteWaker) -> None:
    """A foreign program that does not notify followers still wakes them."""
    insert = "INSERT INTO messages (id, ts_ms, from_agent, type) VALUES ('m', 1, 'n', 't')"
    asked = threading.Thread(target=foreign, args=(state.database, insert))
    asked.start()
    assert waker.wait(LONG_S)
    asked.join()


@pytest.mark.parametrize("way", [INOTIFY, VERSION])
def test_a_commit_before_the_wait_is_noticed(state: StatePaths, store: Database, way: str) -> None:
    """A commit since the last wait ends the next wait at once, and only once."""
    with open_waker(store, state, ways=(way,)) as waker, opened(state.database) as theirs:
        send(theirs, "m")
        assert waker.wait(LONG_S)
        assert not waker.wait(0)
        assert not waker.wait(SHORT_S)


def test_own_commits_wake_nothing(store: Database, waker: SqliteWaker) -> None:
    """A write of the same connection does not wake it."""
    send(store, "m")
    assert not waker.wait(SHORT_S)


def test_after_an_empty_wake_it_looks_again_soon(state: StatePaths, waker: SqliteWaker) -> None:
    """An event may precede the visible commit, so the waker looks again, ever later."""
    assert waker.pause_s == MAX_WAIT_S
    notify_followers(state.bell)
    assert not waker.changed()
    pauses = [waker.pause_s]
    while pauses[-1] < MAX_WAIT_S:
        assert not waker.changed()
        pauses.append(waker.pause_s)
    assert tuple(pauses) == (*RECHECK_DELAYS_S, MAX_WAIT_S)


def test_a_kept_notifier_wakes(state: StatePaths, waker: SqliteWaker) -> None:
    """A publisher that keeps the notification file open wakes its followers each time."""
    bell = FollowerNotifier(state.bell)
    for _ in range(2):
        bell.ring()
        assert select.select([waker.fileno()], [], [], LONG_S)[0]
        assert not waker.changed()
        assert waker.pause_s == RECHECK_DELAYS_S[0]
    bell.close()
    FollowerNotifier(f"{state.root}/missing/bell").ring()


def test_other_files_are_not_watched(state: StatePaths, waker: SqliteWaker) -> None:
    """Files written beside the bus, such as its export, wake no follower."""
    Path(state.bus_log).write_text("line\n")
    assert not waker.changed()
    assert waker.pause_s == MAX_WAIT_S


def test_polling_slows_down(state: StatePaths, store: Database) -> None:
    """Without inotify the waker polls often while there is traffic, and rarely otherwise."""
    with open_waker(store, state, ways=(VERSION,)) as waker, opened(state.database) as theirs:
        pauses = []
        for _ in range(9):
            pauses.append(waker.pause_s)
            assert not waker.changed()
        assert pauses == sorted(pauses)
        assert (pauses[0], pauses[-1]) == (VERSION_FIRST_S, VERSION_LAST_S)
        send(theirs, "m")
        assert waker.changed()
        assert waker.pause_s == VERSION_FIRST_S


def test_adaptive_polling_learns_of_traffic(state: StatePaths, store: Database) -> None:
    """Adaptive polling lets its caller look each time, and polls fast again after a message."""
    with open_waker(store, state, ways=(ADAPTIVE,)) as waker:
        first = waker.pause_s
        assert [waker.changed() for _ in range(3)] == [True] * 3
        assert waker.pause_s > first
        waker.rest()
        assert waker.pause_s == first


def test_without_inotify_it_polls(store: Database, tmp_path: Path) -> None:
    """If nothing can be watched, the next kind is used."""
    with open_waker(store, StatePaths(str(tmp_path / "missing"))) as waker:
        assert waker.fileno() == -1
        assert waker.pause_s == VERSION_FIRST_S


@pytest.mark.slow
def test_a_locked_database_wakes_nothing(state: StatePaths, store: Database) -> None:
    """While another program locks readers out, the waker sees nothing and does not fail."""
    store.connection.set_busy_timeout(1)
    with open_waker(store, state, ways=(VERSION,)) as waker:
        with locked_for_readers(state.database):
            assert not waker.changed()
        with opened(state.database) as theirs:
            send(theirs, "m")
        assert waker.changed()


@contextmanager
def locked_for_readers(database: str) -> Iterator[None]:
    """Let a foreign program hold the locks of SQLite's recovery of a write-ahead log."""
    process = subprocess.Popen(
        [sys.executable, "-c", LOCKER, f"{database}-shm"], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == b"locked\n"
    yield
    process.communicate(b"")


def test_too_many_open_files(state: StatePaths, store: Database) -> None:
    """If this user gets no more descriptors, the next kind is used."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            Inotify()
        with open_waker(store, state) as waker:
            assert waker.fileno() == -1
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_something_else_ends_the_wait(waker: SqliteWaker) -> None:
    """Input on an additional descriptor ends the wait without a message."""
    read_end, write_end = os.pipe()
    os.close(read_end)  # the reader has ended
    assert not waker.wait(LONG_S, also={write_end: 0})
    os.close(write_end)


def test_the_spool_is_watched(state: StatePaths, store: Database) -> None:
    """A hook's write wakes a listener at once, before it looks at the bus."""
    spooled: list[str] = []

    def drain() -> None:
        spooled.extend(os.listdir(state.spool))
        for name in os.listdir(state.spool):
            os.rename(f"{state.spool}/{name}", f"{state.spool}/{name}.1")

    with open_waker(store, state, on_spool=drain) as waker:
        Path(state.spool, "elsewhere").write_text("x")
        assert not waker.changed()
        Path(state.spool, "hooks").write_text("post-commit\n")
        assert waker.wait(LONG_S)
        assert "hooks" in spooled
        assert not waker.wait(SHORT_S)


def test_the_end_of_a_directory_is_reported(tmp_path: Path) -> None:
    """The end of a watched directory is reported, under the name for lost events."""
    place = tmp_path / "place"
    place.mkdir()
    inotify = Inotify()
    watch = inotify.watch(str(place))
    (place / "file").write_text("x")
    assert inotify.take() == {(watch, "file")}
    (place / "file").unlink()
    place.rmdir()
    assert (watch, LOST) in inotify.take()
    with pytest.raises(OSError, match="No such file"):
        inotify.watch(str(place))
    inotify.close()
    inotify.close()
