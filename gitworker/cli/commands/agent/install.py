"""git worker agent install."""

import os

import click

from gitworker.agents.hooks.rules_settings import AGENTS, NOTES
from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand


@click.command("install", cls=GitworkerCommand)
@click.argument("agent", type=click.Choice(list(AGENTS)))
@click.option(
    "--user", is_flag=True, help="Attach them in your own settings, for all repositories."
)
@click.pass_obj
def command(call: CommandLine, agent: str, *, user: bool) -> None:
    """Attach our hooks to a coding agent.

    For agents that a person starts; `exec` attaches them by itself. The agent then learns its task
    and its messages without instructions, and `claude -w` makes workers (docs/agent-hooks.md).

    Writes the agent's local settings in the main checkout and in every worker's worktree, and later
    in each new one: .claude/settings.local.json, .codex/hooks.json, .gemini/settings.json,
    .qwen/settings.json or .opencode/plugins/gitworker.js. git ignores the file; a tracked one is
    refused. Your own hooks and settings stay as they are. With --user it writes your own settings.
    Outside the worktrees of workers the hooks do nothing. `git worker doctor` lists the agents.

    \b
      git worker agent install claude
      git worker agent install codex --user
    """
    done = call.service().attach_agent(agent, user=os.environ if user else None)
    call.show("\n".join(done.files), agent=agent, files=list(done.files))
    if agent in NOTES:
        output.narrate(NOTES[agent])
