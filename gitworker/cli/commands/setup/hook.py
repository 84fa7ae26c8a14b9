"""git worker hook: the complete command; `cli.hot.hook` is its fast path."""

import json
from collections.abc import Mapping
from types import MappingProxyType

import click

from gitworker.agents.hooks.rules_dialects import EVENTS
from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.hot.hook import answer_event
from gitworker.cli.hot.send import read_payload
from gitworker.cli.options import GitworkerCommand
from gitworker.errors import Invalid

INPUT_MAX_BYTES = 1 << 20
# The keys that may have the argument of an event; older documents of Claude Code name another one.
WORKTREE_KEYS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"WorktreeCreate": ("name", "worktree_name"), "WorktreeRemove": ("worktree_path",)}
)


class _Event(click.Choice[str]):
    """The name of an event; the words of `hooks`, the command for git's hooks, lead there."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in ("install", "uninstall", "status"):
            raise Invalid(f"there is no event {value!r}", f"git worker hooks {value}", code="usage")
        return super().convert(value, param, ctx)


@click.command("hook", cls=GitworkerCommand)
@click.argument("event", type=_Event([*EVENTS, *WORKTREE_KEYS]), metavar="EVENT")
@click.pass_obj
def command(call: CommandLine, event: str) -> None:
    """Answer an event of a coding agent's hook.

    For the settings of coding agents, which call it with the name of their own event and their JSON
    on standard input. EVENT is one of SessionStart, UserPromptSubmit, PostToolUse, Notification and
    Stop (Claude Code, Qwen Code), PermissionRequest (Codex), BeforeAgent, AfterTool, PreCompress
    and AfterAgent (Gemini CLI), session.created, chat.message, tool.execute.after, permission.asked
    and session.idle (OpenCode).

    At the start of a session the agent learns its worker, its task and the guide in short, and the
    work begins. After PreCompress it learns them again with its next prompt. Prompts and tool calls
    are heartbeats, and give the agent its unread messages, conflict warnings and lost claims. An
    agent that waits for a permission is blocked. At the end of a turn unread messages, requested
    changes and uncommitted work keep the agent at work, at most three times in a row; with the
    setting `agent.hand_in` its commits are handed in otherwise.

    Prints one JSON document (text for OpenCode), or nothing if there is nothing new or the
    directory is not a worker's worktree. Always exits with 0; failures are in
    `logs/background.log` of the state directory.

    WorktreeCreate and WorktreeRemove make the worktrees of Claude Code those of workers. The first
    gives a worker (cc-NAME) a task and prints the path. The second removes a worktree that has no
    work of its own; it fails, and the worktree stays, if work there has not landed.

    \b
      git worker hook PostToolUse < event.json
      echo '{"name": "login-form"}' | git worker hook WorktreeCreate
    """
    if event in EVENTS:
        answer_event(EVENTS[event], call.identity)
    elif event == "WorktreeCreate":
        output.answer_exact(call.service().make_worktree(_argument(event)))
    else:
        call.service().remove_worktree(_argument(event))


def _argument(event: str) -> str:
    """Return the argument of an event from the agent's JSON; raise Invalid without one."""
    try:
        fields = json.loads(read_payload("-", max_bytes=INPUT_MAX_BYTES))
    except (ValueError, RecursionError) as error:
        raise Invalid(f"standard input is not JSON: {error}") from None
    keys = WORKTREE_KEYS[event]
    for key in keys:
        if isinstance(fields, dict) and isinstance(fields.get(key), str):
            return str(fields[key])
    raise Invalid(f"the JSON on standard input has no text {keys[0]!r}")
