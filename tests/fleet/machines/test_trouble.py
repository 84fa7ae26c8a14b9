"""Machines that crash, links that are killed, a server that restarts, wires and clocks."""

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fixtures.postgres import find_programs, run_server
from tests.cli.forking import PROGRAM
from tests.fleet.machines.machine import LIMIT_S, Machine, fleet_of, wait_for
from tests.fleet.machines.work import Work, add_tasks, require_same_end, running

Fleet = Callable[..., list[Machine]]
OFFLINE = "the fleet cannot be reached"
TASKS = [f"t{number}" for number in range(4)]
# A machine reports its heartbeats every five seconds.
IMPATIENT = {
    "GITWORKER_LIVENESS_BEAT_S": "1", "GITWORKER_LIVENESS_WARN_S": "8",
    "GITWORKER_LIVENESS_STALE_S": "10", "GITWORKER_LIVENESS_DEAD_S": "12",
    "GITWORKER_LIVENESS_EXPIRE_S": "15", "GITWORKER_CLAIMS_LEASE_S": "10",
    "GITWORKER_TASK_RETRY_DELAY_S": "0",
}  # fmt: skip


def test_the_tasks_of_a_machine_that_crashes(fleet: Fleet, tmp_path: Path) -> None:
    """Another machine does the tasks again, and the crashed one follows after its next start."""
    alpha, beta = fleet("alpha", "beta")
    work = Work(tmp_path)
    for one in (alpha, beta):
        one.env.update(IMPATIENT)
    add_tasks(alpha, TASKS[:2])
    work.hold(*TASKS)
    with running(work, alpha):
        wait_for(lambda: len(work.starts()) == 2)
        with running(work, beta) as (run,):
            wait_for(lambda: beta.query("SELECT 1 FROM runs WHERE ended_at_ms IS NULL LIMIT 1"))
            alpha.crash()
            work.release()
            assert run.wait(LIMIT_S) == 0
    assert sorted(work.starts()) == [
        ("alpha", "t0"), ("alpha", "t1"), ("beta", "t0"), ("beta", "t1"),
    ]  # fmt: skip
    assert work.broken() == []
    alpha.boot()
    alpha.ok("status")
    wait_for(lambda: alpha.follows(beta))
    require_same_end([alpha, beta], TASKS[:2])


def test_a_task_that_has_not_started_on_a_machine_that_crashes(
    fleet: Fleet, tmp_path: Path
) -> None:
    """It returns to the queue by RECOVERY, and the worktree stays where it is."""
    alpha, beta = fleet("alpha", "beta")
    work = Work(tmp_path)
    beta.env.update(IMPATIENT)
    add_tasks(alpha, ["t0"])
    alpha.ok("spawn", "ada", "t0")
    place = Path(alpha.ok("path", "ada"))
    (place / "notes.txt").write_text("not committed\n")
    beta.ok("status")
    alpha.crash()
    wait_for(lambda: "ready to start" in beta.ok("status"))
    with running(work, beta) as (run,):
        assert run.wait(LIMIT_S) == 0
    assert work.starts() == [("beta", "t0")]
    assert beta.query(
        "SELECT event FROM transitions WHERE entity_id IN ('ada', 't0')"
        " AND event IN ('expire', 'RECOVERY') ORDER BY seq"
    ) == [("expire",), ("RECOVERY",)]
    alpha.boot()
    alpha.ok("status")
    wait_for(lambda: alpha.follows(beta))
    assert (place / "notes.txt").read_text() == "not committed\n"
    require_same_end([alpha, beta], ["t0"])


def test_late_work_of_a_machine_that_was_cut_off(fleet: Fleet, tmp_path: Path) -> None:
    """Work that another machine has done meanwhile is refused, and kept on its branch."""
    alpha, beta = fleet("alpha", "beta")
    work = Work(tmp_path)
    for one in (alpha, beta):
        one.env.update(IMPATIENT)
    add_tasks(alpha, ["t0"])
    alpha.ok("spawn", "ada", "t0")
    alpha.commit("ada", "Late work", {"late.txt": "x\n"})
    place = Path(alpha.ok("path", "ada"))
    beta.ok("status")
    alpha.wire.cut()
    wait_for(lambda: "ready to start" in beta.ok("status"))
    with running(work, beta) as (run,):
        assert run.wait(LIMIT_S) == 0
    assert work.starts() == [("beta", "t0")]
    assert alpha.run("done", "ada", cwd=place).status != 0
    alpha.wire.mend()
    wait_for(lambda: alpha.run("fleet", "status", "--json").document["offline"] == "")
    late = alpha.run("done", "ada", cwd=place)
    print(late)
    assert late.status != 0
    print(alpha.ok("status"))
    print(alpha.ok("log"))
    assert alpha.git("log", "-1", "--format=%s", "ada/t0") == "Late work"
    wait_for(lambda: alpha.follows(beta))
    require_same_end([alpha, beta], ["t0"])


def test_links_that_are_killed(fleet: Fleet, tmp_path: Path) -> None:
    """A run goes on while no link of both machines lives for more than three seconds."""
    alpha, beta = fleet("alpha", "beta")
    work = Work(tmp_path)
    add_tasks(alpha, TASKS)
    began = time.monotonic()
    with running(work, alpha, beta) as runs:
        while any(one.poll() is None for one in runs):
            assert time.monotonic() - began < 4 * LIMIT_S, "the runs did not end"
            for one in (alpha, beta):
                one.kill_link(older_s=2)  # a busy machine needs a second to start one
            signal.sigtimedwait([], 1.0)
        assert [one.wait() for one in runs] == [0, 0]
    assert work.broken() == []
    require_same_end([alpha, beta], TASKS)


@pytest.mark.slow
def test_a_link_in_a_sandbox(fleet: Fleet) -> None:
    """A link that has never reached the server gives way to one that a command outside starts."""
    (alpha,) = fleet("alpha")
    alpha.ok("status")
    alpha.kill_link()
    hide = f'mount -t tmpfs none {alpha.wire.directory} && exec {PROGRAM} "$@"'
    sandbox = ("unshare", "--mount", "sh", "-c", hide, "sh", "status")
    ended = alpha.popen(*sandbox, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert OFFLINE in ended.communicate(timeout=LIMIT_S)[1].decode()
    assert OFFLINE in alpha.run("status").err
    wait_for(lambda: OFFLINE not in alpha.run("status").err)


def test_a_server_that_restarts(fleet: Fleet, tmp_path: Path) -> None:
    """A run goes on after PostgreSQL was stopped without notice and started again."""
    programs = find_programs()
    assert programs is not None
    with run_server(programs) as own, fleet_of(tmp_path, own, "alpha", "beta") as machines:
        go_on_after_a_restart(machines, Work(tmp_path), own)


def go_on_after_a_restart(machines: list[Machine], work: Work, server: str) -> None:
    """Stop and start the server during a run of two machines."""
    alpha, beta = machines
    add_tasks(alpha, TASKS)
    work.hold(*TASKS)
    with running(work, alpha, beta) as runs:
        wait_for(lambda: len(work.starts()) > 2)
        with restarted(server):
            work.release()
            assert [one.wait(LIMIT_S) for one in runs] == [0, 0]
            assert work.broken() == []
            require_same_end([alpha, beta], TASKS)


def test_a_slow_wire(fleet: Fleet, tmp_path: Path) -> None:
    """With 150 ms for each answer of PostgreSQL, two machines do their work as before."""
    alpha, beta = fleet("alpha", "beta")
    work = Work(tmp_path)
    add_tasks(alpha, TASKS)
    beta.wire.delay_s = 0.075
    began = time.monotonic()
    with running(work, alpha, beta) as runs:
        assert [one.wait(LIMIT_S) for one in runs] == [0, 0]
    print(f"{time.monotonic() - began:.1f} s")
    assert work.broken() == []
    require_same_end([alpha, beta], TASKS)


def test_clocks_that_differ(fleet: Fleet, tmp_path: Path) -> None:
    """With a clock that stands an hour ahead, no worker becomes stale on another machine."""
    alpha, beta = fleet("alpha", "beta")
    beta.kill_link()
    beta.env["GITWORKER_CLOCK_MS"] = str((int(time.time()) + 3600) * 1000)
    work = Work(tmp_path)
    add_tasks(alpha, TASKS)
    work.hold(*TASKS)
    with running(work, alpha, beta) as runs:
        wait_for(lambda: {machine for machine, _ in work.starts()} == {"alpha", "beta"})
        for one in (alpha, beta):
            assert "STALE" not in one.ok("list")
        work.release()
        assert [one.wait(LIMIT_S) for one in runs] == [0, 0]
    assert work.broken() == []
    assert alpha.query("SELECT COUNT(*) FROM transitions WHERE to_state = 'STALE'") == [(0,)]
    require_same_end([alpha, beta], TASKS)


@contextmanager
def restarted(location: str) -> Iterator[None]:
    """Stop a server without notice and start it again; the fixture's end stops it."""
    home = Path(location.partition("host=")[2].partition("&")[0])
    pid = int((home / "data" / "postmaster.pid").read_text().split()[0])
    words = shlex.split((home / "data" / "postmaster.opts").read_text())
    os.kill(pid, signal.SIGQUIT)
    wait_for(lambda: not (home / "data" / "postmaster.pid").exists())
    user = None if os.geteuid() else (home / "data").owner()
    with (home / "log").open("ab") as log:
        again = subprocess.Popen(words, stdout=log, stderr=log, user=user, cwd="/")
    try:
        yield
    finally:
        again.send_signal(signal.SIGQUIT)
        again.wait()
