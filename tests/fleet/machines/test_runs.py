"""`run` on several machines of one fleet."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from shutil import which

from tests.fleet.machines.machine import LIMIT_S, Machine, wait_for
from tests.fleet.machines.work import Work, add_tasks, require_same_end, running

Fleet = Callable[..., list[Machine]]
WAITING_GIT = """\
#!/bin/sh
if tr '\\0' ' ' </proc/$PPID/cmdline | grep -q ' gitworker land '; then
    touch {programs}/began
    while test -e {programs}/held; do sleep 0.1; done
fi
exec {git} "$@"
"""
TASKS = [f"t{number}" for number in range(6)]


def test_tasks_are_shared_by_the_runs_of_two_machines(fleet: Fleet, tmp_path: Path) -> None:
    """Each task is started once by one of the two runs, and all land on a linear target."""
    alpha, beta = fleet("alpha", "beta")
    work = Work(tmp_path)
    add_tasks(alpha, TASKS)
    work.hold(*TASKS)
    with running(work, alpha, beta) as runs:
        wait_for(lambda: len({machine for machine, _ in work.starts()}) == 2)
        work.release()
        assert [one.wait(LIMIT_S) for one in runs] == [0, 0]
    assert work.broken() == []
    assert sorted(task for _, task in work.starts()) == TASKS
    require_same_end([alpha, beta], TASKS)
    assert alpha.complaints() == beta.complaints() == []


def test_a_run_waits_for_what_lands_on_another_machine(fleet: Fleet, tmp_path: Path) -> None:
    """A run waits for work in review elsewhere, and hears of its landing if its link was killed."""
    alpha, beta = fleet("alpha", "beta")
    work = Work(tmp_path)
    waiting = f"while test -e {work.seen}/verify; do sleep 0.1; done"
    alpha.git("config", "worker.verify.commands", waiting)
    alpha.ok("fleet", "edit", "beta", "--capability", "gpu")
    alpha.ok("task", "add", "t0", "--title", "t0")
    alpha.ok("task", "add", "t1", "--title", "t1", "--needs", "t0", "--capability", "gpu")
    (work.seen / "verify").touch()
    with running(work, alpha) as (first,):
        wait_for(lambda: alpha.query("SELECT 1 FROM workers WHERE state = 'APPROVED'"))
        with running(work, beta) as (second,):
            wait_for(lambda: beta.query("SELECT 1 FROM workers WHERE state = 'APPROVED'"))
            signal.sigtimedwait([], 6.0)
            assert second.poll() is None
            beta.kill_link()
            (work.seen / "verify").unlink()
            assert second.wait(LIMIT_S) == 0
        assert first.wait(LIMIT_S) == 0
    assert work.starts() == [("alpha", "t0"), ("beta", "t1")]
    require_same_end([alpha, beta], ["t0", "t1"])


def test_the_work_of_a_silent_machine_lands(fleet: Fleet, tmp_path: Path) -> None:
    """A run that lands also lands what a machine has handed in before it crashed."""
    alpha, beta = fleet("alpha", "beta")
    work = Work(tmp_path)
    add_tasks(alpha, ["t0", "t1"])
    with running(work, alpha, options=["-j", "2", "--max", "1"], lands=False) as (first,):
        assert first.wait(LIMIT_S) == 0
    beta.ok("status")
    alpha.crash()
    work.hold("t1")
    with running(work, beta) as (second,):
        wait_for(lambda: beta.query("SELECT 1 FROM tasks WHERE id = 't0' AND status = 'COMPLETED'"))
        work.release()
        assert second.wait(LIMIT_S) == 0
    assert work.starts() == [("alpha", "t0"), ("beta", "t1")]
    alpha.boot()
    alpha.ok("status")
    wait_for(lambda: alpha.follows(beta))
    require_same_end([alpha, beta], ["t0", "t1"])


def test_a_landing_without_the_fleet_is_tried_again(fleet: Fleet, tmp_path: Path) -> None:
    """A run whose landing could not reach the fleet lands the work as soon as it can."""
    (alpha,) = fleet("alpha")
    work = Work(tmp_path)
    add_tasks(alpha, ["t0"])
    began = hold_landings(alpha, tmp_path / "programs")
    with running(work, alpha) as (run,):
        wait_for(began.exists)
        alpha.wire.cut()
        began.with_name("held").unlink()
        wait_for(lambda: alpha.popen("pgrep", "-f", "gitworker land", stdout=-3).wait(LIMIT_S) == 1)
        alpha.wire.mend()
        assert run.wait(LIMIT_S) == 0
    assert said(work, alpha, "landing command-1") == 2
    require_same_end([alpha], ["t0"])


def hold_landings(machine: Machine, programs: Path) -> Path:
    """Let each landing wait at its first git; return the file that it makes then.

    It goes on when the file `held` beside it is removed.
    """
    programs.mkdir()
    (programs / "held").touch()
    script = programs / "git"
    script.write_text(WAITING_GIT.format(git=which("git"), programs=programs))
    script.chmod(0o755)
    machine.env["PATH"] = f"{programs}:{os.environ['PATH']}"
    return programs / "began"


def said(work: Work, machine: Machine, beginning: str) -> int:
    """Return how many lines of a run begin with these words."""
    lines = (work.seen / f"{machine.name}.out").read_text().splitlines()
    return sum(line.startswith(beginning) for line in lines)
