"""`agent install` and `agent uninstall` as a user runs them."""

import json
import shlex
import subprocess
from pathlib import Path

from tests.cli.conftest import Scene
from tests.cli.kit import ok, run


def test_an_attached_command_runs(scene: Scene) -> None:
    """The command in an agent's settings answers, as the agent's shell starts it."""
    worktree = scene.spawn("auth", "t1")
    written = json.loads(ok(scene.root, "agent", "install", "claude", "--json"))
    file = worktree / ".claude/settings.local.json"
    assert str(file) in written["files"]
    (entry,) = json.loads(file.read_text())["hooks"]["SessionStart"]
    done = subprocess.run(
        ["sh", "-c", entry["hooks"][0]["command"]], cwd=worktree, input=b"{}", check=True,
        capture_output=True, env={"PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert "worker auth" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert "claude" in ok(scene.root, "doctor")
    ok(scene.root, "agent", "uninstall", "claude")
    assert not file.exists()


def test_a_missing_program_does_not_stop_the_agent(scene: Scene) -> None:
    """If our program is removed, the attached command still succeeds in silence."""
    ok(scene.root, "agent", "install", "claude")
    settings = json.loads((scene.root / ".claude/settings.local.json").read_text())
    command = settings["hooks"]["Stop"][0]["hooks"][0]["command"]
    program = shlex.split(command)[0]
    done = subprocess.run(
        ["sh", "-c", command.replace(program, "/no/such/program")], check=True, capture_output=True
    )
    assert (done.stdout, done.stderr) == (b"", b"")


def test_the_user_outside_a_repository(tmp_path: Path) -> None:
    """With --user no repository is needed, and Codex asks for trust."""
    env = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "CODEX_HOME": ""}
    done = run(tmp_path, "agent", "install", "codex", "--user", env=env)
    assert done.out.strip() == str(tmp_path / ".codex/hooks.json")
    assert "/hooks" in done.err
    assert run(tmp_path, "agent", "uninstall", "codex", "--user", env=env).status == 0
    assert not (tmp_path / ".codex").exists()
