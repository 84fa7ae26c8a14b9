"""Our server and our hooks are options and variables of one run; the user's own settings stay."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from gitworker.agents.adapters.attach_run import attach_run
from gitworker.agents.environment.codex_hooks import codex_hook_options
from gitworker.agents.environment.own_program import this_program
from gitworker.agents.hooks.rules_settings import attached
from gitworker.model.ids import WorkerId
from gitworker.model.worker import WorkerState
from gitworker.store.workers import Worker

PROGRAM = this_program() or ""


@pytest.fixture
def worker(tmp_path: Path) -> Worker:
    """Return a worker with a worktree and an admin directory."""
    for name in ("tree", "admin"):
        (tmp_path / name).mkdir()
    absent = dict.fromkeys(Worker._fields[:19])
    return Worker(**absent)._replace(  # type: ignore[arg-type]
        worker_id=WorkerId("auth"), state=WorkerState.WORKING,
        worktree=str(tmp_path / "tree"), admin_dir=str(tmp_path / "admin"),
    )  # fmt: skip


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    """Return an environment whose home directory is empty."""
    return {"HOME": str(tmp_path), **more}


def options(words: tuple[str, ...]) -> dict[str, str]:
    """Return words of the form NAME VALUE as a table."""
    return dict(zip(words[::2], words[1::2], strict=True))


def test_claude(worker: Worker, tmp_path: Path) -> None:
    """Claude gets the server and the hooks in options; nothing is written."""
    run = attach_run("claude", worker, ["--model", "opus"], environment(tmp_path))
    found = options(run.words)
    server = json.loads(found["--mcp-config"])["mcpServers"]["gw"]
    assert (server["command"], server["args"]) == (PROGRAM, ["mcp"])
    hooks = json.loads(found["--settings"])["hooks"]
    assert "hook PostToolUse" in hooks["PostToolUse"][0]["hooks"][0]["command"]
    assert hooks["SessionStart"][0]["matcher"] == "clear|compact"
    assert (run.options, run.variables) == (("--model", "opus"), {})
    assert not [*(tmp_path / "tree").iterdir(), *(tmp_path / "admin").iterdir()]


@pytest.mark.parametrize("form", ["--settings={}", "--settings {}", "--settings own.json"])
def test_settings_of_the_user(form: str, worker: Worker, tmp_path: Path) -> None:
    """Settings among the options, as text or as a file of the worktree, get our hooks, too."""
    own: dict[str, Any] = {"sandbox": {"enabled": True}, "hooks": {"Stop": [{"hooks": []}]}}
    (tmp_path / "tree" / "own.json").write_text(json.dumps(own))
    words = [word.replace("{}", json.dumps(own)) for word in form.split()]
    run = attach_run("claude", worker, [*words, "-x"], environment(tmp_path))
    settings = json.loads(options(run.words)["--settings"])
    assert settings["sandbox"] == {"enabled": True}
    assert [len(settings["hooks"][name]) for name in ("Stop", "PostToolUse")] == [2, 1]
    assert run.options == ("-x",)


@pytest.mark.parametrize("value", ["missing.json", "{", '{"hooks": []}'])
def test_unreadable_settings_of_the_user(value: str, worker: Worker, tmp_path: Path) -> None:
    """Settings that we cannot extend reach the agent as they are, without our hooks."""
    run = attach_run("claude", worker, ["--settings", value], environment(tmp_path))
    assert run.words[::2] == ("--mcp-config",)
    assert run.options == ("--settings", value)


def test_installed_hooks(worker: Worker, tmp_path: Path) -> None:
    """Hooks that are installed in the worktree or for the user are not attached twice."""
    for place in (
        tmp_path / "tree/.claude/settings.local.json",
        tmp_path / ".claude/settings.json",
    ):
        place.parent.mkdir()
        place.write_text(attached(None, "claude", PROGRAM))
        run = attach_run("claude", worker, [], environment(tmp_path))
        assert run.words[::2] == ("--mcp-config",)
        place.unlink()


def test_codex(worker: Worker, tmp_path: Path) -> None:
    """Codex gets settings, with the digests by which it trusts these hooks and no others."""
    run = attach_run(
        "codex", worker, ["-m", "x"], environment(tmp_path, OWN_KEY="1", **{"a-b": ""})
    )
    assert set(run.words[::2]) == {"-c"}
    settings = tomllib.loads("\n".join(run.words[1::2]))
    server = settings["mcp_servers"]["gw"]
    assert {"GITWORKER_ID", "OWN_KEY", "HOME"} <= set(server["env_vars"])
    assert "a-b" not in server["env_vars"]
    hooks = settings["hooks"]
    assert len(hooks["state"]) == len(hooks) - 1 == 5
    trust = hooks["state"]["/<session-flags>/config.toml:session_start:0:0"]["trusted_hash"]
    assert trust.startswith("sha256:")
    assert not any("bypass" in word for word in run.words)


def test_codex_digest() -> None:
    """The digest is the one that Codex 0.169.0 has reported for this hook."""
    command = "'/opt/git-worker' hook PostToolUse 2>/dev/null || : # gitworker"
    hook = {"type": "command", "command": command, "timeout": 20}
    known = {
        "PostToolUse": ({}, "d716e2d65015baef342f28b9ad329f1b5170749a33b23e6f6cbce865ee8ed37e"),
        "SessionStart": (
            {"matcher": "compact|clear"},
            "1d60700381ec55c061f8e1ecefcebd617f3133062deba3f3093cf11183cec116",
        ),
    }
    for event, (more, digest) in known.items():
        *_, state = codex_hook_options({event: [{**more, "hooks": [hook]}]})
        assert digest in state


def test_qwen(worker: Worker, tmp_path: Path) -> None:
    """Qwen gets its hooks in a file of the admin directory, unless the user has named another."""
    run = attach_run("qwen", worker, [], environment(tmp_path))
    assert run.words[0] == "--mcp-config"
    path = run.variables["QWEN_CODE_SYSTEM_SETTINGS_PATH"]
    assert Path(path).parent == tmp_path / "admin"
    assert "Stop" in json.loads(Path(path).read_text())["hooks"]
    env = environment(tmp_path, QWEN_CODE_SYSTEM_SETTINGS_PATH="/own")
    assert attach_run("qwen", worker, [], env).variables == {}


def test_opencode(worker: Worker, tmp_path: Path) -> None:
    """OpenCode gets server and plugin in a variable, beside the user's settings in it."""
    own = {"mcp": {"mine": {}}, "plugin": ["mine"], "model": "m"}
    env = environment(tmp_path, OPENCODE_CONFIG_CONTENT=json.dumps(own))
    run = attach_run("opencode", worker, ["-x"], env)
    settings = json.loads(run.variables["OPENCODE_CONFIG_CONTENT"])
    assert settings["mcp"]["gw"]["command"] == [PROGRAM, "mcp"]
    assert (settings["model"], set(settings["mcp"])) == ("m", {"mine", "gw"})
    assert settings["plugin"][0] == "mine"
    plugin = Path(settings["plugin"][1].removeprefix("file://"))
    assert json.dumps(PROGRAM) in plugin.read_text()
    assert (run.words, run.options) == ((), ("-x",))
    assert run.variables["npm_config_fetch_retries"] == "0"
    slow = attach_run("opencode", worker, [], environment(tmp_path, NPM_CONFIG_FETCH_RETRIES="5"))
    assert slow.variables["GITWORKER_START_ONLY"] == "npm_config_fetch_timeout"
    assert "npm_config_fetch_retries" not in slow.variables
    for text in ("{", "[]", '{"mcp": 5}', '{"plugin": 5}', "[" * 99_999):
        broken = environment(tmp_path, OPENCODE_CONFIG_CONTENT=text)
        assert attach_run("opencode", worker, [], broken).variables == {}


def test_other_agents(worker: Worker, tmp_path: Path) -> None:
    """An agent without a form gets nothing, and neither does one without our program."""
    assert attach_run("", worker, ["-x"], environment(tmp_path)) == ((), ("-x",), {})
