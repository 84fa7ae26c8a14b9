"""Large files in git-lfs: pointers in git, contents in worktrees; without a server."""

import os
import shutil
from pathlib import Path

import pytest

from fixtures.repos import Repo
from tests.cli.kit import ok, run
from tests.conftest import git
from tests.kinds import builders, story
from tests.kinds.builders import Kind
from tests.kinds.test_refused import facts

pytestmark = pytest.mark.peers
TOOLS = Path(__file__).resolve().parents[2] / ".peers" / "bin"
CONTENT = b"REAL" + bytes(range(256)) * 40
NEW = b"REAL" + bytes(reversed(range(256))) * 40
VERIFY = """[verify]\ncommands = ['test "$(head -c 4 large.bin)" = REAL']\n"""


@pytest.fixture(autouse=True)
def lfs(monkeypatch: pytest.MonkeyPatch) -> str:
    """Put git-lfs on PATH, and return PATH without it; skip the test if it is not installed."""
    without = os.environ["PATH"]
    if (TOOLS / "git-lfs").exists():
        monkeypatch.setenv("PATH", f"{without}:{TOOLS}")
    elif shutil.which("git-lfs") is None:
        pytest.skip("git-lfs is not installed: make peers-env")
    return without


def with_large_files(place: Path) -> Path:
    """Make a repository with a large file, and git-lfs's own hooks and filters."""
    root = place / "repo"
    repo = Repo.make(root)
    repo.git("lfs", "install", "--local")
    repo.git("lfs", "track", "*.bin")
    repo.commit("Start", {**builders.START, ".gitworker.toml": VERIFY, "large.bin": CONTENT})
    return root


def holds_the_content(worktree: Path) -> None:
    """Assert that the content is there, not the pointer."""
    assert (worktree / "large.bin").read_bytes() == CONTENT


def has_landed_as_pointer(root: Path) -> None:
    """Assert a pointer in the target and the content in the main checkout."""
    assert git(root, "show", "main:src/new.bin").startswith("version https://git-lfs")
    assert (root / "src/new.bin").read_bytes() == NEW


LFS = Kind(
    "large files", with_large_files, worktree=holds_the_content, landed=has_landed_as_pointer,
    edits={"src/new.bin": NEW},
)  # fmt: skip


def test_main_job(tmp_path: Path) -> None:
    """The main job works, contents in every worktree, those of the verify commands too."""
    root = LFS.build(tmp_path)
    story.play(root, LFS)
    assert git(root, "lfs", "fsck") == "Git LFS fsck OK"


def test_its_hooks_run(tmp_path: Path) -> None:
    """The hooks that git-lfs installed run in a worker's worktree as in the main checkout."""
    root = LFS.build(tmp_path)
    worktree = Path(ok(root, "spawn", "auth", "t1"))
    git(root, "lfs", "lock", "large.bin", check=False)
    git(root, "config", "lfs.setlockablereadonly", "true")
    git(worktree, "lfs", "track", "--lockable", "*.bin")
    Repo(worktree).commit("Lockable", {"other.bin": NEW})
    assert not os.access(worktree / "other.bin", os.W_OK) or os.geteuid() == 0
    assert not (worktree / "other.bin").stat().st_mode & 0o200  # post-commit made it read-only


def test_a_missing_object(tmp_path: Path) -> None:
    """If a large file is neither here nor on a server, spawn says so and leaves nothing."""
    root = LFS.build(tmp_path)
    Repo(root).commit("Change it", {"large.bin": NEW})
    ok(root, "init")
    shutil.rmtree(root / ".git/lfs/objects")
    before = facts(root)
    answer = run(root, "spawn", "auth", "t1", "--from", "main~1")
    assert answer.status == 1, answer
    assert "large.bin" in answer.err, answer
    assert facts(root) == before


def test_without_the_program(tmp_path: Path, lfs: str) -> None:
    """If git-lfs is required and not installed, spawn says so and leaves nothing."""
    root = LFS.build(tmp_path)
    ok(root, "init")
    before = facts(root)
    if shutil.which("git-lfs", path=lfs):
        pytest.skip("git-lfs is installed in the system")
    answer = run(root, "spawn", "auth", "t1", env={"PATH": lfs})
    assert answer.status == 1, answer
    assert "git-lfs" in answer.err, answer
    assert facts(root) == before
