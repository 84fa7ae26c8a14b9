"""git worker agents doctor."""

import click

from gitworker.agents.doctor.health_text import json_agent_doctor, render_agent_doctor
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand


@click.command("doctor", cls=GitworkerCommand)
@click.pass_obj
def command(call: CommandLine) -> int:
    """Check which coding agents are installed and can work here.

    Lists the agents that `--agent` knows, your own among them: version, whether the agent's shell
    can commit, and whether it reaches the bus. Each problem is followed by the command that repairs
    it; the exit status is 1 then. An agent that is not installed is no problem.

    Uses no model, and changes no setting of an agent. Commit and message are made in a throw-away
    repository in the state directory: in the agent's own sandbox if it offers a command for that
    (Codex), else in a plain shell, which proves the identity, PATH and the bus, but not the agent's
    permissions. Programs that do not answer are killed after 20 seconds.

    \b
      git worker agents doctor
      git worker agents doctor --json
    """
    found = call.service().agent_doctor()
    call.render(found, render_agent_doctor, json_agent_doctor)
    return 0 if found.is_healthy else 1
