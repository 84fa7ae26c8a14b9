"""`git worker agents`: alone it lists the agents at work, `doctor` checks the installed ones."""

import os
from pathlib import Path

from tests.cli.conftest import Scene
from tests.cli.kit import ok, run


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
