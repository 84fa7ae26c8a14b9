"""A full-screen agent in a terminal of tmux, which a test reads and types into."""

import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitworker.agents.adapters.attach_run import ONE_ATTEMPT
from tests.agents.real.machine import AgentMachine

PATIENCE_S = 150  # such an agent starts within 20 s if nothing else runs
ENTER_S, TYPE_S = 3, 20
POLL_S = 0.3
COLUMNS, ROWS = 120, 40


@dataclass(frozen=True)
class Screen:
    """A tmux server with one window; the agent is the process of its pane."""

    socket: str

    def tmux(self, *words: str) -> str:
        """Run tmux without any configuration, and return its output."""
        done = subprocess.run(
            ["tmux", "-S", self.socket, *words], check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, (words[0], done)
        return done.stdout

    @property
    def text(self) -> str:
        """Return the visible text, without the breaks of wrapped lines."""
        return self.tmux("capture-pane", "-p", "-J")

    @property
    def pid(self) -> int:
        """Return the process of the agent."""
        return int(self.tmux("display-message", "-p", "#{pane_pid}"))

    def press(self, *keys: str) -> None:
        """Press keys by their names in tmux."""
        self.tmux("send-keys", *keys)

    def say(self, text: str, until: Callable[[], object]) -> None:
        """Type a line, and wait for its effect.

        A line that the agent forgets while it starts again is typed again, and an Enter that it
        takes for a part of a pasted text is repeated.
        """
        typed = entered = float("-inf")

        def has_effect() -> bool:
            nonlocal typed, entered
            if until():
                return True
            now = time.monotonic()
            if text not in self.text:
                if now - max(typed, entered) >= TYPE_S:
                    self.press("-l", text)
                    typed = now
            elif now - entered >= ENTER_S:
                self.press("Enter")
                entered = now
            return False

        self.wait_until(has_effect)

    def wait_for(self, text: str) -> None:
        """Wait until the screen shows a text."""
        self.wait_until(lambda: text in self.text)

    def wait_until(self, condition: Callable[[], object]) -> None:
        """Wait for a condition; the failure shows the screen."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, f"the condition never came true\n{self.text}"
            select.select((), (), (), POLL_S)  # each look starts tmux, which slows the agent


@contextmanager
def on_screen(
    machine: AgentMachine, words: Sequence[str], variables: Mapping[str, str] | None = None
) -> Iterator[Screen]:
    """Run an agent in the worktree of t1 until the block ends."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    environment = {
        **os.environ, **machine.env, **ONE_ATTEMPT, "TERM": "xterm-256color", **(variables or {}),
    }  # fmt: skip
    screen = Screen(str(machine.root.parent / "tmux"))
    size = ("-x", str(COLUMNS), "-y", str(ROWS))
    subprocess.run(
        ["tmux", "-S", screen.socket, "-f", "/dev/null", "new-session", "-d", *size, *words],
        env={name: value for name, value in environment.items() if name != "TMUX"},
        cwd=machine.root / "worktrees" / "t1", check=True,
    )  # fmt: skip
    group = screen.pid
    try:
        yield screen
    finally:
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)  # Gemini CLI outlives its terminal
        subprocess.run(["tmux", "-S", screen.socket, "kill-server"], check=False)


def trust_worktree(machine: AgentMachine, home: Path) -> None:
    """Answer the questions that Claude Code and Codex ask at their first start in a directory."""
    worktree = str(machine.root / "worktrees" / "t1")
    settings = {
        "hasCompletedOnboarding": True, "customApiKeyResponses": {"approved": ["x"]},
        "projects": {worktree: {"hasTrustDialogAccepted": True}},
    }  # fmt: skip
    (home / ".claude.json").write_text(json.dumps(settings))
    with (Path(machine.env["CODEX_HOME"]) / "config.toml").open("a") as file:
        for place in (worktree, str(machine.root)):
            file.write(f'[projects."{place}"]\ntrust_level = "trusted"\n')
