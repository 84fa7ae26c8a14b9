"""The worktree of a supervised agent is locked from before it begins until its end."""

import os
import signal

from gitworker.journal.sweep import sweep
from gitworker.paths import LOCK_MARK
from tests.agents.supervised import SupervisedWorker
from tests.workers.world import wait_until


def locked(auth: SupervisedWorker) -> bool:
    """Return whether the worker's worktree is locked."""
    return os.path.lexists(f"{auth.world.worker('auth').admin_dir}/locked")


def test_while_it_runs(auth: SupervisedWorker) -> None:
    """An agent finds its own worktree locked; afterwards it is not."""
    auth.exec('cat "$(git rev-parse --git-dir)/locked" >seen.o; echo $$ >pid.o')
    pid = (auth.path / "pid.o").read_text().strip()
    assert (auth.path / "seen.o").read_text() == f"{LOCK_MARK} (process {pid})\n"
    assert not locked(auth)


def test_after_a_kill(auth: SupervisedWorker) -> None:
    """If supervisor and agent were killed, the next command unlocks the worktree."""
    with auth.running("sleep", "600") as supervisor:
        assert locked(auth)
        (run,) = auth.world.query("SELECT pid FROM runs")
        os.kill(supervisor.pid, signal.SIGKILL)
        os.kill(run[0], signal.SIGKILL)
        supervisor.wait(60)
        wait_until(lambda: sweep(auth.world.session()) is not None and not locked(auth))
