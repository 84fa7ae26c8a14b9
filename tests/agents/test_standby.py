"""A process with the modules of `exec` loaded becomes the supervisor of an agent."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitworker.agents.detach import DetachedRun, detach, supervisor_environment
from gitworker.errors import GitWorkerError
from gitworker.processes import jobs
from gitworker.processes.standby import Standby
from gitworker.processes.table import all_processes, find_process
from tests.agents.supervised import COMMIT, SupervisedWorker, is_alive
from tests.workers.world import wait_until

WAITING = 'while ! test -e "$GITWORKER_STATE/go"; do sleep 0.05; done; '


@pytest.fixture
def standby(auth: SupervisedWorker) -> Iterator[Standby]:
    """Give a process that is prepared, or still loads."""
    standby = Standby(str(auth.world.root))
    standby.prepare(supervisor_environment())
    yield standby
    (auth.world.state_dir / "go").touch()
    standby.close()
    wait_until(lambda: not any(is_alive(pid) for pid in supervisors(auth)))


def start(auth: SupervisedWorker, standby: Standby, script: str = WAITING + COMMIT) -> DetachedRun:
    """Start an agent as `run` does."""
    session = auth.world.session()
    words = ("sh", "-c", script)
    return detach(session, auth.world.worker("auth"), words, auto_resume=False, standby=standby)


def supervisors(auth: SupervisedWorker) -> list[int]:
    """Return the processes of the supervisors, oldest first."""
    return [pid for (pid,) in auth.world.query("SELECT supervisor_pid FROM runs ORDER BY id")]


def waiting(auth: SupervisedWorker) -> list[int]:
    """Return the processes that wait for orders in the repository."""
    words = [(one.pid, one.arguments or ()) for one in all_processes() or []]
    return [
        pid for pid, argv in words
        if argv[-1:] == ("--standby",) and os.getppid() != pid
        and Path(f"/proc/{pid}/cwd").resolve() == auth.world.root
        and pid not in supervisors(auth)
    ]  # fmt: skip


def files(pid: int) -> list[str]:
    """Return the open files of a process."""
    return [os.readlink(path) for path in sorted(Path(f"/proc/{pid}/fd").iterdir())]


def test_it_becomes_the_supervisor(auth: SupervisedWorker, standby: Standby) -> None:
    """A fork of it supervises the agent to its hand-in, in a session of its own."""
    begun = start(auth, standby)
    (one,) = waiting(auth)
    (supervisor,) = map(find_process, supervisors(auth))
    assert supervisor is not None
    assert (supervisor.parent, supervisor.session) == (one, supervisor.pid)
    assert begun.pid == auth.runs()[0]["pid"]
    assert Path(f"/proc/{supervisor.pid}/comm").read_text() == "gw-auth\n"
    standby.prepare(supervisor_environment())
    assert waiting(auth) == [one], "it is alive"
    (auth.world.state_dir / "go").touch()
    wait_until(lambda: auth.state() == "IN_REVIEW")
    wait_until(lambda: not is_alive(supervisor.pid))


def test_it_forks_without_threads_and_database(auth: SupervisedWorker, standby: Standby) -> None:
    """It has one thread and no file of the database, and keeps no descriptor of an order."""
    start(auth, standby)
    (one,) = waiting(auth)
    assert os.listdir(f"/proc/{one}/task") == [str(one)]
    opened = files(one)
    assert not any("bus.db" in path for path in opened)
    with pytest.raises(GitWorkerError):
        start(auth, standby)
    assert files(one) == opened


def test_a_stopped_one_is_replaced(auth: SupervisedWorker, standby: Standby) -> None:
    """One that does not read is killed, and the agent starts once, by an ordinary supervisor."""
    wait_until(lambda: len(waiting(auth)) == 1)
    (one,) = waiting(auth)
    os.kill(one, signal.SIGSTOP)
    assert standby._socket is not None
    standby._socket.settimeout(0.1)
    start(auth, standby)
    assert not is_alive(one)
    (supervisor,) = map(find_process, supervisors(auth))
    assert supervisor is not None
    assert "exec" in (supervisor.arguments or ())
    (auth.world.state_dir / "go").touch()
    wait_until(lambda: auth.state() == "IN_REVIEW")


def test_only_a_child_is_killed(auth: SupervisedWorker) -> None:
    """If it was reaped elsewhere, `close` does not kill the process that has its pid now."""
    standby = Standby(str(auth.world.root))
    standby.prepare(supervisor_environment())
    script = "exec 3<&0; cat <&3 & echo $!; wait"
    with subprocess.Popen(
        ["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as shell:
        assert shell.stdout is not None
        assert shell.stdin is not None
        ours, standby._pid = standby._pid, int(shell.stdout.readline())
        standby.close()
        print("alive", file=shell.stdin, flush=True)
        assert shell.stdout.readline() == "alive\n"
    assert jobs.wait_job(ours) == 0


def test_its_death_ends_nothing(auth: SupervisedWorker, standby: Standby) -> None:
    """After kill -9 the agent works on, the next start succeeds, and `prepare` replaces it."""
    start(auth, standby)
    (one,) = waiting(auth)
    os.kill(one, signal.SIGKILL)
    wait_until(lambda: not is_alive(one))
    (auth.world.state_dir / "go").touch()
    wait_until(lambda: auth.state() == "IN_REVIEW")
    auth.world.spawn("ui", "t2")
    session = auth.world.session()
    detach(session, auth.world.worker("ui"), ("true",), auto_resume=False, standby=standby)
    wait_until(lambda: auth.runs()[-1]["ended_at_ms"] is not None)
    standby.prepare(supervisor_environment())
    wait_until(lambda: len(waiting(auth)) == 1)
    assert waiting(auth) != [one]


def test_it_ends_with_its_caller(auth: SupervisedWorker, standby: Standby) -> None:
    """It ends with the caller's end of the socket; the supervisor and the agent work on."""
    begun = start(auth, standby)
    (one,) = waiting(auth)
    assert standby._socket is not None
    standby._socket.close()
    wait_until(lambda: not is_alive(one))
    assert is_alive(begun.pid)
    (auth.world.state_dir / "go").touch()
    wait_until(lambda: auth.state() == "IN_REVIEW")


def test_a_refused_start(auth: SupervisedWorker, standby: Standby) -> None:
    """A start that is refused raises the error of the supervisor, and no agent has run."""
    start(auth, standby)
    with pytest.raises(GitWorkerError, match="auth already runs an agent"):
        start(auth, standby)
    assert len(auth.runs()) == 1


def test_ended_supervisors_are_reaped(auth: SupervisedWorker, standby: Standby) -> None:
    """A supervisor that has ended does not stay as a zombie."""
    start(auth, standby, COMMIT)
    (supervisor,) = supervisors(auth)
    wait_until(lambda: not Path(f"/proc/{supervisor}").exists())
    assert auth.state() == "IN_REVIEW"
