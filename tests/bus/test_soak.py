"""A day of a bus with clocks that the test sets: nothing is lost, nothing grows."""

import contextlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gitworker import clock
from gitworker.bus import Bus, open_bus
from gitworker.bus.files.archive import read_entries
from gitworker.bus.files.export import export_logs
from gitworker.bus.files.retention import PruneRequest, prune
from gitworker.config import Settings
from gitworker.liveness.readings import read_heartbeats, this_moment
from gitworker.liveness.rules_stale import Liveness, heartbeat_age_ms, liveness_of
from gitworker.paths import StatePaths
from gitworker.store.heartbeats import record_heartbeat
from tests.store.support import foreign
from tests.workers.world import World, wait_until, without_heartbeat_daemon

SCALE = int(os.environ.get("GITWORKER_TEST_SCALE", "1"))
HOURS = 24
STEPS_AN_HOUR = 6
AGENTS = tuple(f"agent-{number}" for number in range(10))
EACH_STEP = 3 * SCALE  # messages of each agent
HOUR_MS = 60 * 60 * 1000
KEPT_MS = 3 * HOUR_MS
RSS_MAX_KB = 40 * 1024
GROWTH_MAX_KB = 4 * 1024
WARM = HOURS // 4  # from this hour on nothing may grow
# Bursts of output until the process is ended.
TALK = "while :; do yes 'output of an agent' | head -c 2000000; read -t 0.2 x; done"


@dataclass
class Time:
    """The clocks of the test."""

    wall_ms: int = field(default_factory=clock.now_ms)
    mono_ms: int = field(default_factory=clock.monotonic_ms)

    def pass_by(self, ms: int) -> None:
        """Move all clocks forward."""
        self.wall_ms += ms
        self.mono_ms += ms

    def sleep(self, ms: int) -> None:
        """Suspend the machine: CLOCK_MONOTONIC stops, the wall clock does not."""
        self.wall_ms += ms


@pytest.fixture
def time_(monkeypatch: pytest.MonkeyPatch) -> Time:
    """Clocks that only the test moves, in this process."""
    turned = Time()
    monkeypatch.setattr("gitworker.clock.now_ms", lambda: turned.wall_ms)
    monkeypatch.setattr("gitworker.clock.monotonic_ms", lambda: turned.mono_ms)
    return turned


@dataclass
class Soak:
    """The bus, its agents, and the messages that were promised and read."""

    world: World
    paths: StatePaths
    time: Time
    ends: dict[str, Bus]
    published: list[str] = field(default_factory=list)
    read: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in AGENTS})
    archives: int = 0

    def step(self, number: int) -> None:
        """Make every agent send a heartbeat, publish, read and acknowledge once."""
        for name, bus in self.ends.items():
            with bus.store.write(durable=False) as writer:
                record_heartbeat(writer, name, status="working", task=None, progress=None)
            drafts = [
                {"type": "x-note", "payload": {"step": number}, "id": f"{name}-{number:04}-{part}"}
                for part in range(EACH_STEP)
            ]
            self.published += bus.publish_many(drafts)
        for name, bus in self.ends.items():
            while messages := bus.poll():
                self.read[name] += [message["id"] for message in messages]
                bus.ack(messages[-1]["seq"])
        self.require_alive()

    def tidy(self) -> None:
        """Prune messages older than three hours, and export."""
        bus = self.ends[AGENTS[0]]
        request = PruneRequest(
            self.time.wall_ms - KEPT_MS, frozenset(AGENTS), self.time.wall_ms - HOUR_MS
        )
        self.archives += prune(bus.store, self.paths, request).archive is not None
        export_logs(bus.store, self.paths)

    def require_alive(self) -> None:
        """Fail if an agent that just sent a heartbeat counts as silent."""
        with self.ends[AGENTS[0]].store.read() as reader:
            heartbeats = read_heartbeats(reader)
        moment = this_moment()
        for name in AGENTS:
            age_ms = heartbeat_age_ms(heartbeats[name], moment)
            assert liveness_of(age_ms, Settings()) is Liveness.OK, name

    def require_all(self, heard: list[str]) -> None:
        """Fail unless every message is in the table or in one archive, and reached every agent."""
        rows, sound = foreign(
            self.paths.database,
            "SELECT id FROM messages WHERE type = 'x-note' ORDER BY seq",
            "PRAGMA integrity_check",
        )
        assert sound == [["ok"]]
        assert isinstance(rows, list)
        table = [row[0] for row in rows]
        archived = [
            entry["id"]
            for path in sorted(Path(self.paths.archive).glob("*.gz"))
            for entry in read_entries(str(path))
            if entry["type"] == "x-note"
        ]
        assert sorted(archived + table) == sorted(self.published)
        assert len(table) < len(self.published) / 3
        for name in AGENTS:
            assert [one for one in self.read[name] if one in set(self.published)] == self.published
        assert heard == self.published
        with open(self.paths.bus_log, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        assert [line["id"] for line in lines if line["type"] == "x-note"] == table


@pytest.fixture
def soak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, time_: Time) -> Iterator[Soak]:
    """A repository with a worker for a supervised agent, and ten agents that publish."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    world = World.make(tmp_path / "repo")
    world.spawn("auth", "t1")
    paths = StatePaths(str(world.root / ".git" / "worker-state"))
    ends = {name: open_bus(paths.root, agent=name) for name in AGENTS}
    with without_heartbeat_daemon(world):
        yield Soak(world, paths, time_, ends)
    for bus in ends.values():
        bus.close()


@contextlib.contextmanager
def running(soak: Soak, *words: str, out: Path | None = None) -> Iterator[int]:
    """Run a command in the background with its output in a file, and yield its pid."""
    with open(out or os.devnull, "wb") as stream:
        process = subprocess.Popen(
            ["git-worker", *words], cwd=soak.world.root, stdin=subprocess.DEVNULL, stdout=stream,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            yield process.pid
        finally:
            process.terminate()
            process.wait(30)


def rss_kb(pid: int) -> int:
    """Return the resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0])


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_a_day(soak: Soak, tmp_path: Path) -> None:
    """A day of heartbeats, messages, suspends, prunes and exports loses and grows nothing."""
    heard = tmp_path / "heard"
    follow = ("msg", "follow", "--json", "--type", "x-note", "--since", "0")
    with (
        running(soak, *follow, out=heard) as follower,
        running(soak, "exec", "auth", "--", "bash", "-c", TALK) as supervisor,
    ):
        wait_until(lambda: bool(soak.world.query("SELECT id FROM runs")))
        warm: dict[int, int] = {}
        for hour in range(HOURS):
            play_an_hour(soak, hour)
            wait_until(lambda: len(heard_ids(heard)) == len(soak.published))
            for pid in (follower, supervisor):
                assert rss_kb(pid) < RSS_MAX_KB
                if hour >= WARM:
                    assert rss_kb(pid) - warm.setdefault(pid, rss_kb(pid)) < GROWTH_MAX_KB
        soak.tidy()
        soak.require_all(heard_ids(heard))
        assert soak.archives > 2
        assert len(soak.world.query("SELECT id FROM runs WHERE ended_at_ms IS NULL")) == 1


def play_an_hour(soak: Soak, hour: int) -> None:
    """Let an hour pass: in some the machine is suspended, in another the wall clock is set back."""
    for part in range(STEPS_AN_HOUR):
        soak.step(hour * STEPS_AN_HOUR + part)
        soak.time.pass_by(20_000)
        soak.require_alive()
        soak.time.pass_by(HOUR_MS // STEPS_AN_HOUR - 20_000)
    if hour % 5 == 3:
        soak.step((HOURS + hour) * STEPS_AN_HOUR)
        soak.time.sleep(2 * HOUR_MS)
        soak.require_alive()
    if hour == HOURS // 2:
        soak.step((HOURS + hour) * STEPS_AN_HOUR)
        soak.time.sleep(-HOUR_MS)
        soak.require_alive()
    if hour % 2:
        soak.tidy()


def heard_ids(heard: Path) -> list[str]:
    """Return the ids in the complete lines that the follower has printed."""
    lines = heard.read_text().rpartition("\n")[0].splitlines()
    return [json.loads(line)["id"] for line in lines]
