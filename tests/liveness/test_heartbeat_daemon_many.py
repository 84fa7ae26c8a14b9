"""The heartbeat daemon at its promised size: a hundred workers, one process."""

import contextlib
import os
import re
import signal
from pathlib import Path

import pytest

from gitworker.lifecycle.moves import advance
from gitworker.liveness.process_origin import this_origin
from gitworker.liveness.start_daemon import ensure_heartbeat_daemon, is_daemon_running
from gitworker.model.worker import WorkerEvent
from gitworker.store.workers import add_worker, find_worker, set_process
from tests.bus.scene import Scene
from tests.liveness.test_heartbeat_daemon import daemons
from tests.liveness.test_processes import sleeper
from tests.store.support import wait_until

WORKERS = 100
NOW = 1_700_000_000_000


def people(scene: Scene, pid: int, start: str) -> None:
    """Make workers at work, all of one process, without their worktrees."""
    session = scene.session()
    with session.store.write() as writer:
        for number in range(WORKERS):
            name, task = f"w{number}", f"t{number}"
            worker = add_worker(writer, name, NOW)
            writer.run("tasks.insert", task=task, title="", requires_approval=1, max_retries=1,
                       now=NOW)  # fmt: skip
            writer.run("workers.set_assignment", worker=name, task=task, branch=f"{name}/{task}",
                       base_oid="0" * 40, worktree=None, admin_dir=None, now=NOW)  # fmt: skip
            writer.run("tasks.set_assigned", task=task, agent=name, branch=f"{name}/{task}")
            for event in (WorkerEvent.ASSIGN, WorkerEvent.START):
                found = find_worker(writer, name)
                assert found is not None
                worker = advance(writer, found, event, actor="hq")
            assert worker.state == "WORKING"
            set_process(writer, name, pid=pid, start=start, origin=this_origin())


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_one_process_serves_a_hundred_workers(scene: Scene) -> None:
    """One process of less than 40 MB sends a hundred workers' heartbeats, round after round."""
    agent = sleeper()
    start = Path(f"/proc/{agent.pid}/stat").read_text().rpartition(")")[2].split()[19]
    people(scene, agent.pid, start)
    session = scene.session()
    ensure_heartbeat_daemon(session.paths, every_s=1)

    def heartbeats() -> tuple[int, int]:
        with session.store.read() as reader:
            rows = reader.rows("liveness.all")
        return len(rows), min((row["ts_ms"] for row in rows), default=0)

    try:
        wait_until(lambda: heartbeats()[0] == WORKERS, "a heartbeat of each")
        first = heartbeats()[1]
        wait_until(lambda: heartbeats()[1] > first, "the next round")
        (pid,) = daemons(scene)
        status = Path(f"/proc/{pid}/status").read_text()
        peak_kb = int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0])
        assert peak_kb < 40 * 1024
    finally:
        agent.communicate()
        for pid in daemons(scene):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not is_daemon_running(session.paths), "the daemon's end")
