"""Our MCP server and our hooks for one run of a known agent.

They are options and variables of this run. Files that an agent needs are written into the admin
directory of the worktree; neither the user's settings nor the worktree are changed.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from gitworker.agents.environment.codex_hooks import codex_hook_options
from gitworker.agents.environment.mcp_attachment import SERVER, VARIABLES, mcp_attachment
from gitworker.agents.environment.own_program import this_program
from gitworker.agents.hooks.attach import user_file
from gitworker.agents.hooks.rules_settings import AGENTS, attached, is_attached, run_hooks
from gitworker.errors import Invalid
from gitworker.paths import open_regular

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitworker.store.workers import Worker

CLAUDE_SETTINGS = "--settings"
QWEN_SETTINGS = "QWEN_CODE_SYSTEM_SETTINGS_PATH"
OPENCODE_SETTINGS = "OPENCODE_CONFIG_CONTENT"
# With any plugin OpenCode first installs a package of npm; without a network it waits 70 s
# for that. One attempt of ten seconds is enough: the package has types only. Our plugin deletes the
# variables that `START_ONLY` names.
START_ONLY = "GITWORKER_START_ONLY"
ONE_ATTEMPT = {"npm_config_fetch_retries": "0", "npm_config_fetch_timeout": "10000"}
SETTINGS_FILE, PLUGIN_FILE = "gitworker-settings.json", "gitworker-plugin.js"


class AttachedRun(NamedTuple):
    """The words that attach us to a run, the user's options beside them, and variables."""

    words: tuple[str, ...]
    options: tuple[str, ...]
    variables: Mapping[str, str] = {}


def attach_run(
    form: str, worker: Worker, options: Sequence[str], env: Mapping[str, str]
) -> AttachedRun:
    """Return the words of a run with our server and hooks, in the form of an agent.

    `options` are the user's own and `env` is the caller's environment; settings in them are kept.
    Hooks that `agent install` has attached are not attached twice. Writes files for some agents.
    """
    program = this_program()
    plain = AttachedRun((), tuple(options))
    if not form or program is None or worker.worktree is None:
        return plain
    variables = (*VARIABLES, *sorted({name for name in env if name.isidentifier()} - {*VARIABLES}))
    server = mcp_attachment(form, (program, "mcp"), variables)
    assert server is not None
    if form == "opencode":
        return plain._replace(variables=_opencode(worker, program, server.environment, env))
    found = plain._replace(words=server.arguments)
    # Codex runs installed hooks only if their user trusts them.
    if form != "codex" and _is_installed(form, worker.worktree, program, env):
        return found
    if form == "claude":
        return _with_claude_settings(found, worker.worktree, program)
    if form == "codex":
        hooks = codex_hook_options(run_hooks(form, program)["hooks"])
        return found._replace(words=(*found.words, *hooks))
    if QWEN_SETTINGS in env or worker.admin_dir is None:
        return found
    path = _write(worker.admin_dir, SETTINGS_FILE, json.dumps(run_hooks(form, program)))
    return found._replace(variables={QWEN_SETTINGS: path})


def _is_installed(form: str, worktree: str, program: str, env: Mapping[str, str]) -> bool:
    for path in (f"{worktree}/{AGENTS[form].local}", user_file(form, env)):
        text = _read(path)
        if text is not None and is_attached(text, program):
            return True
    return False


def _with_claude_settings(found: AttachedRun, worktree: str, program: str) -> AttachedRun:
    """Add our hooks to the settings among the user's options, of which Claude reads the last."""
    left: list[str] = []
    text: str | None = None
    words = iter(found.options)
    for word in words:
        name, equals, value = word.partition("=")
        if name == CLAUDE_SETTINGS:
            text = value if equals else next(words, "")
        else:
            left.append(word)
    if text is not None and not text.lstrip().startswith("{"):
        text = _read(os.path.join(worktree, text))
        if text is None:
            return found  # Claude itself reports the missing file
    try:
        settings = attached(text, "claude", program, hooks=run_hooks("claude", program))
    except Invalid:
        return found
    settings = json.dumps(json.loads(settings), ensure_ascii=False)
    return found._replace(words=(*found.words, CLAUDE_SETTINGS, settings), options=tuple(left))


def _opencode(
    worker: Worker, program: str, server: Mapping[str, str], env: Mapping[str, str]
) -> dict[str, str]:
    """Return the variable with the user's settings for one run, our server and our plugin."""
    try:
        settings = json.loads(env.get(OPENCODE_SETTINGS) or "{}")
        settings = {**settings, "mcp": {**settings.get("mcp", {})}}
        plugins = [*settings.get("plugin", ())]
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}  # OpenCode itself reports them
    ours: dict[str, Any] = json.loads(server[OPENCODE_SETTINGS])
    settings["mcp"][SERVER] = ours["mcp"][SERVER]
    assert worker.worktree is not None
    if worker.admin_dir is not None and not _is_installed(
        "opencode", worker.worktree, program, env
    ):
        path = _write(worker.admin_dir, PLUGIN_FILE, attached(None, "opencode", program))
        settings["plugin"] = [*plugins, f"file://{quote(path)}"]
    own = {name.lower() for name in env}
    start = {name: value for name, value in ONE_ATTEMPT.items() if name not in own}
    return {OPENCODE_SETTINGS: json.dumps(settings), START_ONLY: " ".join(start), **start}


def _read(path: str) -> str | None:
    with (
        suppress(OSError, UnicodeDecodeError),
        open(path, encoding="utf-8", opener=open_regular) as file,
    ):
        return file.read()
    return None


def _write(directory: str, name: str, text: str) -> str:
    """Replace a file of ours, which another agent of this worktree may have read; return it."""
    path = f"{directory}/{name}"
    partial = f"{path}.tmp"
    with suppress(FileNotFoundError):
        os.unlink(partial)
    fd = open_regular(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(fd, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(partial, path)
    return path
