"""An unsupported repository or a missing origin is reported in one line and changes nothing."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fixtures.repos import Repo, tree_bytes
from tests.cli.kit import Answer, ok, run
from tests.conftest import git
from tests.hints.following import note
from tests.kinds import builders

COMMANDS = (
    ("init",), ("spawn", "auth", "t1"), ("status",), ("list",), ("fsck",), ("merge", "--all"),
    ("heartbeat",), ("msg", "poll"), ("msg", "send", "note"),
    ("hooks", "install"), ("doctor",),
)  # fmt: skip
UNSUPPORTED = {
    "extensions.fancy": "it uses extensions.fancy",
    "core.repositoryFormatVersion": "its format is version 9",
}


@pytest.mark.parametrize("setting", UNSUPPORTED)
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_repository_that_git_cannot_open(
    repository: Path, words: tuple[str, ...], setting: str
) -> None:
    """If git does not know the kind, no command writes anything, and each names the kind."""
    git(repository, "config", "core.repositoryFormatVersion", "1")
    git(repository, "config", setting, "9")
    before = tree_bytes(repository)
    answer = run(repository, *words)
    assert answer.status == 1, answer
    output = answer.out if words == ("doctor",) else answer.err
    message = f"the git on PATH does not support this repository: {UNSUPPORTED[setting]}"
    assert [line for line in output.splitlines() if message in line], answer
    assert output.count("\n") <= 2 or words == ("doctor",), answer
    assert tree_bytes(repository) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_repository_of_another_user(repository: Path) -> None:
    """A repository that git does not trust is left alone, with git's way to trust it."""
    subprocess.run(["chown", "-R", "12345", repository], check=True)
    before = tree_bytes(repository)
    answer = run(repository, "spawn", "auth", "t1")
    assert answer == Answer(
        1,
        "",
        f"error: git does not trust {repository}: it belongs to another user\n"
        f"hint: git config --global --add safe.directory {repository}\n",
    )
    assert tree_bytes(repository) == before


def facts(root: Path) -> tuple[object, ...]:
    """Return the state that a failing command must not change: refs, worktrees, workers, files."""
    places = sorted(str(path) for path in (root / "worktrees").glob("*") if path.is_dir())
    listed = git(root, "worktree", "list", "--porcelain").splitlines()
    branches = [line for line in listed if line.startswith("branch ")]  # not our scratch worktree
    return (
        git(root, "for-each-ref"), branches, places, ok(root, "list", "--json"),
        git(root, "status", "--porcelain"),
    )  # fmt: skip


def test_without_the_promisor(tmp_path: Path) -> None:
    """Without a partial clone's origin, a command that needs its objects fails once, cleanly."""
    origin = builders.start(tmp_path / "origin")
    origin.commit("Change it", {"README": "changed\n"})
    origin.git("config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{origin.root}", "repo")
    root = tmp_path / "repo"
    shutil.move(origin.root, tmp_path / "missing")
    ok(root, "init")
    before = facts(root)
    answer = run(root, "spawn", "auth", "t1", "--from", "main~1")
    assert answer.status == 1, answer
    assert "promisor remote" in answer.err.splitlines()[0], answer
    assert facts(root) == before
    worktree = Path(ok(root, "spawn", "auth", "t1"))
    Repo(worktree).commit("Work", {"src/new.txt": "new\n"})
    ok(root, "start", "auth")
    ok(root, "done", "auth")
    ok(root, "approve", "auth")
    ok(root, "trust", "--yes")
    ok(root, "merge", "auth")
    assert git(root, "show", "main:src/new.txt") == "new"


def test_a_replay_without_the_promisor(tmp_path: Path) -> None:
    """A rebase that needs a blob of a missing origin changes nothing, and works later."""
    root = builders.partial(tmp_path)
    origin = Repo(tmp_path / "origin")
    worktree = Path(ok(root, "spawn", "auth", "t1"))
    Repo(worktree).commit("Work", {"README": "line 1\nmine\nline 3\n"})
    ok(root, "start", "auth")
    ok(root, "done", "auth")
    origin.commit("By another user", {"README": "line 1\nline 2\nline 3\nline 4\nline 5\n"})
    git(root, "switch", "-q", "--detach")
    git(root, "fetch", "-q", "origin", "main:main")
    origin.root.rename(tmp_path / "missing")
    before = facts(root)
    answer = run(root, "approve", "auth")
    assert answer.status == 1, answer
    assert "promisor remote" in answer.err.splitlines()[0], answer
    assert "hint: git fetch" in answer.err, answer
    assert facts(root) == before
    (tmp_path / "missing").rename(origin.root)
    git(root, "fetch", "-q")
    ok(root, "approve", "auth")
    note("git fetch", answer.err)
    assert git(root, "show", "auth/t1:README").splitlines()[1:4:2] == ["mine", "line 4"]


def test_a_missing_key(tmp_path: Path) -> None:
    """A rebase that cannot sign its commits changes nothing, and works once the key is back."""
    root = builders.signing(tmp_path)
    worktree = Path(ok(root, "spawn", "auth", "t1"))
    Repo(worktree).commit("Work", {"src/new.txt": "new\n"})
    ok(root, "start", "auth")
    ok(root, "done", "auth")
    Repo(root).commit("By its user", {"other.txt": "other\n"})
    key = tmp_path / "key"
    key.rename(tmp_path / "kept")
    before = facts(root)
    answer = run(root, "approve", "auth")
    assert answer.status == 1, answer
    assert "private key" in answer.err.splitlines()[0], answer
    assert "--continue" not in answer.err, answer
    assert facts(root) == before
    (tmp_path / "kept").rename(key)
    ok(root, "approve", "auth")
    assert git(root, "log", "-1", "--format=%G?", "auth/t1") == "G"
