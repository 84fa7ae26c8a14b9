"""Many processes on one bus, killed at random: nothing is lost, doubled or out of order."""

import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gitworker.bus.files.export import export_logs
from gitworker.paths import StatePaths
from gitworker.store.heartbeats import record_heartbeat
from gitworker.store.sqlite.database import Database
from tests.bus.torturing import addressee, lines
from tests.store.support import foreign

SCALE = int(os.environ.get("GITWORKER_TEST_SCALE", "1"))
PUBLISHERS = min(64, 8 * SCALE)
CONSUMERS = min(16, 4 * SCALE)
EACH = 1000 if SCALE < 8 else 3125  # from scale 8 on: 64 publishers, 200,000 messages
KILLS = 24 * SCALE
DEADLINE_S = 300 * SCALE
SCRIPT = Path(__file__).with_name("torturing.py")


@dataclass
class Crowd:
    """The processes on a bus, each with its record file."""

    paths: StatePaths
    place: Path
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    killed: list[str] = field(default_factory=list)

    @property
    def done(self) -> Path:
        """Return the file that ends the consumers."""
        return self.place / "done"

    def record(self, name: str) -> Path:
        """Return the file of promised or read ids of a process."""
        return self.place / name

    def start(self, name: str) -> None:
        """Start a process, or start it again."""
        words = (str(EACH), str(CONSUMERS)) if name.startswith("p") else (str(self.done),)
        verb = "publish" if name.startswith("p") else "consume"
        argv = [sys.executable, str(SCRIPT), verb, self.paths.root, name, str(self.record(name))]
        self.running[name] = subprocess.Popen([*argv, *words])

    def kill(self, name: str) -> None:
        """Kill a process and start it again, unless it has already ended."""
        process = self.running[name]
        process.kill()
        if process.wait() == -signal.SIGKILL:
            self.killed.append(name)
            self.start(name)

    def announce_the_end(self) -> None:
        """Create the file that ends the consumers once every publisher has ended."""
        if not self.done.exists() and not any(n.startswith("p") for n in self.living()):
            self.done.touch()

    def living(self) -> list[str]:
        """Return the running processes; fail if one has failed."""
        found = []
        for name, process in self.running.items():
            status = process.poll()
            assert status in (None, 0), f"{name} ended with {status}"
            if status is None:
                found.append(name)
        return found


@pytest.mark.slow
def test_torture(state: StatePaths, store: Database, tmp_path: Path) -> None:
    """Publishers and consumers are killed repeatedly, and every promise is kept."""
    names = [f"p{number}" for number in range(PUBLISHERS)]
    readers = [f"c{number}" for number in range(CONSUMERS)]
    place = tmp_path / "records"
    place.mkdir()
    with store.write() as writer:
        for name in readers:  # known, so that they can be written to
            record_heartbeat(writer, name, status="working", task=None, progress=None)
    crowd = Crowd(state, place)
    for name in names + readers:
        crowd.start(name)
    try:
        let_live(crowd, random.Random(SCALE))
    finally:
        for process in crowd.running.values():
            process.kill()
            process.wait()
    assert {name[0] for name in crowd.killed} == {"c", "p"}
    require_table(state, names)
    require_deliveries(crowd, names, readers)
    require_export(state, store)


def let_live(crowd: Crowd, chance: random.Random) -> None:
    """Kill a process now and then until all have finished."""
    deadline = time.monotonic() + DEADLINE_S
    while living := crowd.living():
        assert time.monotonic() < deadline, f"still running: {living}"
        if len(crowd.killed) < KILLS:
            kind = "c" if len(crowd.killed) % 3 == 1 else "p"
            crowd.kill(chance.choice([n for n in living if n.startswith(kind)] or living))
        crowd.announce_the_end()
        select.select([], [], [], chance.uniform(0.02, 0.3))


def require_table(state: StatePaths, names: list[str]) -> None:
    """Fail unless the table holds every promised message once, in each sender's order."""
    rows: Any
    rows, sound = foreign(
        state.database, "SELECT id, from_agent FROM messages ORDER BY seq", "PRAGMA integrity_check"
    )
    assert sound == [["ok"]]
    sent: dict[str, list[str]] = {}
    for identity, sender in rows:
        sent.setdefault(sender, []).append(identity)
    assert sent == {name: [f"{name}-{number}" for number in range(EACH)] for name in names}


def require_deliveries(crowd: Crowd, names: list[str], readers: list[str]) -> None:
    """Fail unless each reader has read its messages, those of each sender in order."""
    promised = {name: lines(crowd.record(name)) for name in names}
    for reader in readers:
        read: dict[str, list[str]] = {name: [] for name in names}
        for identity in dict.fromkeys(lines(crowd.record(reader))):
            read[identity.partition("-")[0]].append(identity)
        for name in names:
            numbers = [int(identity.partition("-")[2]) for identity in promised[name]]
            assert len(numbers) == EACH
            wanted = [n for n in numbers if addressee(n, CONSUMERS) in (None, reader)]
            assert read[name] == [f"{name}-{number}" for number in wanted]


def require_export(state: StatePaths, store: Database) -> None:
    """Fail unless bus.jsonl has the table's messages, each once and in order."""
    export_logs(store, state)
    rows = store.rows("messages.follow", after=0, limit=-1)
    with open(state.bus_log, encoding="utf-8") as file:
        exported = [json.loads(line) for line in file]
    assert [(line["seq"], line["id"]) for line in exported] == [
        (row["seq"], row["id"]) for row in rows
    ]
