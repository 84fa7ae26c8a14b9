"""The tables that describe agents."""

import pytest

from gitworker.agents.adapters.find_adapter import known_adapters
from gitworker.agents.adapters.rules_adapter import Adapter, named_model, parse_adapter
from gitworker.errors import Invalid

PATHS = {"git_dir": '/a "b"/.git/worktrees/t', "common_dir": "/a/.git"}
OWN = Adapter("own", command=("own", "{options}", "{prompt}"))


def test_known_agents() -> None:
    """The package knows eight agents and a protocol, each with a command and an installation."""
    known = known_adapters()
    agents = ["claude", "codex", "gemini", "qwen", "opencode", "aider", "mini", "pi"]
    assert list(known) == [*agents, "acp"]
    assert all(one.command and one.install for one in known.values())
    assert all(
        one.reads_input or any("{prompt" in word for word in one.command) for one in known.values()
    )
    for one in known.values():
        has_place = "{attach}" in one.command and "{attach}" in one.resume
        assert has_place == (one.attach not in ("", "opencode"))


def test_words() -> None:
    """Options stand at their place, a session selects the other command, and paths are filled."""
    adapter = OWN._replace(
        resume=("own", "-r", "{session}"), env=("A=1", "B=x=y"),
    )  # fmt: skip
    new = adapter.words(options=["-x", "{prompt}"], session=None, paths=PATHS)
    assert new == ["own", "-x", "{prompt}", "{prompt}"]
    assert adapter.words(options=[], session="s1", paths=PATHS) == ["own", "-r", "s1"]
    assert OWN.words(options=[], session="s1", paths=PATHS) == ["own", "{prompt}"]
    assert adapter.variables() == {"A": "1", "B": "x=y"}
    attached = adapter._replace(command=("own", "{attach}", "{options}", "--"))
    words = attached.words(options=["-x"], session=None, paths=PATHS, attached=["-a", "b"])
    assert words == ["own", "-a", "b", "-x", "--"]


def test_a_limit_in_dollars() -> None:
    """The agent's own limit is given with two digits, unless the options contain one."""
    words = ("own", "{budget}", "{options}")
    adapter = Adapter("own", command=words, budget=("--max-usd", "{usd}"))
    for options, usd, found in (
        (["-x"], 1.5, ["own", "--max-usd", "1.50", "-x"]),
        (["-x"], None, ["own", "-x"]),
        (["--max-usd=9"], 1.5, ["own", "--max-usd=9"]),
        (["--max-usd", "9"], 1.5, ["own", "--max-usd", "9"]),
    ):
        assert adapter.words(options=options, session=None, paths={}, budget_usd=usd) == found
    claude = known_adapters()["claude"]
    for session in (None, "s1"):
        words_of_claude = claude.words(options=[], session=session, paths={}, budget_usd=0.1)
        assert words_of_claude[words_of_claude.index("--max-budget-usd") + 1] == "0.10"


def test_the_model_of_a_run() -> None:
    """The options name a model in one word or in two."""
    assert named_model(["-x", "--model", "opus"]) == "opus"
    assert named_model(["--model=opus", "-x"]) == "opus"
    assert named_model(["--model"]) is None
    assert named_model(["opus"]) is None


def test_paths() -> None:
    """A path is inserted as it is, or quoted as a string of TOML, with a name below it."""
    words = ("{git_dir}/x", "p={toml:git_dir}", "{toml:common_dir/config}", "{toml:other}")
    adapter = Adapter("own", command=words)
    assert adapter.words(options=(), session=None, paths=PATHS) == [
        '/a "b"/.git/worktrees/t/x', 'p="/a \\"b\\"/.git/worktrees/t"', '"/a/.git/config"', '""',
    ]  # fmt: skip


def test_prompt_words() -> None:
    """An agent that reads its prompt from standard input needs one too."""
    assert OWN.prompt_words == OWN.command
    assert OWN._replace(input="prompt", command=("own",)).prompt_words == ("own", "{prompt}")


def test_protocol() -> None:
    """An agent that speaks the protocol gets its prompt and its session from our client."""
    adapter = Adapter("own", command=("own",), stream="acp")
    assert (adapter.reads_input, adapter.can_resume) == (True, True)
    assert adapter.client_options(None) == []
    chosen = adapter._replace(mode="full", permissions=("edit=ask", "read=deny"))
    assert chosen.client_options("s1") == [
        "--session", "s1", "--mode", "full", "--permission", "edit=ask", "--permission",
        "read=deny",
    ]  # fmt: skip
    assert not OWN.can_resume
    assert (adapter.has_program, known_adapters()["acp"].has_program) == (True, False)


def test_overridden_fields() -> None:
    """A table replaces single fields of a known agent, and makes a new one."""
    changed = parse_adapter("own", {"command": ["other"]}, OWN._replace(stream="codex"), origin="f")
    assert (changed.command, changed.stream) == (("other",), "codex")
    table: dict[str, object] = {"command": ["x"], "stream": "claude", "install": "get x"}
    assert parse_adapter("new", table, None, origin="f").install == "get x"


@pytest.mark.parametrize(
    ("name", "table", "complaint"),
    [
        ("own", {}, "f: agents.own has no command"),
        ("Own", {"command": ["x"]}, "f: agents.Own: the name of an agent is like claude or my-age"),
        ("own", {"cmnd": ["x"]}, "f: agents.own has an unknown field: cmnd (known: command,"),
        ("own", {"name": "x"}, "f: agents.own has an unknown field: name"),
        ("own", {"command": "x"}, "f: agents.own: command must be an array of strings"),
        ("own", {"command": ["x"], "env": [1]}, "f: agents.own: env must be an array of strings"),
        ("own", {"command": ["x"], "input": 1}, "f: agents.own: input must be a string"),
        ("own", {"command": ["x"], "stream": "xml"}, "f: agents.own: stream is 'xml'; it must be"),
        ("own", {"command": ["x"], "attach": "pi"}, "f: agents.own: attach is 'pi'; it must be"),
        ("own", {"permissions": ["edit=never"]}, "f: agents.own: permissions must have the form"),
    ],
)
def test_wrong_tables(name: str, table: dict[str, object], complaint: str) -> None:
    """A wrong table is refused with its origin, the agent and the field."""
    with pytest.raises(Invalid) as refused:
        parse_adapter(name, table, None, origin="f")
    assert refused.value.message.startswith(complaint)


def test_probe() -> None:
    """A probe runs a command in the agent's sandbox, whose rights are those of a real run."""
    command = ["git", "commit"]
    assert OWN.probe_words(command, PATHS) == command
    boxed = OWN._replace(probe=("own", "box", "{git_dir}", "{command}"))
    assert boxed.probe_words(command, PATHS) == ["own", "box", PATHS["git_dir"], *command]
    codex = known_adapters()["codex"]
    assert {word for word in codex.probe if word.startswith("permissions")} < {*codex.command}
