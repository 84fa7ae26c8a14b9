"""Agents that speak the Agent Client Protocol, driven by the library's own agent's side."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from gitworker.agents.adapters.find_agent import find_agent
from gitworker.errors import NotFound
from tests.agents.supervised import SupervisedWorker
from tests.cli.kit import Answer, ok, run
from tests.conftest import git
from tests.hints.following import Printed, note, perform
from tests.workers.world import wait_until

pytest.importorskip("acp", reason="pip install 'gitworker[acp]'")
AGENT = (sys.executable, "-m", "fixtures.acp_agent")


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file with the calls that the agent gets."""
    path = tmp_path / "calls"
    monkeypatch.setenv("ACP_LOG", str(path))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    return path


def read_calls(path: Path) -> list[dict[str, Any]]:
    """Return the calls so far, in order."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def names(path: Path) -> list[str]:
    """Return the names of the calls so far."""
    return [call["call"] for call in read_calls(path)]


def execute(auth: SupervisedWorker, *options: str) -> Answer:
    """Run the agent for the worker to its end."""
    return run(auth.world.root, "exec", "auth", "--agent", "acp", *options, "--", *AGENT)


def test_from_prompt_to_hand_in(auth: SupervisedWorker, calls: Path) -> None:
    """The agent works in the worktree by policy, its text is readable, its work is handed in."""
    answer = execute(auth, "-m", "work")
    assert answer.status == 0, answer
    lines = (
        "I begin.", "$ git add hello.txt && git commit -qm 'Add hello'", "  committed",
        "= 10 tokens in, 2 out",
    )  # fmt: skip
    assert all(line in answer.out.splitlines() for line in lines), answer
    assert auth.state() == "IN_REVIEW"
    found = {call["call"]: call for call in read_calls(calls)}
    assert found["new_session"]["cwd"] == str(auth.path)
    assert found["new_session"]["servers"] == ["gw"]
    assert found["permission"]["answer"] == "once"
    shown = run(auth.world.root, "show", "auth", "--json").document["run"]
    assert (shown["agent"], shown["session"], shown["outcome"]) == ("acp", "s1", "handed_in")
    assert auth.world.messages("tool_use")[0]["count"] == 1


def test_denied_request_blocks(auth: SupervisedWorker, calls: Path) -> None:
    """A change outside the worktree is denied, and shows the worker as blocked."""
    answer = execute(auth, "-m", "outside")
    assert "! denied: Write passwd\nThe answer was no.\n" in answer.out
    assert answer.status == 1
    assert "blocked auth" in ok(auth.world.root, "inbox")
    assert ("warn", "permission", "denied: Write passwd") in auth.logs()


def test_asked_request_waits(auth: SupervisedWorker, calls: Path) -> None:
    """A request that a person decides is a question to hq, and its answer counts."""
    root = auth.world.root
    git(root, "config", "worker.agents.acp.permissions", "edit=ask")
    ok(root, "exec", "auth", "-d", "--agent", "acp", "-m", "work", "--", *AGENT)
    wait_until(lambda: bool(auth.world.messages("x-question")))
    inbox = run(root, "inbox", "--json").document
    assert {one["kind"] for one in inbox["items"]} == {"question", "blocked"}
    seq = next(one["seq"] for one in inbox["items"] if one["kind"] == "question")
    ok(root, "send", "auth", "--reply-to", str(seq), "yes")
    wait_until(lambda: auth.state() == "IN_REVIEW")
    permission = next(call for call in read_calls(calls) if call["call"] == "permission")
    assert permission["answer"] == "once"


def test_messages_and_sessions(auth: SupervisedWorker, calls: Path) -> None:
    """A message is the next prompt and is acknowledged; a session is loaded, its history silent."""
    root = auth.world.root
    ok(root, "send", "auth", "Use one table")
    answer = execute(auth, "-m", "hello")
    prompts = [call["text"] for call in read_calls(calls) if call["call"] == "prompt"]
    assert len(prompts) == 2, answer
    assert "Use one table" in prompts[1]
    assert "Use one table" not in run(root, "inbox", "--as", "auth").out
    answer = execute(auth, "--continue", "-m", "work")
    assert answer.status == 0, answer
    assert "said before" not in answer.out
    loads = [call for call in read_calls(calls) if call["call"] == "load_session"]
    assert [(one["cwd"], one["session"]) for one in loads] == [(str(auth.path), "s1")]


def test_stop_cancels_the_turn(auth: SupervisedWorker, calls: Path) -> None:
    """A stop order cancels the turn, and the agent ends by itself."""
    root = auth.world.root
    ok(root, "exec", "auth", "-d", "--agent", "acp", "-m", "wait", "--", *AGENT)
    wait_until(lambda: "prompt" in names(calls))
    ok(root, "stop", "auth")
    wait_until(lambda: auth.state() == "FAILED")
    assert names(calls)[-2:] == ["cancel", "cancelled"]
    shown = run(root, "show", "auth", "--json").document["run"]
    assert (shown["exit_status"], shown["outcome"]) == (143, "stopped")


def test_agent_that_forgets(
    auth: SupervisedWorker, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent that cannot load a session gets a new one, and learns of its task's text."""
    monkeypatch.setenv("ACP_FORGETS", "1")
    git(auth.world.root, "config", "worker.agents.acp.mode", "full")
    execute(auth, "-m", "hello")
    execute(auth, "--continue", "-m", "again")
    assert names(calls).count("new_session") == 2
    assert names(calls).count("set_session_mode") == 2
    assert "`git worker task text`" in read_calls(calls)[-1]["text"]


def test_failures(auth: SupervisedWorker, calls: Path) -> None:
    """An error of the agent is classified, and an agent that dies is a failure."""
    root = auth.world.root
    limited = run(root, "exec", "auth", "--agent", "acp", "-m", "limit", "--json", "--", *AGENT)
    assert limited.document["outcome"] == "waiting"
    assert "usage limit of acp until" in limited.document["message"]
    dead = run(root, "exec", "auth", "--agent", "acp", "-m", "go", "--json", "--", "true")
    assert dead.document["outcome"] == "failed"
    assert "the agent has ended" in dead.document["message"]


def test_missing_library(auth: SupervisedWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the answer is one message with the command that installs it."""
    monkeypatch.setitem(sys.modules, "acp", None)
    with pytest.raises(NotFound) as refused:
        find_agent(auth.world.session(), "acp", options=["true"])
    assert "needs the package agent-client-protocol" in refused.value.message
    assert refused.value.hint == "pip install 'gitworker[acp]'"


def test_the_hint_without_a_command(auth: SupervisedWorker, calls: Path, tmp_path: Path) -> None:
    """Without the command of an agent, the hint names the command that starts one."""
    root = auth.world.root
    ok(root, "task", "edit", "t1", "-m", "work")
    bare = run(root, "exec", "auth", "--agent", "acp")
    command = "git worker exec <worker> --agent acp -- <command>"
    assert bare.err.endswith(f"hint: {command}\n")
    program = tmp_path / "agent"
    program.write_text(f"#!/bin/sh\nexec {shlex.join(AGENT)}\n")
    program.chmod(0o755)
    filled = command.replace("<worker>", "auth").replace("<command>", str(program))
    done = perform(filled, Printed([], str(root)))
    assert (done.status, auth.state()) == (0, "IN_REVIEW"), done
    assert "prompt" in names(calls)
    note(command, bare.err)


def test_refusals(auth: SupervisedWorker) -> None:
    """A missing command, a missing program and a wrong policy are refused before the start."""
    root = auth.world.root
    bare = run(root, "exec", "auth", "--agent", "acp", "-m", "go")
    assert (bare.status, "requires the command of an agent" in bare.err) == (2, True)
    missing = run(root, "spawn", "b", "t2", "--agent", "acp", "-m", "go", "--", "no-such-agent")
    assert (missing.status, "cannot run 'no-such-agent'" in missing.err) == (4, True)
    git(root, "config", "worker.agents.acp.permissions", "edit=never")
    wrong = run(root, "exec", "auth", "--agent", "acp", "-m", "go", "--", *AGENT)
    assert "permissions must have the form" in wrong.err
    assert auth.state() == "ASSIGNED"
