"""A repository with verify commands, and the records of a run of them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fixtures.repos import Content, Repo
from gitworker.model.ids import Oid
from gitworker.progress import Progress, ignore
from gitworker.session import Session
from gitworker.verify.verify import Verdict, Verifier
from tests.workers.world import World

# Fails if the worktree is not exactly the commit: a file too many, too few, or changed.
EXACT = (
    'test -z "$(git status --porcelain --ignored --untracked-files=all)"'
    ' && test -z "$(find . -mindepth 1 -type d -empty -not -path "./.git/*")"'
    ' && git diff --quiet HEAD && test -z "$(git ls-files -v | grep -v "^H")"'
)


class VerifyScene:
    """A world whose verify commands a test sets, as a person does by the environment."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world = world
        self._monkeypatch = monkeypatch

    def set(self, *commands: str, **settings: object) -> None:
        """Set the verify commands, and other settings by name."""
        values = {"VERIFY_COMMANDS": "\n".join(commands), **settings}
        for name, value in values.items():
            self._monkeypatch.setenv(f"GITWORKER_{name.upper()}", str(value))

    def session(self, *, report: Progress = ignore) -> Session:
        """Open a session with these settings."""
        return self.world.session(report=report)

    def commit(self, files: Mapping[str, Content], message: str = "More") -> Oid:
        """Commit on the target and return the commit."""
        return Oid(Repo(self.world.root).commit(message, files))

    def tip(self, revision: str = "main") -> Oid:
        """Return a commit."""
        return Oid(self.world.tip(revision))

    def verify(self, commit: Oid | None = None, *, report: Progress = ignore) -> Verdict:
        """Run the commands on a commit, by default the target's; it must not be known yet."""
        commit = commit or self.tip()
        with Verifier(self.session(report=report)) as verifier:
            assert verifier.known(commit) is None
            return run(verifier, commit)

    def runs(self) -> list[tuple[Any, ...]]:
        """Return the recorded run: commit, verdict, flaky, reason."""
        return self.world.query(
            "SELECT commit_oid, verdict, flaky, reason FROM verify_runs ORDER BY id"
        )

    @property
    def trees(self) -> Path:
        """Return the directory of the verify worktrees."""
        return self.world.root / "worktrees" / ".verify"


def run(verifier: Verifier, commit: Oid) -> Verdict:
    """Run the commands on one commit to their end."""
    verifier.start(commit, label="it")
    ended = verifier.wait(3600)  # of a clock that a test may turn
    assert ended is not None
    assert ended[0] == commit
    return ended[1]


def output(verdict: Verdict) -> str:
    """Return a run's log."""
    return Path(verdict.log).read_text(encoding="utf-8", errors="replace")


def is_alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


def read_pid(path: Path) -> int:
    """Return the number that a command has written into a file."""
    return int(path.read_text())


def kill(pid: int) -> None:
    """Kill a process that a test has let loose."""
    if is_alive(pid):
        os.kill(pid, 9)
