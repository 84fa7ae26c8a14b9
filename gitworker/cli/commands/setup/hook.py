"""git worker hook: the complete command; `cli.hot.hook` is its fast path."""

import click

from gitworker.agents.hooks.rules_dialects import EVENTS
from gitworker.cli.call import CommandLine
from gitworker.cli.hot.hook import answer_event
from gitworker.cli.options import GitworkerCommand


@click.command("hook", cls=GitworkerCommand)
@click.argument("event", type=click.Choice(list(EVENTS)), metavar="EVENT")
@click.pass_obj
def command(call: CommandLine, event: str) -> None:
    """Answer an event of a coding agent's hook.

    For the settings of coding agents, which call it with the name of their own event and their JSON
    on standard input. EVENT is one of SessionStart, UserPromptSubmit, PostToolUse, Notification and
    Stop (Claude Code, Qwen Code), PermissionRequest (Codex), BeforeAgent, AfterTool and AfterAgent
    (Gemini CLI), session.created, tool.execute.after, permission.asked and session.idle (OpenCode).

    At the start of a session the agent learns its worker, its task and the guide in short, and the
    work begins. Prompts and tool calls are heartbeats, and give the agent its unread messages,
    conflict warnings and lost claims. An agent that waits for a permission is blocked. At the end
    of a turn unread messages, requested changes and uncommitted work keep the agent at work, at
    most three times in a row; with the setting `agent.hand_in` its commits are handed in otherwise.

    Prints one JSON document (text for OpenCode), or nothing if there is nothing new or the
    directory is not a worker's worktree. Always exits with 0; failures are in
    `logs/background.log` of the state directory.

    \b
      git worker hook PostToolUse < event.json
    """
    answer_event(EVENTS[event], call.identity)
