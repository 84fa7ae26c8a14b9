"""An agent whose caller has a terminal: a pty of its own, keys, sizes, and modes that come back."""

import contextlib
import fcntl
import os
import signal
import struct
import subprocess
import termios
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from gitworker.processes.table import find_start
from tests.agents.supervised import COMMIT, SupervisedWorker, is_alive, read_until
from tests.cli.kit import DEADLINE_S
from tests.workers.world import wait_until, without_heartbeat_daemon


@dataclass
class Screen:
    """A terminal of a user: `master` has its output and takes its keys."""

    master: int
    slave: int

    def resize(self, rows: int, columns: int) -> None:
        """Give it another size."""
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: bytes) -> None:
        """Type keys."""
        os.write(self.master, keys)

    def see(self, wanted: bytes) -> bytes:
        """Wait until something is on it."""
        return read_until(self.master, wanted)

    @property
    def modes(self) -> list[object]:
        """Return its modes."""
        return termios.tcgetattr(self.slave)

    @property
    def is_raw(self) -> bool:
        """Return whether keys are passed on as they are typed."""
        return not int(self.modes[3]) & termios.ICANON  # type: ignore[call-overload]


@pytest.fixture
def screen() -> Iterator[Screen]:
    """A terminal of 30 rows and 90 columns."""
    master, slave = os.openpty()
    screen = Screen(master, slave)
    screen.resize(30, 90)
    yield screen
    os.close(master)
    os.close(slave)


@contextlib.contextmanager
def at(
    screen: Screen, auth: SupervisedWorker, *words: str, **streams: int
) -> "Iterator[subprocess.Popen[bytes]]":
    """Run an agent for the user of the screen, as its foreground job."""
    every = {"stdin": screen.slave, "stdout": screen.slave, "stderr": screen.slave, **streams}

    def take_terminal() -> None:
        os.setsid()
        fcntl.ioctl(screen.slave, termios.TIOCSCTTY, 0)

    with auth.running(*words, preexec_fn=take_terminal, pass_fds=(screen.slave,), **every) as p:
        yield p


def test_the_agent_has_a_terminal_of_that_size(auth: SupervisedWorker, screen: Screen) -> None:
    """The agent's three streams are a terminal as large as the caller's, which it may reopen."""
    script = "test -t 0 && test -t 1 && test -t 2 && stty size && stty size </dev/tty"
    before = screen.modes
    with at(screen, auth, "sh", "-c", f"{script} && {COMMIT}") as process:
        assert screen.see(b"in review").startswith(b"30 90\r\n30 90\r\n")
        assert process.wait(DEADLINE_S) == 0
    assert screen.modes == before
    assert auth.log.read_bytes() == b"30 90\r\n30 90\r\n"


def test_a_new_size_is_passed_on(auth: SupervisedWorker, screen: Screen) -> None:
    """When the caller's terminal is resized, the agent gets a signal and finds the new size."""
    script = "trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.02; done"
    with at(screen, auth, "sh", "-c", script) as process:
        screen.see(b"ready\r\n")
        wait_until(lambda: screen.is_raw)
        screen.resize(50, 120)
        screen.see(b"50 120\r\n")
        assert process.wait(DEADLINE_S) == 0


def test_keys_are_the_agents(auth: SupervisedWorker, screen: Screen) -> None:
    """Typed keys reach the agent, ^C as its interrupt and ^D as the end of its input."""
    script = "trap 'echo hit' INT; (echo ready; exec cat); read line; echo got $line; exit 3"
    with at(screen, auth, "sh", "-c", script) as process:
        screen.see(b"ready\r\n")
        wait_until(lambda: screen.is_raw)
        screen.type(b"\x03")
        screen.see(b"hit\r\n")
        screen.type(b"words\r")
        screen.see(b"got words\r\n")
        assert process.wait(DEADLINE_S) == 3
    assert not screen.is_raw


def test_at_a_terminal_the_worker_is_ones_own_again(auth: SupervisedWorker, screen: Screen) -> None:
    """If an agent at a terminal leaves its worker WORKING, the worker is bound to the user."""
    with without_heartbeat_daemon(auth.world), at(screen, auth, "true") as process:
        screen.see(b"auth is still at work")
        assert process.wait(DEADLINE_S) == 0
    heir = auth.world.worker("auth")
    assert heir.pid == os.getpid()
    assert heir.pid_start == find_start(os.getpid())
    with without_heartbeat_daemon(auth.world), at(screen, auth, "false") as process:
        assert process.wait(DEADLINE_S) == 1
    assert auth.state() == "FAILED"


def test_without_a_terminal_the_process_has_ended(auth: SupervisedWorker) -> None:
    """Without a terminal the worker's process has ended, and the worker becomes stale later."""
    with auth.running("true") as process:
        assert process.wait(DEADLINE_S) == 0
    assert auth.world.worker("auth").pid == auth.runs()[0]["pid"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_modes_come_back(auth: SupervisedWorker, screen: Screen, number: int) -> None:
    """However the agent ends, the caller's terminal is as it was."""
    before = screen.modes
    with at(screen, auth, "sleep", "60") as process:
        wait_until(lambda: screen.is_raw)
        os.kill(auth.runs()[0]["pid"], number)
        assert process.wait(DEADLINE_S) == 128 + number
        assert screen.modes == before


def test_only_the_output_is_a_terminal(auth: SupervisedWorker, screen: Screen) -> None:
    """With input from elsewhere the agent's output is a terminal, and no mode is touched."""
    before = screen.modes
    script = "cat; test -t 1 && ! test -t 0 && echo both; exit 2"
    read, write = os.pipe()
    with at(screen, auth, "sh", "-c", script, stdin=read) as process:
        os.close(read)
        os.write(write, b"piped\n")
        assert screen.modes == before
        os.close(write)
        assert screen.see(b"both\r\n").startswith(b"piped\r\nboth\r\n")
        assert process.wait(DEADLINE_S) == 2


def test_errors_may_go_elsewhere(auth: SupervisedWorker, screen: Screen) -> None:
    """Standard error that the caller redirected stays apart from the terminal."""
    with at(screen, auth, "sh", "-c", "echo err >&2; echo out; exit 1", stderr=-1) as process:
        screen.see(b"out\r\n")
        assert process.stderr
        assert read_until(process.stderr.fileno(), b"err\n").startswith(b"err\n")
        assert process.wait(DEADLINE_S) == 1


def test_a_terminal_that_closes(auth: SupervisedWorker) -> None:
    """When the terminal closes, the hang-up reaches the agent, and its end is recorded."""
    master, slave = os.openpty()
    screen = Screen(master, slave)
    with at(screen, auth, "sleep", "60") as process:
        pid = auth.runs()[0]["pid"]
        wait_until(lambda: screen.is_raw)
        os.close(slave)
        os.close(master)
        process.wait(DEADLINE_S)
        assert not is_alive(pid)
    assert auth.runs()[0]["reason"] == "it was ended by SIGHUP"


def test_a_background_job_reads_no_keys(auth: SupervisedWorker, screen: Screen) -> None:
    """A background job of the terminal reads none of the typed keys."""
    inner = "sh -c 'cat; echo read-nothing; exit 6'"
    script = f"set -m; git-worker exec auth -- {inner} & wait $!; echo status $?"

    def take_terminal() -> None:
        os.setsid()
        fcntl.ioctl(screen.slave, termios.TIOCSCTTY, 0)

    shell = subprocess.Popen(
        ["bash", "-c", script], cwd=auth.world.root, preexec_fn=take_terminal,
        stdin=screen.slave, stdout=screen.slave, stderr=screen.slave,
    )  # fmt: skip
    screen.see(b"status 6")
    assert shell.wait(DEADLINE_S) == 0
    assert b"read-nothing" in auth.log.read_bytes()
