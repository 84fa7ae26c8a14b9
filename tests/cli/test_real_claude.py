"""The real Claude Code makes and removes worktrees by our hooks; no model is needed for that.

Rows of the facts about agents: WorktreeCreate and WorktreeRemove of Claude Code 2.1.330 (its input,
the path on standard output, a status that is not 0 keeps the worktree), and local settings.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Scene
from tests.cli.kit import ok

CLAUDE = Path(__file__).parents[2] / ".agents/bin/claude"
QUIET = {
    "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1", "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "ANTHROPIC_API_KEY": "x",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
}  # fmt: skip

pytestmark = pytest.mark.skipif(
    not CLAUDE.exists(), reason=f"Claude Code is not installed in {CLAUDE}"
)


def ask(scene: Scene, event: str, *words: str) -> dict[str, Any]:
    """Let Claude Code run its hooks for an event; return its last line."""
    argv = [str(CLAUDE), "worktree-hook", "--json", "--event", event, *words]
    done = subprocess.run(
        [*argv, "--trusted-folder", str(scene.root)], cwd=scene.root, env={**os.environ, **QUIET},
        check=False, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_its_worktrees_are_workers(scene: Scene) -> None:
    """A worktree is made by `spawn`, kept with a new file, and removed without one."""
    ok(scene.root, "agent", "install", "claude")
    made = ask(scene, "create", "--name", "login-form")
    assert made["outcome"] == "ok", made
    worktree = Path(made["worktreePath"])
    assert "cc-login-form" in ok(scene.root, "list")
    (worktree / "new").write_text("new")
    kept = ask(scene, "remove", "--path", str(worktree))
    assert kept["outcome"] == "failed", kept
    assert "not committed" in kept["message"]
    (worktree / "new").unlink()
    assert ask(scene, "remove", "--path", str(worktree))["outcome"] == "removed"
    assert not worktree.exists()


def test_similar_names_are_two_workers(scene: Scene) -> None:
    """The hook gets the name as it was given, so `fix/login` and `fix-login` share no worktree."""
    ok(scene.root, "agent", "install", "claude")
    names = ("fix/login", "fix-login", "fix/login")
    places = [ask(scene, "create", "--name", name)["worktreePath"] for name in names]
    assert places[0] == places[2] != places[1]
    listed = ok(scene.root, "list")
    assert all(f"cc-fix-login{end}\t" in listed for end in ("", "--5e870e24"))
