"""The processes of an agent are recognised among all others."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitworker.agents.process.agent_processes import AgentProcesses, adopt_orphans, reap
from gitworker.processes.table import find_start
from tests.agents.supervised import is_alive, is_stopped
from tests.cli.kit import DEADLINE_S
from tests.workers.world import wait_until

# Leaves the session by the given number of `fork` and `setsid`, prints its pid, then runs its
# words.
LEAVE = """
import os, sys
for step in sys.argv[1].split(","):
    if step == "fork" and os.fork():
        os._exit(0)
    if step == "setsid":
        os.setsid()
    if step.startswith("/"):
        os.chdir(step)
print(os.getpid(), flush=True)
os.close(1)
os.execv(sys.argv[2], sys.argv[3:])
"""


@pytest.fixture
def adopting() -> Iterator[None]:
    """Let this process be the foster parent, as a supervisor is."""
    assert adopt_orphans()
    yield
    adopt_orphans(adopting=False)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


class Agent:
    """A shell that runs lines which it is given, in a session of its own."""

    def __init__(self, worktree: Path) -> None:
        self.process = subprocess.Popen(
            ["sh", "-c", 'while read -r line; do eval "$line"; done'],
            cwd=worktree, start_new_session=True, text=True, stdin=-1, stdout=-1,
        )  # fmt: skip
        self.pid = self.process.pid
        self.left: list[int] = []

    def leave(self, steps: str, program: str = "sleep", *words: str) -> int:
        """Have a child leave the session and become a program; return its pid."""
        path = program if "/" in program else shutil.which(program)
        assert path
        words = words or (program, "600")
        line = " ".join([sys.executable, "-c", '"$LEAVE"', steps, path, *words])
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{line} &\n")
        self.process.stdin.flush()
        pid = int(self.process.stdout.readline())
        self.left.append(pid)
        wait_until(lambda: has_become(pid))
        return pid

    def end(self) -> None:
        """End the shell; processes that left it stay."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(DEADLINE_S)


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Agent]:
    """An agent at work in a worktree of its own."""
    monkeypatch.setenv("LEAVE", LEAVE)
    worktree = tmp_path / "worktree"
    worktree.mkdir()
    found = Agent(worktree)
    yield found
    for pid in (*found.left, found.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert found.process.stdout
    found.process.stdout.close()
    with contextlib.suppress(BrokenPipeError):
        found.end()


def has_become(pid: int) -> bool:
    """Return whether a child of the agent is already the program that it should become."""
    words = Path(f"/proc/{pid}/cmdline").read_bytes()
    return bool(words) and b"import os" not in words


def family(agent: Agent, tmp_path: Path, *, adopts: bool = True) -> AgentProcesses:
    """Return the agent's family as its supervisor looks at it."""
    start = find_start(agent.pid)
    return AgentProcesses(agent.pid, start, worktree=str(tmp_path / "worktree"), adopts=adopts)


def groups_left(ours: AgentProcesses) -> set[int]:
    """Return the groups with living processes, after reaping the dead ones."""
    reap()
    return ours.groups()


@pytest.mark.usefixtures("adopting")
@pytest.mark.parametrize(
    "steps", ["setsid", "setsid,fork", "fork,setsid,fork", "fork,setsid,fork,fork"]
)
def test_a_process_outside_the_session_is_stopped_and_ended(
    agent: Agent, tmp_path: Path, steps: str
) -> None:
    """A process that left the session by any number of forks stops, resumes and ends too."""
    ours = family(agent, tmp_path)
    pid = agent.leave(steps)
    ours.send(signal.SIGSTOP)
    wait_until(lambda: is_stopped(pid) and is_stopped(agent.pid))
    ours.send(signal.SIGCONT)
    wait_until(lambda: not is_stopped(pid) and not is_stopped(agent.pid))
    agent.end()
    assert ours.has(pid), "also after the agent itself has ended"
    ours.send(signal.SIGTERM)
    wait_until(lambda: not is_alive(pid))
    wait_until(lambda: not groups_left(ours))  # its parent may die later


@pytest.mark.usefixtures("adopting")
def test_shared_daemons_live_on(agent: Agent, tmp_path: Path) -> None:
    """Shared daemons, known by name, and their children live on, and so do our own jobs."""
    ours = family(agent, tmp_path)
    watchman = tmp_path / "watchman"
    watchman.symlink_to("/bin/sleep")
    shared = [
        agent.leave("setsid", str(watchman), str(watchman), "600"),
        agent.leave("fork,setsid,fork", "sleep", "git-fsmonitor--daemon", "600"),
        agent.leave("fork,setsid", "sleep", "gpg-agent", "600"),
        agent.leave("setsid", "/bin/sh", "tmux:", "-c", "'sleep 600 & wait'"),
    ]
    job = agent.leave(
        "setsid", sys.executable, "python", "-c", "'import time; time.sleep(600)'",
        "gitworker.hookentry",
    )  # fmt: skip
    wait_until(lambda: children_of(shared[-1]) != [])
    agent.left += children_of(shared[-1])
    everyone = (*shared, job, *children_of(shared[-1]))
    assert not any(map(ours.has, everyone))
    agent.end()
    ours.send(signal.SIGKILL)
    assert all(map(is_alive, everyone))


@pytest.mark.usefixtures("adopting")
def test_an_orphan_in_another_directory_is_left_alone(agent: Agent, tmp_path: Path) -> None:
    """An orphan in another directory and a child of our own are left alone."""
    ours = family(agent, tmp_path)
    away = agent.leave("fork,setsid,fork,/")
    wait_until(lambda: parent_of(away) == os.getpid())
    own = subprocess.Popen(["sleep", "600"], cwd=tmp_path / "worktree")
    try:
        assert not ours.has(away)
        assert not ours.has(own.pid)
        assert not family(agent, tmp_path, adopts=False).has(away)
    finally:
        own.kill()
        own.wait()


def test_no_process_from_before_the_agent(agent: Agent, tmp_path: Path) -> None:
    """Only later processes belong to the agent, because its number may have been reused."""
    later = AgentProcesses(agent.pid, str(1 << 60), worktree=str(tmp_path), adopts=True)
    assert later.groups() == set()
    other = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        reused = AgentProcesses(other.pid, "1", worktree=str(tmp_path), adopts=False)
        assert not reused.has(other.pid)
        reused.send(signal.SIGKILL)
        assert is_alive(other.pid)
    finally:
        other.kill()
        other.wait()


def test_who_has_orders_of_his_own_is_spared(agent: Agent, tmp_path: Path) -> None:
    """Another agent that this one has started is left alone, with whatever it starts."""
    ours = family(agent, tmp_path)
    pid = agent.leave("setsid")
    assert ours.has(pid)
    ours.send(signal.SIGSTOP, {pid})
    wait_until(lambda: is_stopped(agent.pid))
    assert not is_stopped(pid)
    assert pid not in ours.groups({pid})
    ours.send(signal.SIGCONT)


def parent_of(pid: int) -> int:
    """Return the parent of a process."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def children_of(pid: int) -> list[int]:
    """Return the children of a process."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]
