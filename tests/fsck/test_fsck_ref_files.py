"""Damaged files of refs and of HEAD: fsck names them, a repair restores them from the reflog."""

import subprocess
import sys
from pathlib import Path

import pytest

from gitworker.fsck.fsck import run_fsck, run_repair
from gitworker.workers.cancel import cancel
from tests.workers.world import World

TEXTS = {
    "garbage": b"garbage\n", "empty": b"", "nul": b"\0" * 41, "cut": b"1234567\n",
    "dangling": b"ref: refs/heads/nowhere\n",
}  # fmt: skip
VERBS = (
    ("status",), ("list",), ("show", "auth"), ("show", "bob"), ("diff", "auth"), ("done", "auth"),
    ("doctor",), ("spawn", "new", "other"), ("done", "bob"), ("cancel", "auth"), ("log",),
)  # fmt: skip


def run(world: World, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run one command as a user does."""
    return subprocess.run(
        [sys.executable, "-m", "gitworker", *words], cwd=world.root, check=False, text=True,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=300,
    )  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_a_damaged_branch_is_restored(world: World, text: str) -> None:
    """The branch points at its last commit again, even if packed-refs has an older one."""
    world.working("auth", "login", {"a": "1\n"})
    world.git("pack-refs", "--all")
    world.commit("auth", {"b": "1\n"})
    tip, path = world.tip("auth/login"), world.root / ".git/refs/heads/auth/login"
    path.write_bytes(TEXTS[text])
    assert "ref_damaged" in {one.code for one in run_fsck(world.session()).findings}
    repaired = run_repair(world.session())
    assert (repaired.failed, repaired.left.findings) == ((), ())
    assert world.tip("auth/login") == tip
    assert not (world.root / ".git/refs/heads/nowhere").exists()


@pytest.mark.parametrize("text", TEXTS)
def test_a_damaged_rescue_ref_is_restored(world: World, text: str) -> None:
    """A rescue ref points at the commit of our records again."""
    world.working("auth", "login", {"a": "1\n"})
    tip = world.tip("auth/login")
    cancel(world.session(), "auth")
    (path,) = (one for one in (world.root / ".git/refs/worker/rescue").rglob("*") if one.is_file())
    path.write_bytes(TEXTS[text])
    assert run_repair(world.session()).left.findings == ()
    assert tip in world.git("rev-list", "--all").split()


@pytest.mark.parametrize("text", ["garbage", "empty", "nul", "cut"])
def test_a_damaged_head_is_restored(world: World, text: str) -> None:
    """The worktree is on its worker's branch again, and its files are unchanged."""
    place = world.working("auth", "login", {"a": "1\n"})
    (place / "a").write_text("2\n")
    Path(world.worker("auth").admin_dir or "", "HEAD").write_bytes(TEXTS[text])
    assert [one.code for one in run_fsck(world.session()).findings] == ["head_damaged"]
    assert run_repair(world.session()).left.findings == ()
    assert world.git("status", "--porcelain", "--branch", cwd=place) == "## auth/login\n M a"


@pytest.mark.parametrize("name", ["branch", "head"])
def test_no_command_crashes_on_a_damaged_ref(world: World, name: str) -> None:
    """Every command answers or refuses with a reason, and another worker is not affected."""
    world.working("auth", "login", {"a": "1\n"})
    world.working("bob", "form", {"b": "1\n"})
    admin = Path(world.worker("auth").admin_dir or "")
    path = admin / "HEAD" if name == "head" else world.root / ".git/refs/heads/auth/login"
    path.write_bytes(b"garbage\n")
    done = {verb: run(world, *verb) for verb in VERBS}
    wrong = {verb: one.stderr for verb, one in done.items() if one.returncode not in (0, 1, 3, 4)}
    assert wrong == {}
    assert [done[verb].returncode for verb in (("show", "bob"), ("done", "bob"))] == [0, 0]
