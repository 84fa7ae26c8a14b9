"""exec --detach, spawn --detach: the agent survives its caller and its terminal."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitworker.processes.table import find_process
from gitworker.service.results import to_json
from gitworker.service.service import open_repository
from tests.agents.supervised import COMMIT, SupervisedWorker, is_alive
from tests.cli.kit import PROGRAM, ok, run
from tests.cli.terminal import on_terminal
from tests.workers.world import wait_until

WAITING = 'echo begun; while ! test -e go; do sleep 0.05; done; rm go; echo "last words"; '


@pytest.fixture(autouse=True)
def ended(auth: SupervisedWorker) -> Iterator[None]:
    """End the agents that still run after a test; their supervisors end with them."""
    yield
    for run_ in auth.runs():
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run_["pid"], signal.SIGKILL)
    wait_until(lambda: all(one["ended_at_ms"] for one in auth.runs()))


def session_of(pid: int) -> int:
    """Return the session of a process."""
    found = find_process(pid)
    assert found is not None
    return found.session


def test_it_returns_at_once(auth: SupervisedWorker) -> None:
    """The command returns once the agent has begun, which then works to its hand-in."""
    answer = auth.exec(WAITING + COMMIT, "--detach")
    (begun,) = auth.runs()
    assert (answer.status, answer.out) == (0, "")
    assert answer.err == (
        f"auth works detached (process {begun['pid']}); follow it: git worker log auth -f\n"
    )
    assert is_alive(begun["pid"])
    wait_until(lambda: auth.log.exists() and auth.log.read_text() == "begun\n")
    assert auth.state() == "WORKING"
    (auth.path / "go").touch()
    wait_until(lambda: auth.state() == "IN_REVIEW")
    wait_until(lambda: auth.runs()[0]["exit_status"] == 0)
    assert auth.log.read_text() == "begun\nlast words\n"


def test_without_the_caller(auth: SupervisedWorker) -> None:
    """The agent and its supervisor have sessions of their own, no terminal and no input."""
    auth.exec("tty; cat; echo ended input; " + WAITING, "-d")
    (begun,) = auth.runs()
    ((supervisor,),) = auth.world.query("SELECT supervisor_pid FROM runs")
    assert session_of(begun["pid"]) == begun["pid"]
    assert session_of(supervisor) == supervisor
    assert os.readlink(f"/proc/{supervisor}/cwd") == str(auth.world.root)
    for fd in (0, 1, 2):
        assert os.readlink(f"/proc/{supervisor}/fd/{fd}") == os.devnull
    wait_until(lambda: auth.log.exists() and "begun" in auth.log.read_text())
    assert auth.log.read_text() == "not a tty\nended input\nbegun\n"


def test_the_terminal_closes(auth: SupervisedWorker) -> None:
    """The end of the terminal (SIGHUP) does not reach the agent."""
    script = "trap 'echo hangup' HUP; " + WAITING + COMMIT
    words = ("exec", "auth", "-d", "--", "sh", "-c", script)
    with on_terminal(auth.world.root, *words) as terminal:
        terminal.read_until("git worker log auth -f")
        terminal.process.wait()
    (begun,) = auth.runs()
    ((supervisor,),) = auth.world.query("SELECT supervisor_pid FROM runs")
    assert is_alive(begun["pid"])
    assert is_alive(supervisor)
    (auth.path / "go").touch()
    wait_until(lambda: auth.state() == "IN_REVIEW")
    assert auth.log.read_text() == "begun\nlast words\n"


def test_orders(auth: SupervisedWorker) -> None:
    """A detached agent obeys orders, and its time limit."""
    auth.exec(WAITING, "-d")
    ok(auth.world.root, "stop", "auth")
    wait_until(lambda: auth.runs()[0]["ended_at_ms"])
    assert auth.state() == "FAILED"
    auth.world.spawn("docs", "t2")
    run(auth.world.root, "exec", "docs", "-d", "--time-limit", "0.2", "--", "sleep", "600")
    wait_until(lambda: auth.world.worker("docs").state == "FAILED")


def test_the_caller_is_killed(auth: SupervisedWorker) -> None:
    """A supervisor whose caller has ended before the report keeps its agent."""
    read, write = os.pipe()
    os.close(read)
    words = ("exec", "auth", "--json", "--supervisor", "--", "sh", "-c", COMMIT)
    try:
        done = subprocess.run([PROGRAM, *words], cwd=auth.world.root, stdout=write, check=False)
    finally:
        os.close(write)
    assert done.returncode == 0
    assert auth.state() == "IN_REVIEW"


def test_resume(auth: SupervisedWorker) -> None:
    """`resume -d -- CMD` takes a failed worker up in place, in the background."""
    auth.exec("exit 3", "-d")
    wait_until(lambda: auth.state() == "FAILED")
    answer = run(auth.world.root, "resume", "auth", "-d", "--", "sh", "-c", COMMIT)
    assert (answer.status, answer.out) == (0, "")
    wait_until(lambda: auth.state() == "IN_REVIEW")
    assert run(auth.world.root, "resume", "auth", "-d").status == 2


def test_refusals(auth: SupervisedWorker) -> None:
    """A run that cannot begin is refused as without -d, in the same words and status."""
    missing = run(auth.world.root, "exec", "auth", "--", "no-such-program")
    assert run(auth.world.root, "exec", "auth", "-d", "--", "no-such-program") == missing
    assert missing.status == 4
    document = run(auth.world.root, "exec", "auth", "-d", "--json", "--", "no-such").document
    assert document["error"]["code"] == "not_found"
    assert auth.state() == "ASSIGNED"
    auth.exec(WAITING, "-d")
    assert auth.exec("true", "-d") == auth.exec("true")
    assert auth.exec("true", "-d").status == 3


def test_no_command(auth: SupervisedWorker) -> None:
    """-d without a command is a misuse, before anything is made."""
    for words in (("exec", "auth", "-d"), ("spawn", "docs", "t2", "-d")):
        assert run(auth.world.root, *words).status == 2
    assert not (auth.world.root / "worktrees/t2").exists()


def test_spawn(auth: SupervisedWorker) -> None:
    """`spawn -d -- CMD` prints the worktree, and the agent gets the prompt."""
    words = ("spawn", "docs", "-m", "Do it", "-d", "--", "sh", "-c", 'echo "$1"', "sh", "{prompt}")
    answer = run(auth.world.root, *words)
    worktree = auth.world.root / "worktrees/do-it"
    assert (answer.status, answer.out) == (0, f"{worktree}\n")
    assert answer.err.startswith("docs works detached (process ")
    wait_until(lambda: auth.runs()[-1]["ended_at_ms"])
    assert (worktree / ".worker.log").read_text() == "Do it\n"


def test_json(auth: SupervisedWorker) -> None:
    """--json prints one document with the run, for `exec` and for `spawn`."""
    fields = {"worker", "task", "worktree", "run", "pid", "command", "log", "schema"}
    document = auth.exec("true", "-d", "--json").document
    assert set(document) == fields
    assert (document["command"], document["log"]) == ("sh -c true", str(auth.log))
    words = ("spawn", "docs", "t2", "-d", "--json", "--", "true")
    document = run(auth.world.root, *words).document
    assert set(document) == fields | {"state", "branch", "path"}


def test_library(auth: SupervisedWorker) -> None:
    """The service starts detached agents too, and the next one reaps the supervisor before."""
    service = open_repository(str(auth.world.root))
    begun = service.detach("auth", ["sh", "-c", "exit 3"])
    assert to_json(begun)["pid"] == auth.runs()[0]["pid"]
    ((supervisor,),) = auth.world.query("SELECT supervisor_pid FROM runs")
    wait_until(lambda: not is_alive(supervisor))
    auth.world.spawn("docs", "t2")
    service.detach("docs", ["true"])
    assert not Path(f"/proc/{supervisor}").exists()
