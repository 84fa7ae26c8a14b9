"""The library in programs that fork: SQLite's locks stay with the parent."""

import subprocess
import sys
import threading
from pathlib import Path

from gitworker.bus import open_bus
from gitworker.paths import StatePaths
from gitworker.store.sqlite.migrate import create_database
from tests.store.support import DEADLINE_S, ROOT, foreign

FORKING = """
import os, sys
from gitworker.bus import open_bus
bus = open_bus(sys.argv[1], agent="hq")
bus.publish("x-note", id="before")
if os.fork():
    os._exit(0)
sys.stdin.read()
print(bus.publish("x-note", id="after"))
"""


def test_a_forked_child_opens_its_own_connection(state: StatePaths) -> None:
    """Messages of a forked child stay, although another program closed the bus as its last user."""
    create_database(state.database).close()
    pipe = subprocess.PIPE
    words = [sys.executable, "-c", FORKING, state.root]
    with subprocess.Popen(words, cwd=ROOT, stdin=pipe, stdout=pipe) as parent:
        assert parent.wait(DEADLINE_S) == 0
        assert foreign(state.database, "SELECT id FROM messages") == [[["before"]]]
        assert not Path(f"{state.database}-wal").exists(), "no other process had the bus open"
        assert parent.communicate(b"go", timeout=DEADLINE_S) == (b"after\n", None)
    ids = foreign(state.database, "SELECT id FROM messages ORDER BY seq")
    assert ids == [[["before"], ["after"]]]


def test_threads_of_a_forks_parent_are_left_alone(state: StatePaths) -> None:
    """The child works although other threads of its parent have connections open."""
    create_database(state.database).close()
    bus = open_bus(state.root, agent="hq")
    begun, ended = threading.Event(), threading.Event()

    def stay() -> None:
        bus.publish("x-note", id="theirs")
        begun.set()
        ended.wait(DEADLINE_S)

    thread = threading.Thread(target=stay)
    thread.start()
    begun.wait(DEADLINE_S)
    bus.reset_after_fork()
    assert bus.publish("x-note", id="ours") == "ours"
    ended.set()
    thread.join()
    assert [m["id"] for m in bus.poll()] == ["theirs", "ours"]
    bus.close()
