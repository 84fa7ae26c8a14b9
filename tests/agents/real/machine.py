"""A repository in which real agents work against the scripted model, without any other network."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from fixtures.scripted_model.server import ScriptedModel
from tests.cli.kit import Answer, run

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = ROOT / ".agents" / "bin"
# No agent needs another host: a request to one fails at once.
NOWHERE = "http://127.0.0.1:9"
QUIET = {
    "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1", "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CODE_MAX_RETRIES": "1",
    "AIDER_ANALYTICS": "false", "AIDER_CHECK_UPDATE": "false", "DO_NOT_TRACK": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "GEMINI_TELEMETRY_ENABLED": "false", "PI_OFFLINE": "1",
    "MSWEA_COST_TRACKING": "ignore_errors",
    "HTTPS_PROXY": NOWHERE, "HTTP_PROXY": NOWHERE, "https_proxy": NOWHERE, "http_proxy": NOWHERE,
    "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost",
}  # fmt: skip
CODEX = """\
model = "gpt-scripted"
model_provider = "loop"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.loop]
name = "loop"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "LOOP_KEY"
request_max_retries = 1
stream_max_retries = 1
"""


@dataclass(frozen=True)
class AgentMachine:
    """A repository and the environment of agents that reach only the scripted model."""

    root: Path
    env: dict[str, str]

    def run(self, *words: str) -> Answer:
        """Run a command of ours in the main checkout."""
        return run(self.root, *words, env=self.env)

    def git(self, *words: str) -> str:
        """Return the output of a git command in the main checkout."""
        done = subprocess.run(
            ["git", *words], cwd=self.root, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def log(self, task: str) -> str:
        """Return the log of a task's agent."""
        return (self.root / "worktrees" / task / ".worker.log").read_text()


def require_agent(name: str) -> None:
    """Skip the test, with the agent's name, unless `make agents-env` has installed it."""
    if not os.access(PROGRAMS / name, os.X_OK):
        pytest.skip(f"{name} is not installed (make agents-env)")


def make_machine(root: Path, home: Path, model: ScriptedModel) -> AgentMachine:
    """Return a repository with one commit, and settings that lead every agent to the model."""
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "Start"], cwd=root, check=True)
    path = f"{PROGRAMS}:{os.environ['PATH']}"
    # Codex finds its helpers only outside /tmp.
    _write(root.parent / "codex/config.toml", CODEX.format(url=model.url))
    for write in (_write_opencode, _write_qwen, _write_gemini, _write_pi):
        write(home, model.url)
    keys = {
        "ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "x", "LOOP_KEY": "x",
        "OPENAI_BASE_URL": f"{model.url}/v1", "OPENAI_API_BASE": f"{model.url}/v1",
        "OPENAI_API_KEY": "x", "OPENAI_MODEL": "scripted", "PATH": path,
        "GOOGLE_GEMINI_BASE_URL": model.url, "GEMINI_API_KEY": "x",
        "CODEX_HOME": str(root.parent / "codex"),
    }  # fmt: skip
    return AgentMachine(root, {**QUIET, **keys})


def make_place(name: str) -> Path:
    """Return a new directory outside /tmp, which the agents' sandboxes may write."""
    place = ROOT / "build" / "agents" / name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    return place


def _write_opencode(home: Path, url: str) -> None:
    model = {"tool_call": True, "limit": {"context": 100_000, "output": 8000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": "x"},
        "models": {"scripted": model},
    }
    settings = {
        "provider": {"loop": provider}, "model": "loop/scripted", "small_model": "loop/scripted",
        "autoupdate": False, "share": "disabled",
    }  # fmt: skip
    _write(home / ".config/opencode/opencode.json", json.dumps(settings))


def _write_qwen(home: Path, url: str) -> None:
    _write(home / ".qwen/settings.json", json.dumps(_like_gemini("openai")))


def _write_gemini(home: Path, url: str) -> None:
    _write(home / ".gemini/settings.json", json.dumps(_like_gemini("gemini-api-key")))


def _write_pi(home: Path, url: str) -> None:
    model = {"id": "scripted", "name": "scripted", "contextWindow": 100_000, "maxTokens": 8000}
    provider = {
        "baseUrl": f"{url}/v1", "apiKey": "x", "api": "openai-completions", "models": [model],
    }  # fmt: skip
    _write(home / ".pi/agent/models.json", json.dumps({"providers": {"loop": provider}}))


def _like_gemini(account: str) -> dict[str, object]:
    return {
        "security": {"auth": {"selectedType": account}, "folderTrust": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
        "general": {"enableAutoUpdate": False},
    }  # fmt: skip


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
