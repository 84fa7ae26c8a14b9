"""Locks that a killed git left are found with file and age, and removed by the named command."""

import os
import subprocess
from pathlib import Path

import pytest

from gitworker.fsck.fsck import run_fsck, run_repair
from gitworker.workers.cancel import cancel
from tests.workers.world import World

COMMON = (
    "packed-refs.lock", "config.lock", "HEAD.lock", "index.lock", "refs/heads/main.lock",
    "refs/heads/auth/login.lock", "refs/heads/auth/other.lock", "refs/worker/queue.lock",
    "refs/worker/rescue/gone/away/1.lock", "refs/worker/rescue/gone/away/2.lock",
    "refs/worker/landing/auth/login.lock",
)  # fmt: skip
ADMIN = ("index.lock", "HEAD.lock", "config.worktree.lock")


@pytest.mark.parametrize("name", [*COMMON, *(f"admin/{name}" for name in ADMIN)])
def test_a_lock_is_found_and_removed_by_the_hint(world: World, name: str) -> None:
    """An old lock of git is named with its file, its age and the command that removes it."""
    world.working("auth", "login", {"a": "1\n"})
    world.working("gone", "away", {"g": "1\n"})
    cancel(world.session(), "gone")
    admin = Path(world.worker("auth").admin_dir or "")
    lock = admin / name[6:] if name.startswith("admin/") else world.root / ".git" / name
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    assert run_fsck(world.session()).findings == ()  # a git command may be running
    os.utime(lock, (1, 1))
    (found,) = run_fsck(world.session()).findings
    assert (found.code, found.subject) == ("lock_left", str(lock))
    assert " s old, probably left by a killed git" in found.message
    assert run_repair(world.session()).done == ()
    command = found.hint.partition("   # ")[0]
    subprocess.run(["/bin/sh", "-c", command], cwd=world.root, check=True, timeout=60)
    assert run_fsck(world.session()).findings == ()
