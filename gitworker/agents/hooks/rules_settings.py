"""The settings that attach our hooks to an agent, and their place in its files. Pure."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from gitworker.errors import Invalid
from gitworker.rules_text import quoted

MARK = "# gitworker"  # ends each of our commands: a comment for the shell
TIMEOUT_S = 20
WORKTREE_TIMEOUT_S = 600  # of a new worktree with its setup commands
WORKTREE_EVENTS = frozenset({"WorktreeCreate", "WorktreeRemove"})
# The kinds of Notification. `agent_needs_input`: a question of Claude Code itself, as in its mode
# `auto`; `worker_permission_prompt`: a permission for a teammate.
NEEDS_PERSON = (
    "permission_prompt|idle_prompt|elicitation_dialog|elicitation_url_dialog"
    "|agent_needs_input|worker_permission_prompt"
)
MATCHERS: Mapping[tuple[str, str], str] = MappingProxyType(
    {("claude", "Notification"): NEEDS_PERSON, ("qwen", "Notification"): NEEDS_PERSON}
)
SHORTENED = "clear|compact"
# Gemini CLI compares a matcher as a whole. It drops the answer to SessionStart after /clear and to
# PreCompress, so both call the hook that introduces the agent with its next prompt. It compresses a
# conversation after each `manual` call, and after few of the `auto` ones, which come every turn.
SOURCES: Mapping[tuple[str, str], Mapping[str, str]] = MappingProxyType(
    {
        ("gemini", "SessionStart"): {
            "startup": "SessionStart", "resume": "SessionStart", "clear": "PreCompress",
        },
        ("gemini", "PreCompress"): {"manual": "PreCompress"},
    }
)  # fmt: skip


class AgentFiles(NamedTuple):
    """The events of an agent, and the files that it reads: in a worktree, and in the user's home.

    `home` is the variable that replaces the user's directory. `unit` is the number of its units of
    time in a second.
    """

    events: tuple[str, ...]
    local: str
    directory: str
    user: str
    home: str = ""
    unit: int = 1


AGENTS: Mapping[str, AgentFiles] = MappingProxyType(
    {
        "claude": AgentFiles(
            ("SessionStart", "UserPromptSubmit", "PostToolUse", "Notification", "Stop",
             "WorktreeCreate", "WorktreeRemove"),
            ".claude/settings.local.json", ".claude", "settings.json", "CLAUDE_CONFIG_DIR",
        ),
        "codex": AgentFiles(
            ("SessionStart", "UserPromptSubmit", "PostToolUse", "PermissionRequest", "Stop"),
            ".codex/hooks.json", ".codex", "hooks.json", "CODEX_HOME",
        ),
        "gemini": AgentFiles(
            ("SessionStart", "BeforeAgent", "AfterTool", "Notification", "PreCompress",
             "AfterAgent"),
            ".gemini/settings.json", ".gemini", "settings.json", unit=1000,
        ),
        "qwen": AgentFiles(
            ("SessionStart", "UserPromptSubmit", "PostToolUse", "Notification", "Stop"),
            ".qwen/settings.json", ".qwen", "settings.json",
        ),
        "opencode": AgentFiles(
            (), ".opencode/plugins/gitworker.js", ".config/opencode", "plugins/gitworker.js",
        ),
    }
)  # fmt: skip
NOTES: Mapping[str, str] = MappingProxyType(
    {"codex": "Codex runs new hooks only after you trust them: open codex, then /hooks"}
)
PLUGIN_HEAD = "// gitworker:"
PLUGIN = """\
// gitworker: attached by `git worker agent install opencode`
import { execFile } from "node:child_process"

const PROGRAM = %s
// Variables of a run's start alone: the agent's own commands must not inherit them.
for (const name of (process.env.GITWORKER_START_ONLY ?? "").split(" ")) delete process.env[name]

function hook(event, cwd) {
  return new Promise((resolve) => {
    const child = execFile(PROGRAM, ["hook", event], { cwd, timeout: 20000 }, (error, text) =>
      resolve(error ? "" : text.trim()))
    child.stdin?.end("{}")
  })
}

export const GitWorker = async ({ directory }) => {
  const known = new Set() // the sessions that are introduced, and those of subagents
  let hasPrompt = Boolean(process.env.GITWORKER_WORKTREE) // a run of ours: it has the task
  async function news(session, event) {
    const texts = []
    if (!known.has(session) && !hasPrompt) texts.push(await hook("session.created", directory))
    known.add(session)
    texts.push(await hook(event, directory))
    return texts.filter(Boolean).join("\\n\\n")
  }
  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      const text = await news(sessionID, "chat.message")
      const id = `${parts.at(-1)?.id ?? "prt_"}0` // parts are sorted by their ids
      const part = { id, sessionID, messageID: message.id, type: "text", synthetic: true, text }
      if (text) parts.push(part)
    },
    "tool.execute.after": async ({ sessionID }, output) => {
      const text = await news(sessionID, "tool.execute.after")
      if (text) output.output = `${output.output ?? ""}\\n\\n${text}`
    },
    event: async ({ event }) => {
      const { info, sessionID } = event.properties ?? {}
      if (event.type === "session.created" && info?.parentID) known.add(info.id)
      if (event.type === "session.compacted") {
        hasPrompt = false
        known.delete(sessionID)
      }
      if (event.type === "session.idle") await hook("session.idle", directory)
      if (event.type === "permission.asked" || event.type === "permission.updated")
        await hook("permission.asked", directory)
    },
  }
}
"""


def hook_settings(agent: str, program: str) -> dict[str, Any]:
    """Return the settings that attach our hooks to an agent: `{"hooks": {EVENT: […]}}`.

    `program` is the absolute path of `git-worker`.
    """
    files = AGENTS[agent]
    return {"hooks": {event: _entries(agent, event, program) for event in files.events}}


def run_hooks(agent: str, program: str) -> dict[str, Any]:
    """Return the settings for a run that we start.

    Its prompt has the task already, so the agent is introduced again only if its conversation was
    shortened.
    """
    settings = hook_settings(agent, program)
    for entry in settings["hooks"]["SessionStart"]:
        entry["matcher"] = SHORTENED
    return settings


def attached(
    text: str | None, agent: str, program: str, *, hooks: Mapping[str, Any] | None = None
) -> str:
    """Return the text of an agent's file with our hooks; `text` is None for a missing file.

    `hooks` are those of `run_hooks`, in place of those for an agent that a person starts.
    Raises Invalid for a file that we cannot extend: it is not plain JSON, or not ours.
    """
    if agent == "opencode":
        if text is not None and not _is_plugin(text):
            raise Invalid("the file exists and is not a plugin of gitworker")
        return PLUGIN % json.dumps(program)
    settings = _parse(text)
    found = settings.setdefault("hooks", {})
    if not isinstance(found, dict) or not all(isinstance(one, list) for one in found.values()):
        raise Invalid('"hooks" in the file does not have the form that the agent documents')
    _drop(settings)
    found = settings.setdefault("hooks", {})
    for event, entries in (hooks or hook_settings(agent, program))["hooks"].items():
        found.setdefault(event, []).extend(entries)
    return _written(settings)


def detached(text: str, agent: str) -> str | None:
    """Return the text of an agent's file without our hooks; None if nothing else is left of it."""
    if agent == "opencode":
        return None if _is_plugin(text) else text
    settings = _parse(text)
    if not _drop(settings):
        return text
    return _written(settings) if settings else None


def is_attached(text: str, program: str) -> bool:
    """Return whether a file calls our program."""
    return program in text and (MARK in text or _is_plugin(text))


def has_mark(content: bytes) -> bool:
    """Return whether the bytes of a file may contain hooks of ours."""
    return MARK.encode() in content or content.startswith(PLUGIN_HEAD.encode())


def _entries(agent: str, event: str, program: str) -> list[dict[str, Any]]:
    """Return the entries of an event of the agent: one, or one for each source of the event."""
    sources = SOURCES.get((agent, event))
    if sources is None:
        entry = _entry(agent, event, program)
        matcher = MATCHERS.get((agent, event))
        return [entry if matcher is None else {"matcher": matcher, **entry}]
    return [
        {"matcher": source, **_entry(agent, called, program)} for source, called in sources.items()
    ]


def _entry(agent: str, event: str, program: str) -> dict[str, Any]:
    limit_s = WORKTREE_TIMEOUT_S if event in WORKTREE_EVENTS else TIMEOUT_S
    hook = {
        "type": "command",
        "command": _command(event, program),
        "timeout": limit_s * AGENTS[agent].unit,
    }
    return {"hooks": [hook]}


def _command(event: str, program: str) -> str:
    """Return the shell command; only without a worktree may the agent not go on."""
    words = f"{quoted(program)} hook {event}"
    return f"{words} {MARK}" if event in WORKTREE_EVENTS else f"{words} 2>/dev/null || : {MARK}"


def _parse(text: str | None) -> dict[str, Any]:
    try:
        found = json.loads(text) if text and text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise Invalid(f"the file is not plain JSON: {error}") from None
    if not isinstance(found, dict):
        raise Invalid("the file is not a JSON object")
    return found


def _drop(settings: dict[str, Any]) -> bool:
    """Remove our entries, and what is empty without them; return whether there were any."""
    hooks = settings.get("hooks")
    if not isinstance(hooks, dict):
        return False
    found = False
    for event, entries in list(hooks.items()):
        if not isinstance(entries, list):
            continue
        kept = [left for entry in entries if (left := _without_ours(entry)) is not None]
        if kept != entries:
            found = True
            hooks[event] = kept
            if not kept:
                del hooks[event]
    if found and not hooks:
        del settings["hooks"]
    return found


def _without_ours(entry: Any) -> Any:
    """Return an entry without our commands; None if it has no others."""
    inner = entry.get("hooks") if isinstance(entry, dict) else None
    if not isinstance(inner, list):
        return entry
    kept = [one for one in inner if not _is_ours(one)]
    if len(kept) == len(inner):
        return entry
    return {**entry, "hooks": kept} if kept else None


def _is_ours(hook: Any) -> bool:
    return isinstance(hook, dict) and str(hook.get("command", "")).endswith(MARK)


def _is_plugin(text: str) -> bool:
    return text.startswith(PLUGIN_HEAD)


def _written(settings: Mapping[str, Any]) -> str:
    try:
        text = json.dumps(settings, indent=2, ensure_ascii=False) + "\n"
        text.encode()
    except (UnicodeEncodeError, RecursionError) as error:
        raise Invalid(f"the file cannot be written again: {error}") from None
    return text
