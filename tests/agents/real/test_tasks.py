"""Real agents do a task from `spawn --agent` to landed, driven by the scripted model."""

import pytest

from fixtures.scripted_model.server import ScriptedModel
from tests.agents.real.machine import AgentMachine, require_agent
from tests.cli.kit import Answer

pytestmark = pytest.mark.agents
LIMIT_ENDS = "2030-03-17 17:46"
AGENTS = ("claude", "codex", "qwen", "opencode", "gemini")
# The words after -- that choose the model, for an agent that no variable leads to it.
OPTIONS = {
    "aider": (
        "--", "--model", "openai/scripted", "--no-show-model-warnings", "--edit-format", "diff",
    ),
    "mini": ("--", "-m", "openai/scripted"),
    "pi": ("--", "--provider", "loop", "--model", "scripted"),
}  # fmt: skip


def spawn(machine: AgentMachine, agent: str, text: str) -> Answer:
    """Start an agent on a task of this text."""
    require_agent(agent)
    words = ("spawn", "auth", "t1", "--agent", agent, "-m", text, *OPTIONS.get(agent, ()))
    return machine.run(*words)


@pytest.mark.parametrize("agent", [*AGENTS, "pi"])
def test_from_spawn_to_landed(agent: str, machine: AgentMachine) -> None:
    """An agent edits and commits with its least rights, its work is handed in and lands."""
    answer = spawn(machine, agent, "Add it [[plan:work]]")
    assert answer.status == 0, answer
    log = machine.log("t1")
    assert "I added hello.txt." in log
    assert "git commit -m 'Add hello'" in log
    assert "tokens in" in log.splitlines()[-1]
    assert "session_id" not in log + answer.out
    assert machine.git("-C", "worktrees/t1", "status", "--porcelain") == ""
    run = machine.run("show", "auth", "--json").document["run"]
    assert (run["outcome"], run["agent"], run["failure"]) == ("handed_in", agent, None)
    assert run["session"]
    calls = 4 if agent == "gemini" else 3  # gemini asks first how complex the task is
    assert (run["input_tokens"], run["output_tokens"]) == (calls * 100, calls * 10)
    assert machine.run("land", "auth").status == 0
    assert machine.git("show", "main:hello.txt") == "hello"


def test_aider_from_spawn_to_landed(machine: AgentMachine) -> None:
    """Aider edits by blocks of text and commits by itself, and leaves no file of its own."""
    answer = spawn(machine, "aider", "Add it [[plan:write]]")
    assert answer.status == 0, answer
    assert machine.git("-C", "worktrees/t1", "status", "--porcelain", "--ignored") == (
        "!! .worker.log"
    )
    run = machine.run("show", "auth", "--json").document["run"]
    assert (run["outcome"], run["agent"], run["failure"]) == ("handed_in", "aider", None)
    assert machine.run("land", "auth").status == 0
    assert machine.git("show", "main:hello.txt") == "hello"


def test_a_plain_aider_hands_in(machine: AgentMachine) -> None:
    """The files that aider leaves when it is run as any other command are no uncommitted work."""
    require_agent("aider")
    machine.run("spawn", "auth", "t1", "-m", "Add it [[plan:write]]")
    words = ("aider", "--yes-always", "--no-stream", "--map-tokens", "0", *OPTIONS["aider"][1:])
    answer = machine.run("exec", "auth", "--", *words, "--message-file", "{prompt_file}")
    assert answer.status == 0, answer
    assert (machine.root / "worktrees/t1/.aider.chat.history.md").is_file()
    assert machine.run("show", "auth", "--json").document["state"] == "IN_REVIEW"
    assert machine.git("show", "--format=", "--name-only", "auth/t1") == "hello.txt"


def test_mini_from_spawn_to_landed(machine: AgentMachine) -> None:
    """mini-swe-agent works with a shell alone, and ends with a command of its own."""
    answer = spawn(machine, "mini", "Add it [[plan:submit]]")
    assert answer.status == 0, answer
    assert "git commit -m 'Add hello'" in machine.log("t1")
    assert machine.git("-C", "worktrees/t1", "status", "--porcelain") == ""
    run = machine.run("show", "auth", "--json").document["run"]
    assert (run["outcome"], run["agent"], run["failure"]) == ("handed_in", "mini", None)
    assert machine.run("land", "auth").status == 0
    assert machine.git("show", "main:hello.txt") == "hello"


@pytest.mark.parametrize("agent", AGENTS[:2])
def test_nothing_handed_in(agent: str, machine: AgentMachine) -> None:
    """An agent that ends well without a commit has not handed in: status 1, and an outcome."""
    require_agent(agent)
    words = ("spawn", "auth", "t1", "--agent", agent, "--json", "-m", "Talk [[plan:talk]]")
    answer = machine.run(*words)
    assert answer.status == 1
    assert answer.document["outcome"] == "nothing_handed_in"
    assert answer.document["exit_status"] == 1


@pytest.mark.parametrize("agent", AGENTS[:2])
def test_bus_in_the_sandbox(agent: str, machine: AgentMachine, model: ScriptedModel) -> None:
    """An agent reaches the bus from its own shell, and the brief in its prompt names its branch."""
    require_agent(agent)
    machine.run("spawn", "auth", "t1", "--agent", agent, "-m", "Go [[plan:meet]]")
    assert "on branch auth/t1" in model.texts()
    assert "I begin" in machine.run("inbox").out, machine.log("t1")


@pytest.mark.parametrize("agent", [*AGENTS, "pi"])
def test_session_continues(agent: str, machine: AgentMachine, model: ScriptedModel) -> None:
    """A sent-back agent continues its own conversation with the reason as its prompt."""
    spawn(machine, agent, "Add it [[plan:work]]")
    machine.run("reject", "auth", "-m", "Add more")
    again = ("exec", "auth", "--agent", agent, "--continue", "-m", "Add more [[plan:more]]")
    answer = machine.run(*again, *OPTIONS.get(agent, ()))
    assert answer.status == 0, answer
    last = str(model.exchanges[-1].request)
    assert "I added hello.txt." in last
    assert "Add more [[plan:more]]" in last
    assert machine.git("rev-list", "--count", "main..auth/t1") == "2"


@pytest.mark.parametrize("agent", ["claude", "qwen", "opencode", "gemini", "aider", "mini", "pi"])
def test_failed_login(agent: str, machine: AgentMachine) -> None:
    """A failure is recorded with its kind, and `inbox` shows it in words."""
    answer = spawn(machine, agent, "Go [[plan:login]]")
    assert answer.status == 1, answer
    run = machine.run("show", "auth", "--json").document["run"]
    assert (run["outcome"], run["failure"]) == ("failed", "authentication"), machine.log("t1")
    assert run["reason"] in machine.run("inbox").out


@pytest.mark.parametrize(
    ("agent", "plan", "words"),
    [
        ("claude", "busy", "rate limit of claude"),
        ("claude", "limit", "usage limit of claude"),  # with an API key it names no end
        ("codex", "limit", f"usage limit of codex until {LIMIT_ENDS}"),
    ],
)
def test_limits(agent: str, plan: str, words: str, machine: AgentMachine) -> None:
    """A limit pauses the task until its end, which `inbox` and `show` name; no attempt is lost."""
    require_agent(agent)
    answer = machine.run("spawn", "auth", "t1", "--agent", agent, "-m", f"Go [[plan:{plan}]]")
    assert answer.status == 1, answer
    shown = machine.run("show", "auth", "--json").document
    assert (shown["run"]["outcome"], shown["task"]["status"]) == ("waiting", "PAUSED"), machine.log(
        "t1"
    )
    assert f"{words}\n" in machine.run("inbox").out
    assert f"trouble   {words}\n" in machine.run("show", "auth").out
    assert shown["next"] == "git worker resume auth"


@pytest.mark.parametrize("agent", AGENTS[:2])
def test_detached(agent: str, machine: AgentMachine) -> None:
    """A detached agent hands its work in without a terminal."""
    require_agent(agent)
    words = ("spawn", "auth", "t1", "--agent", agent, "-d", "-m", "Add it [[plan:work]]")
    assert machine.run(*words).status == 0
    assert machine.run("wait", "auth", "--for", "in_review", "--timeout", "60").status == 0


@pytest.mark.parametrize(
    ("command", "mode"),
    [
        (("opencode", "acp"), ""),
        (("qwen", "--acp"), ""),
        (("gemini", "--acp"), ""),
        (("claude-agent-acp",), "acceptEdits"),  # in its mode auto it asks a server of the vendor
        (("codex-acp",), "agent-full-access"),  # in its first mode the index is read-only
    ],
)
def test_protocol(command: tuple[str, ...], mode: str, machine: AgentMachine) -> None:
    """Agents of five vendors do a task by the Agent Client Protocol, each in its mode for that."""
    require_agent(command[0])
    if mode:
        machine.git("config", "worker.agents.acp.mode", mode)
    words = ("spawn", "auth", "t1", "--agent", "acp", "-m", "Add it [[plan:work]]", "--", *command)
    answer = machine.run(*words)
    assert answer.status == 0, machine.log("t1")
    assert "I added hello.txt." in machine.log("t1")
    assert machine.git("show", "auth/t1:hello.txt") == "hello"
    run = machine.run("show", "auth", "--json").document["run"]
    assert (run["outcome"], run["agent"]) == ("handed_in", "acp")
