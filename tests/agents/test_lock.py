"""The worktree of a supervised agent is locked from before it begins until its end."""

import os
import signal

from gitworker.journal.sweep import sweep
from gitworker.paths import LOCK_MARK
from tests.agents.seat import Seat
from tests.workers.world import wait_until


def locked(seat: Seat) -> bool:
    """Return whether the worker's worktree is locked."""
    return os.path.lexists(f"{seat.world.worker('auth').admin_dir}/locked")


def test_while_it_runs(seat: Seat) -> None:
    """An agent finds its own worktree locked; afterwards it is not."""
    seat.exec('cat "$(git rev-parse --git-dir)/locked" >seen.o; echo $$ >pid.o')
    pid = (seat.path / "pid.o").read_text().strip()
    assert (seat.path / "seen.o").read_text() == f"{LOCK_MARK} (process {pid})\n"
    assert not locked(seat)


def test_after_a_kill(seat: Seat) -> None:
    """If supervisor and agent were killed, the next command unlocks the worktree."""
    with seat.running("sleep", "600") as supervisor:
        assert locked(seat)
        (run,) = seat.world.query("SELECT pid FROM runs")
        os.kill(supervisor.pid, signal.SIGKILL)
        os.kill(run[0], signal.SIGKILL)
        supervisor.wait(60)
        wait_until(lambda: sweep(seat.world.session()) is not None and not locked(seat))
