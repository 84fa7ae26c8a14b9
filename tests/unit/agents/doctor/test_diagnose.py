"""agents doctor on small programs in the place of agents."""

import os
import sys
from pathlib import Path

import pytest

from gitworker.agents.doctor.diagnose import AgentDoctor, diagnose_agents
from gitworker.agents.doctor.health_text import json_agent_doctor, render_agent_doctor
from gitworker.agents.doctor.rules_problems import AgentHealth, Problem
from gitworker.app import open_session
from gitworker.processes.table import all_processes
from tests.conftest import git

# Codex prints its version, and runs a command in its sandbox after `--`.
CODEX = """\
test "$1" = sandbox || exec echo 'codex-cli 1.2.3'
until test "$1" = --; do shift; done
shift
{inside}
"""
HANGS = "{ sleep 500; } & echo $$ >{file}; sleep 500"


@pytest.fixture
def programs(tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give an empty directory on PATH, before our own program and the system's."""
    found = tmp_path / "programs"
    found.mkdir()
    own = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{found}:{own}:/usr/bin:/bin")
    monkeypatch.chdir(repository)
    return found


def write(programs: Path, name: str, script: str) -> None:
    """Write a program."""
    (programs / name).write_text(f"#!/bin/sh\n{script}\n")
    (programs / name).chmod(0o755)


def diagnose() -> dict[str, AgentHealth]:
    """Return the health of every agent."""
    return {one.agent: one for one in diagnose_agents(open_session()).agents}


def codes(health: AgentHealth) -> list[str]:
    """Return the kinds of the problems."""
    return [one.code for one in health.problems]


def test_no_agent(programs: Path) -> None:
    """Without an installed agent nothing is wrong, and the way to each is named."""
    found = diagnose_agents(open_session())
    absent = [one for one in found.agents if one.path is None]
    names = {one.agent for one in absent}
    assert {"codex", "aider", "pi"} <= names
    assert "acp" not in names  # any program
    assert found.is_healthy
    text = render_agent_doctor(AgentDoctor(tuple(absent), ()), width=80, color=False)
    assert text.startswith("No known agent is installed. To install one:\n  claude    npm install")


def test_healthy_agents(programs: Path, repository: Path) -> None:
    """A version is read, and commit and message are made: in the sandbox, or in a plain shell."""
    write(programs, "claude", "echo '2.0.1 (Claude Code)'")
    write(programs, "codex", CODEX.format(inside='exec "$@"'))
    write(programs, "pi", "echo 0.73.1 >&2")
    write(programs, "mini", "echo This is mini-swe-agent version 2.4.6.")
    found = diagnose()
    assert found["claude"][3:] == (
        f"{programs}/claude", "2.0.1", "shell", True, True, (),
    )  # fmt: skip
    assert found["pi"].version == "0.73.1"
    assert found["mini"].version == "2.4.6"
    assert found["codex"][4:] == ("1.2.3", "sandbox", True, True, ())
    state = repository / ".git" / "worker-state"
    assert [path.name for path in state.iterdir() if path.name.startswith("probe-")] == []
    assert git(repository, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert git(repository, "worktree", "list").count("\n") == 0


def test_program_that_hangs(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that does not answer is killed with its children, and the others are probed."""
    monkeypatch.setattr("gitworker.agents.doctor.diagnose.VERSION_S", 0.5)
    write(programs, "claude", HANGS.replace("{file}", str(tmp_path / "pid")))
    write(programs, "pi", "echo 3.1")
    found = diagnose()
    assert (found["claude"].version, found["claude"].commits) == (None, None)
    assert codes(found["claude"]) == ["version_hangs"]
    assert (found["pi"].version, found["pi"].commits) == ("3.1", True)
    session = int((tmp_path / "pid").read_text())
    assert not any(one.session == session for one in all_processes() or ())


def test_program_that_fails(programs: Path) -> None:
    """A program that fails is not probed, and is installed again."""
    write(programs, "claude", "echo 'node: bad option' >&2; exit 9")
    (programs / "pi").write_text("no program")
    (programs / "pi").chmod(0o755)
    found = diagnose()
    (problem,) = found["claude"].problems
    assert "ended with status 9: node: bad option" in problem.message
    assert problem.repair == "npm install -g @anthropic-ai/claude-code"
    assert codes(found["pi"]) == ["version_fails"]


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("echo 'bwrap: no' >&2; exit 1", ["sandbox"]),
        ("export GIT_DIR=/nowhere; exec \"$@\"", ["commit", "bus"]),
        ('case $* in *commit*) exit 0 ;; esac; exec "$@"', ["commit"]),
    ],
)  # fmt: skip
def test_sandbox(programs: Path, inside: str, expected: list[str]) -> None:
    """A sandbox that does not start, refuses git, or hides its result has that problem."""
    write(programs, "codex", CODEX.format(inside=inside))
    found = diagnose()["codex"]
    assert codes(found) == expected
    assert (found.commits, found.reaches_bus) == (False, expected == ["commit"])


def test_agents_of_the_user(programs: Path, repository: Path) -> None:
    """An own agent is not asked for a version that it does not offer; a wrong table is named."""
    write(programs, "mine", f"echo begun >>{repository}/begun")
    git(repository, "config", "worker.agents.mine.command", "mine")
    git(repository, "config", "worker.agents.bad.stream", "xml")
    found = diagnose()
    assert found["mine"][4:] == (None, "shell", True, True, ())
    assert not (repository / "begun").exists()
    assert codes(found["bad"]) == ["invalid"]


def test_no_identity(programs: Path, hermetic: Path) -> None:
    """A missing identity is named once, not as a problem of each agent."""
    (hermetic / ".gitconfig").write_text("[user]\nuseConfigOnly = true\n")
    write(programs, "claude", "echo 2.0")
    found = diagnose_agents(open_session())
    assert [one.code for one in found.problems] == ["identity"]
    (claude,) = [one for one in found.agents if one.agent == "claude"]
    assert (claude.commits, claude.reaches_bus, claude.problems) == (False, True, ())


def test_place_of_a_killed_command(programs: Path, repository: Path) -> None:
    """An old throw-away repository is removed by the next call."""
    state = repository / ".git" / "worker-state"
    open_session()
    for name, age_s in (("probe-old", 7200), ("probe-new", 0)):
        (state / name).mkdir()
        at_s = (state / name).stat().st_mtime - age_s
        os.utime(state / name, (at_s, at_s))
    write(programs, "claude", "echo 2.0")
    diagnose()
    assert [path.name for path in state.glob("probe-*")] == ["probe-new"]


SHOWN = AgentDoctor(
    (
        AgentHealth("claude", "claude", "get it", "/bin/claude", "2.0", "shell", True, True),
        AgentHealth(
            "codex", "codex", "get it", "/bin/codex", "1.2", "sandbox", False, True,
            (Problem("commit", "it cannot commit", "git worker mcp -h"),),
        ),
        AgentHealth("pi", "pi", "get pi"),
    ),
    (Problem("path", "git-worker is not on PATH", "export PATH"),),
)  # fmt: skip


def test_screen() -> None:
    """The installed agents are a table, each problem has its repair, the others are listed."""
    assert render_agent_doctor(SHOWN, width=80, color=False) == (
        "AGENT   VERSION  COMMITS  BUS  PROBED IN\n"
        "claude  2.0      yes      yes  a plain shell\n"
        "codex   1.2      no       yes  its sandbox\n"
        "\n"
        "Probed without a model, in a throw-away repository: git commit and git worker msg send, in"
        " the\nagent's own sandbox if it offers a command for that, else in a plain shell.\n"
        "\n"
        "git-worker is not on PATH\n"
        "→ export PATH\n"
        "\n"
        "codex: it cannot commit\n"
        "→ git worker mcp -h\n"
        "\n"
        "Not installed:\n"
        "  pi  get pi\n"
        "\n"
        "2 problems"
    )


def test_json() -> None:
    """The document has every agent with its problems, and those of all."""
    found = json_agent_doctor(SHOWN)
    assert (found["healthy"], found["problems"][0]["code"]) == (False, "path")
    assert found["agents"][1] == {
        "agent": "codex", "installed": True, "path": "/bin/codex", "version": "1.2",
        "probed": "sandbox", "commits": False, "reaches_bus": True, "install": "get it",
        "problems": [
            {"code": "commit", "message": "it cannot commit", "repair": "git worker mcp -h"}
        ],
    }  # fmt: skip
    assert found["agents"][2]["installed"] is False
