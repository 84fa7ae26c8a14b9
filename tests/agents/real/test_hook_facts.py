"""The facts about the agents' own hooks that our hooks rely on.

A newer version of an agent that changes one fails with the row of docs/agent-facts.md. A program
that records its calls takes the place of ours.
"""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fixtures.scripted_model.plans import ToolCall
from fixtures.scripted_model.server import ScriptedModel
from gitworker.agents.adapters.attach_run import ONE_ATTEMPT
from gitworker.agents.environment.codex_hooks import codex_hook_options
from gitworker.agents.hooks.hook_context import answer_of
from gitworker.agents.hooks.rules_dialects import EVENTS, PROMPT, START, STOP, TOOL
from gitworker.agents.hooks.rules_session import begins_turn
from gitworker.agents.hooks.rules_settings import AGENTS, attached, hook_settings
from gitworker.agents.hooks.texts import TASK_SHOWN
from tests.agents.real.machine import AgentMachine, require_agent

pytestmark = pytest.mark.agents
PROMPT_TEXT = "Go [[plan:see]]"
RUNS = {
    "claude": ("claude", "-p", "--allowedTools", "Bash(git:*)", "--", PROMPT_TEXT),
    "codex": ("codex", "exec", PROMPT_TEXT),
    "qwen": ("qwen", "--approval-mode", "yolo", PROMPT_TEXT),
    "gemini": ("gemini", "--approval-mode", "yolo", "--skip-trust", "-p", PROMPT_TEXT),
    "opencode": ("opencode", "run", "--auto", PROMPT_TEXT),
}
NAMES = {
    "claude": {START: "SessionStart", PROMPT: "UserPromptSubmit", TOOL: "PostToolUse",
               STOP: "Stop"},
    "gemini": {START: "SessionStart", PROMPT: "BeforeAgent", TOOL: "AfterTool",
               STOP: "AfterAgent"},
    "opencode": {START: "session.created", PROMPT: "chat.message", TOOL: "tool.execute.after",
                 STOP: "session.idle"},
}  # fmt: skip
TEXTS = {
    START: f"(the session begins) {'x' * (TASK_SHOWN + 2000)} (all of it)",
    PROMPT: "(a message with the prompt)",
    TOOL: "(a message with the tool)",
    STOP: "Not committed: all.",
}
MARK = "inherited"  # the value of a variable of the agent
# Record the directory, the variable, the processes above and the input, then answer each end once.
RECORDER = """\
#!/bin/sh
process=$$ above=
while [ "$process" -gt 1 ]; do
    above="$above $process"
    process=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$process/status")
done
{ pwd; echo "$GITWORKER_PROBE"; echo "$above"; cat; } >"$PLACE/$(date +%s%N).$2"
cat "$PLACE/answer-$2" 2>/dev/null
case $2 in Stop | AfterAgent) rm -f "$PLACE/answer-$2" ;; esac
"""


@dataclass(frozen=True)
class HookCall:
    """One recorded call of a hook."""

    event: str
    directory: str
    variable: str
    above: list[str]
    given: str


@dataclass(frozen=True)
class Session:
    """A session of an agent: its process, the calls of its hooks, and the requests to the model."""

    agent: str
    pid: int
    directory: str
    calls: list[HookCall]
    requests: list[str]
    at_tool: int  # the request that was answered with the call of a tool

    def of(self, meaning: str) -> list[HookCall]:
        """Return the calls with a meaning."""
        name = NAMES.get(self.agent, NAMES["claude"])[meaning]
        return [one for one in self.calls if one.event == name]

    def reads(self, meaning: str) -> bool:
        """Return whether the answer to an event is in the requests from the next one on."""
        after = self.at_tool + 1 if meaning in (TOOL, STOP) else 0
        at_once = self.requests[after : after + 1] if meaning == TOOL else self.requests[after:]
        return any(TEXTS[meaning] in one for one in at_once)


def is_called(meaning: str) -> Callable[[Session], bool]:
    """Return the check that an event is reported."""
    return lambda session: bool(session.of(meaning))


def is_read(meaning: str) -> Callable[[Session], bool]:
    """Return the check that the model gets the answer to an event."""
    return lambda session: session.reads(meaning)


EVERY_AGENT = {
    "a hook runs in the session's directory": lambda session: all(
        one.directory == session.directory for one in session.calls
    ),
    "a hook runs below the agent's process": lambda session: all(
        str(session.pid) in one.above for one in session.calls
    ),
    "a hook inherits the agent's environment": lambda session: all(
        one.variable == MARK for one in session.calls
    ),
    "an event reports the prompt": is_called(PROMPT),
    "an event reports the end of a tool's call": is_called(TOOL),
    "an event reports the end of the turn": is_called(STOP),
    "a text for the prompt reaches the model": is_read(PROMPT),
    "a text for a tool's call is in the very next request": is_read(TOOL),
}
COMMANDS = {
    "an event reports the start of a session, once": lambda session: len(session.of(START)) == 1,
    "a text of 8,000 characters reaches the model whole": is_read(START),
    "an end that a hook refuses continues with the reason": is_read(STOP),
    "the input is one JSON object with the prompt": lambda session: all(
        one.given.startswith("{") and '"prompt":' in one.given for one in session.of(PROMPT)
    ),
}
FACTS: dict[str, dict[str, Callable[[Session], bool]]] = {
    "claude": {**EVERY_AGENT, **COMMANDS},
    "codex": {**EVERY_AGENT, **COMMANDS},
    "gemini": {**EVERY_AGENT, **COMMANDS},
    "qwen": {
        **EVERY_AGENT,
        **COMMANDS,
        "the reason of a refused end is reported as a prompt": lambda session: any(
            not begins_turn(PROMPT, one.given.encode()) for one in session.of(PROMPT)
        ),
    },
    "opencode": EVERY_AGENT,
}


@pytest.mark.parametrize("agent", FACTS)
def test_facts(agent: str, machine: AgentMachine, model: ScriptedModel, tmp_path: Path) -> None:
    """The agent reports its events and uses the answers as our hooks need it."""
    require_agent(agent)
    session = run_session(agent, machine, model, tmp_path)
    broken = [f"{agent}: {row}" for row, holds in FACTS[agent].items() if not holds(session)]
    assert not broken, "\n".join(broken)


def test_untrusted_hooks_of_codex(
    machine: AgentMachine, model: ScriptedModel, tmp_path: Path
) -> None:
    """Codex does not run the hooks of a file before its user has trusted them."""
    require_agent("codex")
    recorder = write_recorder(tmp_path)
    for directory in (machine.root / ".codex", Path(machine.env["CODEX_HOME"])):
        directory.mkdir(exist_ok=True)
        (directory / "hooks.json").write_text(attached(None, "codex", str(recorder)))
    done = subprocess.run(
        RUNS["codex"], cwd=machine.root, env={**os.environ, **machine.env, "PLACE": str(tmp_path)},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=150, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done
    assert [*read_calls(tmp_path)] == []
    assert len(model.exchanges) == 2


def test_time_limit_of_gemini(machine: AgentMachine, tmp_path: Path) -> None:
    """Gemini CLI ends a hook after a time limit in milliseconds."""
    require_agent("gemini")
    hooks = hook_settings("gemini", "git-worker")["hooks"]
    before, after = hooks["BeforeAgent"], hooks["AfterAgent"]
    before[0]["hooks"][0].update(command="exec sleep 600", timeout=1000)
    after[0]["hooks"][0].update(command=f"sleep 2 && touch {tmp_path}/ended")
    local = machine.root / AGENTS["gemini"].local
    local.parent.mkdir()
    local.write_text(json.dumps({"hooks": {"BeforeAgent": before, "AfterAgent": after}}))
    done = subprocess.run(
        RUNS["gemini"], cwd=machine.root, env={**os.environ, **machine.env},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=150, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done
    assert (tmp_path / "ended").exists()


def write_recorder(place: Path) -> Path:
    """Write the program that records the calls of hooks and answers them; return its path."""
    recorder = place / "recorder"
    recorder.write_text(RECORDER)
    recorder.chmod(0o755)
    return recorder


def run_session(agent: str, machine: AgentMachine, model: ScriptedModel, place: Path) -> Session:
    """Return a session in which the recorder answers every event."""
    recorder = write_recorder(place)
    for meaning, text in TEXTS.items():
        name = NAMES.get(agent, NAMES["claude"])[meaning]
        (place / f"answer-{name}").write_text(answer_of(EVENTS[name], text) + "\n")
    words = [*RUNS[agent]]
    if agent == "codex":
        words[2:2] = codex_hook_options(hook_settings(agent, str(recorder))["hooks"])
    else:
        local = machine.root / AGENTS[agent].local
        local.parent.mkdir(parents=True)
        local.write_text(attached(None, agent, str(recorder)))
    variables = {"PLACE": str(place), "GITWORKER_PROBE": MARK}
    with subprocess.Popen(
        words, cwd=machine.root, env={**os.environ, **machine.env, **ONE_ATTEMPT, **variables},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as process:  # fmt: skip
        said, _ = process.communicate(timeout=150)
    assert process.returncode == 0, said
    called = [at for at, one in enumerate(model.exchanges) if isinstance(one.answer, ToolCall)]
    return Session(
        agent, process.pid, str(machine.root), [*read_calls(place)],
        [str(one.request) for one in model.exchanges], called[0],
    )  # fmt: skip


def read_calls(place: Path) -> Iterator[HookCall]:
    """Yield the recorded calls in order."""
    for path in sorted(place.glob("[0-9]*.*")):
        directory, variable, above, given = path.read_text().split("\n", 3)
        event = path.name.partition(".")[2]
        yield HookCall(event, directory, variable, above.split(), given)
