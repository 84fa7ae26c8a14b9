"""A repository with workers in it, as the command line makes them."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.kit import Answer, ok, run
from tests.conftest import git
from tests.workers.world import World, without_heartbeat_daemon


@dataclass(frozen=True)
class Scene:
    """A repository, and a process that plays the agent."""

    root: Path
    agent_pid: int

    def run(self, *words: str | bytes, cwd: Path | None = None, **options: object) -> Answer:
        """Run a command in the main checkout, or in `cwd`, and replace its volatile output."""
        return run(cwd or self.root, *words, root=self.root, **options)  # type: ignore[arg-type]

    def spawn(self, worker: str, task: str) -> Path:
        """Give a worker a task and return its worktree."""
        return Path(ok(self.root, "spawn", worker, task))

    def working(self, worker: str = "auth", task: str = "t1") -> Path:
        """Return the worktree of a worker that has begun."""
        worktree = self.spawn(worker, task)
        ok(self.root, "start", worker, "--pid", str(self.agent_pid))
        return worktree

    def submitted(self, worker: str = "auth", task: str = "t1", file: str = "new.txt") -> Path:
        """Return the worktree of a worker that has handed one commit in."""
        worktree = self.working(worker, task)
        self.commit(worktree, file)
        ok(self.root, "done", worker)
        return worktree

    def approved(self, worker: str = "auth", task: str = "t1", file: str = "new.txt") -> Path:
        """Return the worktree of a worker whose commit is approved."""
        worktree = self.submitted(worker, task, file)
        ok(self.root, "approve", worker)
        return worktree

    def commit(self, cwd: Path, file: str, text: str = "new\n") -> None:
        """Commit one file."""
        (cwd / file).write_text(text)
        git(cwd, "add", "--", file)
        git(cwd, "commit", "-qm", f"Write {file}")

    @property
    def state(self) -> Path:
        """Return the state directory."""
        return self.root / ".git" / "worker-state"


@pytest.fixture
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A repository in which no hook fires and no heartbeat daemon runs."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    made = World.make(tmp_path / "repo")
    with without_heartbeat_daemon(made):
        yield made


@pytest.fixture
def scene(repository: Path) -> Iterator[Scene]:
    """Return a repository on main with one commit; its processes end with the test."""
    agent = subprocess.Popen(["sleep", "600"])
    try:
        yield Scene(repository, agent.pid)
    finally:
        agent.kill()
        agent.wait()
