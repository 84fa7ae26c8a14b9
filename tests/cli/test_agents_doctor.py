"""`git worker agents`: alone it lists the agents at work, `doctor` checks the installed ones."""

import os
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Scene
from tests.cli.kit import ok, run
from tests.hints.following import hints_of, note


def test_list_is_the_default(scene: Scene) -> None:
    """`agents` and its options mean `agents list`; another word is no command of the group."""
    scene.working()
    listed = run(scene.root, "agents", "list", "--all", "--json").document["agents"]
    assert [one["agent"] for one in listed] == ["auth"]
    for words in (("--all", "--json"), ("--json",), ("--as", "auth", "--json")):
        found = run(scene.root, "agents", *words).document["agents"]
        assert [one["agent"] for one in found] == ["auth"], words
    assert ok(scene.root, "agents").startswith("AGENT")
    wrong = run(scene.root, "agents", "doctr")
    assert (wrong.status, "did you mean doctor?" in wrong.err) == (2, True)


def test_doctor(scene: Scene, tmp_path: Path) -> None:
    """A broken agent makes the status 1, with its repair; the other agents are still checked."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, script in (("claude", "echo 2.0"), ("codex", "exit 3")):
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    answer = scene.run("agents", "doctor", env={"PATH": f"{programs}:{os.environ['PATH']}"})
    assert answer.status == 1
    assert "→ npm install -g @openai/codex\n" in answer.out
    (claude,) = [line for line in answer.out.splitlines() if line.startswith("claude ")]
    assert claude.split() == ["claude", "2.0", "yes", "yes", "a", "plain", "shell"]


def test_the_path_of_the_program(scene: Scene) -> None:
    """In a shell that does not find the program, the hint changes PATH so that git does."""
    program = Path(sys.executable).with_name("git-worker")

    def answer(*words: str) -> str:
        done = subprocess.run(
            words, cwd=scene.root, env={**os.environ, "PATH": os.defpath}, check=False, text=True,
            capture_output=True,
        )  # fmt: skip
        return done.stdout + done.stderr

    first = answer(str(program), "agents", "doctor")
    assert "git-worker is not on PATH" in first
    (command,) = [one for one in hints_of(first, "") if one.startswith("export ")]
    repaired = answer("/bin/sh", "-c", f"{command} && git worker agents doctor")
    assert "git-worker is not on PATH" not in repaired
    assert "claude" in repaired
    note(command, first)
