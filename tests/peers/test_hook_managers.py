"""husky, lefthook and pre-commit, installed before and after us: the hooks of all of them run."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from gitworker.repo.hooks.hook_status import status
from gitworker.repo.hooks.install import uninstall
from gitworker.repo.hooks.shims import refresh_shims
from tests.conftest import git
from tests.repo.hooks.support import (
    HookedRepo,
    commit,
    make_hooked_repo,
    quoted,
    snapshot,
    wait_until,
)

pytestmark = pytest.mark.peers
TOOLS = Path(__file__).resolve().parents[2] / ".peers" / "bin"


class Peer(NamedTuple):
    """A hook manager: its program, its configuration, its installation, its hooks."""

    program: str
    configure: Callable[[Path, Path], None]
    install: tuple[str, ...]
    hooks: tuple[str, ...]


def configure_husky(root: Path, log: Path) -> None:
    """Write tracked hooks for husky, and ignore its generated files, as husky does."""
    (root / ".husky").mkdir()
    for name in HUSKY.hooks:
        (root / ".husky" / name).write_text(f"echo husky-{name} >>{quoted(log)}\n")


def configure_lefthook(root: Path, log: Path) -> None:
    """Write lefthook's configuration."""
    jobs = "".join(
        f"{name}:\n  jobs:\n    - run: echo lefthook-{name} >>{log}\n" for name in LEFTHOOK.hooks
    )
    (root / "lefthook.yml").write_text(jobs)


def configure_pre_commit(root: Path, log: Path) -> None:
    """Write pre-commit's configuration with local hooks: it needs no network."""
    entries = "".join(
        f"  - {{id: {name}, name: {name}, language: system, stages: [{name}], always_run: true,"
        f' pass_filenames: false, entry: sh -c "echo pre-commit-{name} >>{log}"}}\n'
        for name in PRE_COMMIT.hooks
    )
    (root / ".pre-commit-config.yaml").write_text("repos:\n- repo: local\n  hooks:\n" + entries)


HUSKY = Peer("husky", configure_husky, (), ("pre-commit", "commit-msg", "post-commit"))
LEFTHOOK = Peer(
    "lefthook", configure_lefthook, ("install",), ("pre-commit", "commit-msg", "post-commit")
)
PRE_COMMIT = Peer(
    "pre-commit",
    configure_pre_commit,
    ("install", "-t", "pre-commit", "-t", "commit-msg", "-t", "post-commit"),
    ("pre-commit", "commit-msg", "post-commit"),
)


@pytest.fixture(params=[HUSKY, LEFTHOOK, PRE_COMMIT], ids=lambda peer: peer.program)
def peer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Peer:
    """Return an installed hook manager; skip the test if it is not installed."""
    chosen: Peer = request.param
    if not (TOOLS / chosen.program).exists():
        pytest.skip(f"{chosen.program} is not installed: make peers-env")
    monkeypatch.setenv("PATH", f"{TOOLS}:{os.environ['PATH']}")
    return chosen


def run_peer(peer: Peer, directory: Path, *, check: bool = True) -> str:
    """Run the manager's installation in a directory and return its output."""
    done = subprocess.run(
        [peer.program, *peer.install], cwd=directory, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0 or not check, done.stdout + done.stderr
    return done.stdout + done.stderr


def expected(peer: Peer) -> list[str]:
    """Return the output of the manager's hooks for one commit."""
    return [f"{peer.program}-{name}" for name in peer.hooks]


def take(log: Path) -> list[str]:
    """Return the hooks' output since the last call."""
    lines = log.read_text().splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return lines


def commit_and_take(worktree: Path, log: Path, name: str) -> list[str]:
    """Commit in a worktree and return the output of the manager's hooks."""
    take(log)
    commit(worktree, name)
    return take(log)


def prepare(repository: Path, tmp_path: Path, peer: Peer) -> tuple[HookedRepo, Path]:
    """Commit the manager's configuration, then create a worker without hooks."""
    log = tmp_path / "log"
    peer.configure(repository, log)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Configure hooks")
    return make_hooked_repo(tmp_path, repository), log


def test_installed_before_us(repository: Path, tmp_path: Path, peer: Peer) -> None:
    """A manager that was there first runs in both checkouts, we in ours, and no trace is left."""
    hooked, log = prepare(repository, tmp_path, peer)
    run_peer(peer, repository)
    assert commit_and_take(repository, log, "one") == expected(peer)
    before = snapshot_without_history(repository)
    hooked.install()
    assert commit_and_take(repository, log, "two") == expected(peer)
    assert not (hooked.spool / "hooks").exists()
    assert commit_and_take(hooked.worktree, log, "three") == expected(peer)
    assert [line[1] for line in hooked.spooled()] == ["post-commit"]
    assert status(hooked.git, hooked.repository).tampered == ()
    uninstall(hooked.git, hooked.repository)
    assert snapshot_without_history(repository) == before


def test_installed_after_us(repository: Path, tmp_path: Path, peer: Peer) -> None:
    """A manager that comes later installs as ever, and runs in our worktree after a refresh."""
    hooked, log = prepare(repository, tmp_path, peer)
    hooked.install()
    run_peer(peer, repository)
    assert commit_and_take(repository, log, "one") == expected(peer)
    refresh_shims(hooked.git, hooked.repository)
    assert commit_and_take(hooked.worktree, log, "two") == expected(peer)
    assert [line[1] for line in hooked.spooled()] == ["post-commit"]
    uninstall(hooked.git, hooked.repository)
    assert commit_and_take(repository, log, "three") == expected(peer)


def test_its_arrival_is_noticed(repository: Path, tmp_path: Path, peer: Peer) -> None:
    """The first commit after a manager was installed asks for a refresh by itself."""
    hooked, _ = prepare(repository, tmp_path, peer)
    hooked.install()
    run_peer(peer, repository)
    commit(hooked.worktree, "one")
    wait_until(lambda: any("refresh-hooks" in line for line in hooked.starts()), "the refresh")


def test_installed_from_our_worktree(repository: Path, tmp_path: Path, peer: Peer) -> None:
    """Whether it refuses in our worktree or overwrites our shims, a refresh puts ours right."""
    hooked, _ = prepare(repository, tmp_path, peer)
    hooked.install()
    run_peer(peer, hooked.worktree, check=False)
    refresh_shims(hooked.git, hooked.repository)
    assert status(hooked.git, hooked.repository).tampered == ()
    commit(hooked.worktree, "one")
    assert [line[1] for line in hooked.spooled()] == ["post-commit"]


def snapshot_without_history(root: Path) -> dict[str, bytes | str]:
    """Return the git directory but objects, refs and logs, the index, and our own state."""
    history = (
        "objects",
        "refs",
        "logs",
        "worker-state",
        "worktrees/w/logs",
        "index",
        "COMMIT_EDIT",
    )
    moving = ("worktrees/w/index", "worktrees/w/COMMIT_EDITMSG")
    everything = snapshot(root / ".git")
    return {
        name: value
        for name, value in everything.items()
        if not name.startswith(history) and name not in moving
    }
