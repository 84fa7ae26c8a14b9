"""The heartbeat daemon: one background process per repository while a worker needs it."""

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
from gitworker.liveness.heartbeat_daemon import run_heartbeat_daemon
from gitworker.liveness.start_daemon import ensure_heartbeat_daemon, is_daemon_running, lock_path
from gitworker.processes.table import find_process
from gitworker.store.api import Store
from gitworker.workers.start import start
from tests.bus.scene import Scene, no_heartbeat_daemon
from tests.conftest import git
from tests.hints.following import Printed, follow, hints_of, note, perform
from tests.liveness.test_processes import sleeper
from tests.store.support import wait_until

AGE = "UPDATE heartbeats SET ts_ms = ts_ms - 200000"
AGE_CLOCK = "UPDATE heartbeat_clocks SET ts_ms = ts_ms - 200000, mono_ms = mono_ms - 200000"


def daemons(scene: Scene) -> list[int]:
    """Return the pids of the repository's heartbeat daemons."""
    found = []
    for name in os.listdir("/proc"):
        process = find_process(int(name)) if name.isdigit() else None
        words = (process.arguments if process else None) or ()  # it may have ended
        if "gitworker.hookentry" in words and str(scene.state_dir) in words:
            found.append(int(name))
    return found


def last_heartbeat(scene: Scene, worker: str) -> int:
    """Return the time of a worker's last heartbeat."""
    (row,) = scene.execute("SELECT ts_ms FROM heartbeats WHERE agent_id = :w", w=worker)
    return int(row["ts_ms"])


@pytest.fixture
def working(scene: Scene) -> Iterator["subprocess.Popen[str]"]:
    """A process of the worker `auth`, with a daemon that sends its heartbeat every second."""
    git(scene.root, "config", "worker.liveness.beat-s", "1")
    scene.spawn("auth", "t")
    process = sleeper()
    start(scene.session(), "auth", pid=process.pid)
    wait_until(lambda: is_daemon_running(scene.session().paths), "the daemon")
    yield process
    if process.poll() is None:
        process.communicate()
    for pid in daemons(scene):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: daemons(scene) == [], "the daemon's end")


def test_it_sends_heartbeats_until_the_process_ends(
    scene: Scene, working: "subprocess.Popen[str]"
) -> None:
    """Started twice it runs once; it sends heartbeats by itself, and ends with the last process."""
    for _ in range(3):
        ensure_heartbeat_daemon(scene.session().paths, every_s=1)
    first = last_heartbeat(scene, "auth")
    wait_until(lambda: last_heartbeat(scene, "auth") > first, "a heartbeat of the daemon's own")
    assert len(daemons(scene)) == 1
    view = (scene.state_dir / "workers" / "auth.json").read_text()
    assert '"last_heartbeat"' in view
    working.communicate()
    wait_until(lambda: not is_daemon_running(scene.session().paths), "the daemon to end")


def test_it_takes_a_changed_interval(scene: Scene, working: "subprocess.Popen[str]") -> None:
    """A running daemon obeys a changed interval within one heartbeat."""
    wait_until(lambda: heartbeats_in(scene, 3) >= 2, "heartbeats every second")
    git(scene.root, "config", "worker.liveness.beat-s", "3600")
    wait_until(lambda: heartbeats_in(scene, 4) == 0, "silence")
    assert is_daemon_running(scene.session().paths)


def test_a_committed_interval(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings file of the target counts too."""
    agent = sleeper()
    scene.spawn("auth", "t")
    place(scene, "auth", agent.pid)
    (scene.root / ".gitworker.toml").write_text("[liveness]\nbeat_s = 1\n")
    git(scene.root, "add", ".gitworker.toml")
    git(scene.root, "commit", "-q", "-m", "Settings")
    taken: list[object] = []
    monkeypatch.setattr("gitworker.liveness.heartbeat_daemon.CHECK_EVERY_S", 0.01)
    monkeypatch.setattr("gitworker.liveness.heartbeat_daemon.READ_EVERY_S", 0.01)
    first = last_heartbeat(scene, "auth")

    def attend(_store: Store) -> bool:
        if not taken:
            wait_until(lambda: last_heartbeat(scene, "auth") > first, "the first heartbeat")
            taken.append(last_heartbeat(scene, "auth"))
        elif last_heartbeat(scene, "auth") != taken[0] and agent.poll() is None:
            agent.communicate()
        return False

    assert run_heartbeat_daemon(scene.session().paths.root, 3600, attend) == 0


def heartbeats_in(scene: Scene, seconds: float) -> int:
    """Return how many different heartbeats of `auth` are seen in so many seconds."""
    until = clock.monotonic_ms() + seconds * 1000
    seen = {last_heartbeat(scene, "auth")}
    wait_until(
        lambda: seen.add(last_heartbeat(scene, "auth")) or clock.monotonic_ms() > until, "the time"
    )
    return len(seen) - 1


def test_it_survives_git_clean(scene: Scene, working: "subprocess.Popen[str]") -> None:
    """`git clean -fdx`, which agents run to tidy up, removes neither state nor daemon."""
    git(scene.root, "clean", "-fdxq")
    before = last_heartbeat(scene, "auth")
    wait_until(lambda: last_heartbeat(scene, "auth") > before, "a heartbeat after the cleaning")


def test_a_killed_daemon_is_replaced(scene: Scene, working: "subprocess.Popen[str]") -> None:
    """After kill -9 the next command starts another, and the busy worker is not stale."""
    for pid in daemons(scene):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_daemon_running(scene.session().paths), "the daemon's end")
    scene.execute(AGE)
    scene.execute(AGE_CLOCK)
    assert sweep(scene.session()).changed == []
    assert scene.worker("auth").state == "WORKING"
    assert clock.now_ms() - last_heartbeat(scene, "auth") < 100_000
    wait_until(lambda: is_daemon_running(scene.session().paths), "the next daemon")


def test_it_starts_the_daily_upkeep(scene: Scene, working: "subprocess.Popen[str]") -> None:
    """If no command runs for a day, the daemon starts the upkeep."""
    old = "INSERT OR REPLACE INTO meta (key, value) VALUES ('gitworker_upkeep_ms', '1')"
    scene.execute(old)
    asked = "SELECT value FROM meta WHERE key = 'gitworker_upkeep_ms'"
    wait_until(lambda: scene.execute(asked) != [{"value": "1"}], "the upkeep")


def test_without_a_worker_it_ends(scene: Scene) -> None:
    """Without a worker at work the daemon ends at once."""
    assert run_heartbeat_daemon(scene.session().paths.root, 3600) == 0


def test_a_second_daemon_ends_at_once(quiet: Scene) -> None:
    """A daemon that finds the lock taken ends at once."""
    assert is_daemon_running(quiet.session().paths)
    assert run_heartbeat_daemon(quiet.session().paths.root, 3600) == 0


def test_a_probe_is_not_a_daemon(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A probe of the lock does not count as a daemon and does not prevent its start."""
    paths = scene.session().paths
    rounds: list[Store] = []

    def attend(store: Store) -> bool:
        rounds.append(store)
        return False

    with open(lock_path(paths), "ab") as looker:
        fcntl.flock(looker, fcntl.LOCK_SH)
        assert not is_daemon_running(paths)
        monkeypatch.setattr("gitworker.clock.sleep", lambda _: fcntl.flock(looker, fcntl.LOCK_UN))
        assert run_heartbeat_daemon(paths.root, 3600, attend) == 0
    assert rounds != []


def test_it_follows_the_workers(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """It serves a worker that begins, stops for one that ends, and ends with the last."""
    agents = {name: sleeper() for name in ("auth", "docs")}
    for name, agent in agents.items():
        scene.spawn(name, f"t-{name}")
        place(scene, name, agent.pid)
    rounds: list[set[str]] = []

    def attend(_store: Store) -> bool:
        wanted = {name for name, agent in agents.items() if agent.poll() is None}
        wait_until(lambda: with_heartbeat(scene, since) >= wanted, "a heartbeat of each")
        rounds.append(wanted)
        if wanted:
            agents[min(wanted)].communicate()
        return False

    since = clock.now_ms()
    monkeypatch.setattr("gitworker.liveness.heartbeat_daemon.CHECK_EVERY_S", 0.01)
    assert run_heartbeat_daemon(scene.session().paths.root, 3600, attend) == 0
    assert rounds == [{"auth", "docs"}, {"docs"}, set()]


def test_it_leaves_with_its_database(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the repository is deleted the daemon ends, although the process runs on."""
    agent = sleeper()
    scene.spawn("auth", "t")
    place(scene, "auth", agent.pid)
    database = Path(scene.session().paths.database)
    rounds: list[Store] = []

    def attend(store: Store) -> bool:
        rounds.append(store)
        database.unlink()
        return True

    monkeypatch.setattr("gitworker.liveness.heartbeat_daemon.CHECK_EVERY_S", 0.01)
    assert run_heartbeat_daemon(str(database.parent), 3600, attend) == 0
    assert len(rounds) == 1
    assert agent.poll() is None
    agent.communicate()


@pytest.mark.parametrize("way", ["replaced", "deleted first", "moved away"])
def test_it_leaves_a_database_that_is_another_file(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """If the database's name has another file, the daemon closes the one that it opened."""
    agent = sleeper()
    scene.spawn("auth", "t")
    place(scene, "auth", agent.pid)
    database = Path(scene.session().paths.database)
    rounds: list[Store] = []

    def attend(store: Store) -> bool:
        rounds.append(store)
        assert len(rounds) < 5, "it keeps the old file"
        if len(rounds) == 1:
            store.execute(f"VACUUM INTO '{database}.restored'")
            if way == "deleted first":
                database.unlink()
            elif way == "moved away":
                database.rename(f"{database}.old")
            for part in ("-wal", "-shm"):
                Path(f"{database}{part}").unlink()
            Path(f"{database}.restored").rename(database)
        elif rounds[-1] is not rounds[0] and agent.poll() is None:
            agent.communicate()
        return len(rounds) == 1

    monkeypatch.setattr("gitworker.liveness.heartbeat_daemon.CHECK_EVERY_S", 0.01)
    assert run_heartbeat_daemon(str(database.parent), 3600, attend) == 0
    assert rounds[-1] is not rounds[0]
    assert rounds.count(rounds[0]) == 1


@pytest.mark.parametrize(
    "change",
    ["pid = NULL", "host = 'elsewhere'", "boot_id = 'earlier'", "pid_ns = '1'", "pid_start = '1'"],
)
def test_it_serves_processes_of_this_machine_only(scene: Scene, change: str) -> None:
    """No pid, another host, an earlier boot and a reused pid get no heartbeat."""
    scene.spawn("auth", "t")
    place(scene, "auth", os.getpid())
    scene.execute(f"UPDATE workers SET {change}")
    assert run_heartbeat_daemon(scene.session().paths.root, 3600) == 0
    assert scene.execute("SELECT * FROM heartbeat_clocks WHERE agent_id = 'x'") == []


def place(scene: Scene, worker: str, pid: int) -> None:
    """Start a worker with its process, without a daemon for it."""
    with no_heartbeat_daemon(scene):
        start(scene.session(), worker, pid=pid)


def with_heartbeat(scene: Scene, since: int) -> set[str]:
    """Return the workers with a heartbeat since then."""
    rows = scene.execute("SELECT agent_id FROM heartbeats WHERE ts_ms >= :since", since=since)
    return {row["agent_id"] for row in rows}


def test_a_daemon_that_was_killed(scene: Scene, working: "subprocess.Popen[str]") -> None:
    """`doctor` reports that no daemon serves a living process, and its command starts one."""
    for pid in daemons(scene):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_daemon_running(scene.session().paths), "the daemon's end")
    printed = Printed([], str(scene.root))
    found = perform("git worker doctor", printed)
    assert f"auth, whose process ({working.pid}) is alive" in found.out, found
    hint = "git worker recover"
    assert hint in hints_of(found.out, found.err)
    assert follow(printed, hint) is None
    wait_until(lambda: is_daemon_running(scene.session().paths), "the daemon")
    assert hint not in hints_of(*perform("git worker doctor", printed)[1:])
    note(hint, found.out)
