"""A repository with workers, and a tmux server of the test's own."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitworker.app import open_session
from gitworker.model.ids import TaskId, WorkerId
from gitworker.session import Session
from gitworker.store.workers import Worker
from gitworker.workers.spawn import SpawnRequest, spawn
from tests.cli.kit import wait_until

TASK = "login.form"
COLUMNS, ROWS = 120, 41


@dataclass(frozen=True)
class Server:
    """A tmux server; `environment` is that of a program inside one of its panes."""

    directory: str

    def tmux(self, *words: str, check: bool = True) -> str:
        """Run tmux on this server without any configuration, and return its output."""
        env = {name: value for name, value in os.environ.items() if name != "TMUX"}
        done = subprocess.run(
            ["tmux", "-f", "/dev/null", *words],
            env=env,
            check=False,
            capture_output=True,
            text=True,
        )
        assert not check or done.returncode == 0, (words, done)
        return done.stdout.strip()

    def begin(self, name: str) -> str:
        """Begin a session of the user's, with one window that has a shell; return its pane."""
        return self.tmux(
            "new-session", "-d", "-s", name, "-n", "shell", "-x", str(COLUMNS), "-y", str(ROWS),
            "-P", "-F", "#{pane_id}", "env", "PS1=$ ", "sh",
        )  # fmt: skip

    def inside(self, pane: str) -> dict[str, str]:
        """Return the environment that tmux gives a program in a pane."""
        text = self.tmux("display-message", "-p", "-t", pane, "#{socket_path},#{pid},#{session_id}")
        return {"TMUX": text.replace("$", ""), "TMUX_PANE": pane}

    def windows(self) -> list[str]:
        """Return every window as `session name`."""
        return self.tmux("list-windows", "-a", "-F", "#{session_name} #{window_name}").splitlines()

    def current(self, session: str) -> str:
        """Return the id of a session's current window."""
        return self.tmux("display-message", "-p", "-t", f"{session}:", "#{window_id}")

    def heights(self, window: str) -> list[int]:
        """Return the heights of a window's panes from the top down."""
        text = self.tmux("list-panes", "-t", window, "-F", "#{pane_height}")
        return [int(line) for line in text.splitlines()]

    def screen(self, pane: str) -> str:
        """Return the text of a pane, with wrapped lines joined."""
        return self.tmux("capture-pane", "-p", "-J", "-t", pane)

    def wait_for(self, pane: str, text: str) -> None:
        """Wait until a pane shows a text."""
        wait_until(lambda: text in self.screen(pane))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A place for a server, which ends with the test; a socket's path has to be short."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    directory = tempfile.mkdtemp(prefix="tmux-")
    monkeypatch.setenv("TMUX_TMPDIR", directory)
    monkeypatch.setenv("TERM", "xterm-256color")
    found = Server(directory)
    try:
        yield found
    finally:
        found.tmux("kill-server", check=False)
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def session(tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session of hq in a checkout whose path a shell would stumble over."""
    root = tmp_path / "it's a $(repo);"
    repository.rename(root)
    monkeypatch.chdir(root)
    return open_session()


Spawn = Callable[..., Worker]


@pytest.fixture
def give(session: Session) -> Spawn:
    """Give a worker a task and return it."""

    def spawned(worker: str = "auth", task: str = TASK) -> Worker:
        return spawn(session, SpawnRequest(WorkerId(worker), TaskId(task))).worker

    return spawned


def write_log(worker: Worker, text: str) -> None:
    """Append to the log of a worker's agent."""
    assert worker.worktree is not None
    with open(os.path.join(worker.worktree, ".worker.log"), "a") as file:
        file.write(text)
