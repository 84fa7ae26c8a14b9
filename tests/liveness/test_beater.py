"""The beater: one background process per repository, for as long as somebody works there."""

import contextlib
import fcntl
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitworker import clock
from gitworker.journal.sweep import sweep
from gitworker.liveness.heartbeat_daemon import run_beater
from gitworker.liveness.processes import find_process
from gitworker.liveness.start_daemon import ensure_beater, is_beating, lock_path
from gitworker.store.api import Store
from gitworker.workers.start import start
from tests.bus.scene import Scene, no_beater
from tests.conftest import git
from tests.liveness.test_process import sleeper
from tests.store.support import wait_until

AGE = "UPDATE heartbeats SET ts_ms = ts_ms - 200000"
AGE_CLOCK = "UPDATE heartbeat_clocks SET ts_ms = ts_ms - 200000, mono_ms = mono_ms - 200000"


def beaters(scene: Scene) -> list[int]:
    """Return the pids of the repository's beaters."""
    found = []
    for name in os.listdir("/proc"):
        process = find_process(int(name)) if name.isdigit() else None
        words = process.arguments if process else ()
        if "gitworker.hookentry" in words and str(scene.state_dir) in words:
            found.append(int(name))
    return found


def beat_of(scene: Scene, worker: str) -> int:
    """Return when a worker beat last."""
    (row,) = scene.execute("SELECT ts_ms FROM heartbeats WHERE agent_id = :w", w=worker)
    return int(row["ts_ms"])


@pytest.fixture
def working(scene: Scene) -> Iterator["subprocess.Popen[str]"]:
    """A process that works in the seat `auth`, which a beater beats for every second."""
    git(scene.root, "config", "worker.liveness.beat-s", "1")
    scene.spawn("auth", "t")
    process = sleeper()
    start(scene.session(), "auth", pid=process.pid)
    wait_until(lambda: is_beating(scene.session().paths), "the beater")
    yield process
    if process.poll() is None:
        process.communicate()
    for pid in beaters(scene):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: beaters(scene) == [], "the beater's end")


def test_it_beats_alone_until_the_process_ends(
    scene: Scene, working: "subprocess.Popen[str]"
) -> None:
    """Rung up twice there is one; it beats by itself, and ends with the last process."""
    for _ in range(3):
        ensure_beater(scene.session().paths, every_s=1)
    first = beat_of(scene, "auth")
    wait_until(lambda: beat_of(scene, "auth") > first, "a beat of the beater's own")
    assert len(beaters(scene)) == 1
    view = (scene.state_dir / "workers" / "auth.json").read_text()
    assert '"last_heartbeat"' in view
    working.communicate()
    wait_until(lambda: not is_beating(scene.session().paths), "the beater to end")


def test_it_survives_git_clean(scene: Scene, working: "subprocess.Popen[str]") -> None:
    """What agents run to tidy up, `git clean -fdx`, takes neither state nor beater away."""
    git(scene.root, "clean", "-fdxq")
    before = beat_of(scene, "auth")
    wait_until(lambda: beat_of(scene, "auth") > before, "a beat after the cleaning")


def test_a_killed_beater_is_replaced(scene: Scene, working: "subprocess.Popen[str]") -> None:
    """After kill -9 the next look starts another, and the busy worker is not declared stale."""
    for pid in beaters(scene):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_beating(scene.session().paths), "the beater's end")
    scene.execute(AGE)
    scene.execute(AGE_CLOCK)
    assert sweep(scene.session()).changed == []
    assert scene.worker("auth").state == "WORKING"
    assert clock.now_ms() - beat_of(scene, "auth") < 100_000
    wait_until(lambda: is_beating(scene.session().paths), "the next beater")


def test_it_starts_the_daily_upkeep(scene: Scene, working: "subprocess.Popen[str]") -> None:
    """Where nobody runs a command for a day, the beater starts the upkeep."""
    old = "INSERT OR REPLACE INTO meta (key, value) VALUES ('gitworker_upkeep_ms', '1')"
    scene.execute(old)
    asked = "SELECT value FROM meta WHERE key = 'gitworker_upkeep_ms'"
    wait_until(lambda: scene.execute(asked) != [{"value": "1"}], "the upkeep")


def test_nobody_to_beat_for(scene: Scene) -> None:
    """Without anybody at work the beater ends at once."""
    assert run_beater(scene.session().paths.root, 3600) == 0


def test_a_second_beater_leaves_at_once(quiet: Scene) -> None:
    """Whoever finds the lock taken leaves it to the other."""
    assert is_beating(quiet.session().paths)
    assert run_beater(quiet.session().paths.root, 3600) == 0


def test_who_only_looks_is_no_beater(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who looks at the same moment is not taken for a beater, and keeps none away."""
    paths = scene.session().paths
    looks: list[Store] = []

    def attend(store: Store) -> bool:
        looks.append(store)
        return False

    with open(lock_path(paths), "ab") as looker:
        fcntl.flock(looker, fcntl.LOCK_SH)
        assert not is_beating(paths)
        monkeypatch.setattr("gitworker.clock.sleep", lambda _: fcntl.flock(looker, fcntl.LOCK_UN))
        assert run_beater(paths.root, 3600, attend) == 0
    assert looks != []


def test_it_follows_who_works(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """It beats for a seat that begins, no more for one that ends, and leaves with the last."""
    agents = {name: sleeper() for name in ("auth", "docs")}
    for name, agent in agents.items():
        scene.spawn(name, f"t-{name}")
        place(scene, name, agent.pid)
    looks: list[set[str]] = []

    def attend(_store: Store) -> bool:
        wanted = {name for name, agent in agents.items() if agent.poll() is None}
        wait_until(lambda: beaten(scene, since) >= wanted, "a beat for each")
        looks.append(wanted)
        if wanted:
            agents[min(wanted)].communicate()
        return False

    since = clock.now_ms()
    monkeypatch.setattr("gitworker.liveness.heartbeat_daemon.LOOK_EVERY_S", 0.01)
    assert run_beater(scene.session().paths.root, 3600, attend) == 0
    assert looks == [{"auth", "docs"}, {"docs"}, set()]


def test_it_leaves_with_its_database(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the repository is deleted the beater ends, though the process goes on."""
    agent = sleeper()
    scene.spawn("auth", "t")
    place(scene, "auth", agent.pid)
    database = Path(scene.session().paths.database)
    looks: list[Store] = []

    def attend(store: Store) -> bool:
        looks.append(store)
        database.unlink()
        return True

    monkeypatch.setattr("gitworker.liveness.heartbeat_daemon.LOOK_EVERY_S", 0.01)
    assert run_beater(str(database.parent), 3600, attend) == 0
    assert len(looks) == 1
    assert agent.poll() is None
    agent.communicate()


@pytest.mark.parametrize("way", ["replaced", "deleted first", "moved away"])
def test_it_leaves_a_database_that_is_another_file(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """If the database's name has another file, the beater lets go of the one that it opened."""
    agent = sleeper()
    scene.spawn("auth", "t")
    place(scene, "auth", agent.pid)
    database = Path(scene.session().paths.database)
    looks: list[Store] = []

    def attend(store: Store) -> bool:
        looks.append(store)
        assert len(looks) < 5, "it keeps the old file"
        if len(looks) == 1:
            store.execute(f"VACUUM INTO '{database}.restored'")
            if way == "deleted first":
                database.unlink()
            elif way == "moved away":
                database.rename(f"{database}.old")
            for part in ("-wal", "-shm"):
                Path(f"{database}{part}").unlink()
            Path(f"{database}.restored").rename(database)
        elif looks[-1] is not looks[0] and agent.poll() is None:
            agent.communicate()
        return len(looks) == 1

    monkeypatch.setattr("gitworker.liveness.heartbeat_daemon.LOOK_EVERY_S", 0.01)
    assert run_beater(str(database.parent), 3600, attend) == 0
    assert looks[-1] is not looks[0]
    assert looks.count(looks[0]) == 1


@pytest.mark.parametrize(
    "change",
    ["pid = NULL", "host = 'elsewhere'", "boot_id = 'earlier'", "pid_ns = '1'", "pid_start = '1'"],
)
def test_it_beats_for_this_machines_processes_only(scene: Scene, change: str) -> None:
    """No pid, another host, an earlier boot, a pid that was given away: nobody to beat for."""
    scene.spawn("auth", "t")
    place(scene, "auth", os.getpid())
    scene.execute(f"UPDATE workers SET {change}")
    assert run_beater(scene.session().paths.root, 3600) == 0
    assert scene.execute("SELECT * FROM heartbeat_clocks WHERE agent_id = 'x'") == []


def place(scene: Scene, worker: str, pid: int) -> None:
    """Start a seat with its process, without a beater for it."""
    with no_beater(scene):
        start(scene.session(), worker, pid=pid)


def beaten(scene: Scene, since: int) -> set[str]:
    """Return who has beaten since then."""
    rows = scene.execute("SELECT agent_id FROM heartbeats WHERE ts_ms >= :since", since=since)
    return {row["agent_id"] for row in rows}
