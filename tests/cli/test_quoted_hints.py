"""Hints with a path work as they are printed, if the path has blanks and quotes."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.kit import Answer, ok, run, run_installed
from tests.conftest import git

HINT = re.compile(r"^hint: (.*?)(?:   \(.*)?$", re.MULTILINE)


@pytest.fixture
def odd(repository: Path, tmp_path: Path) -> Path:
    """A repository at a path that a shell would split."""
    return repository.rename(tmp_path / 'it\'s "my" $HOME repo')


def follow(answer: Answer, *, at: str | Path = "/", status: int = 0) -> str:
    """Run the hint of a refusal in a shell, in the directory `at`, and return its output."""
    assert answer.status != 0, answer
    (command,) = HINT.findall(answer.err)
    done = subprocess.run(
        ["sh", "-c", command], check=False, capture_output=True, text=True, cwd=at,
        env={**os.environ, "PAGER": "cat"},
    )  # fmt: skip
    assert done.returncode == status, (command, done)
    return done.stdout + done.stderr


def write(place: Path, text: str) -> None:
    """Commit another README."""
    (place / "README").write_text(text)
    git(place, "commit", "-qam", "Write")


def test_a_conflict_names_the_command(odd: Path) -> None:
    """`approve` of work that conflicts prints the command that rebases it."""
    worktree = Path(ok(odd, "spawn", "auth", "t1"))
    write(worktree, "mine\n")
    assert run_installed(odd, "start", "auth").status == 0  # the agent is what starts programs
    ok(odd, "done", "auth")
    write(odd, "theirs\n")
    assert "in conflict" in follow(run(odd, "approve", "auth"), at=odd, status=3)
    assert git(worktree, "diff", "--name-only", "--diff-filter=U") == "README"


def test_a_failed_verification_names_its_log(odd: Path) -> None:
    """`merge` of work that does not pass prints the command that shows the log."""
    git(odd, "config", "worker.verify.commands", "echo broken; false")
    worktree = Path(ok(odd, "spawn", "auth", "t1"))
    write(worktree, "mine\n")
    for words in (("start", "auth"), ("done", "auth"), ("approve", "auth")):
        ok(odd, *words)
    assert "broken" in follow(run(odd, "merge", "auth"))


def test_a_wrong_branch_names_the_worktree(odd: Path) -> None:
    """`done` in a worktree on another branch prints the command that switches back."""
    worktree = Path(ok(odd, "spawn", "auth", "t1"))
    write(worktree, "mine\n")
    git(worktree, "switch", "-qc", "else")
    follow(run(worktree, "sync"))
    assert git(worktree, "branch", "--show-current") == "auth/t1"
