"""git worker agent add."""

import shlex

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Number, Text
from gitworker.errors import Invalid
from gitworker.tasks.agents.read_agents import json_agent


@click.command("add", cls=GitworkerCommand)
@click.argument("agent", metavar="NAME")
@click.option("--type", "agent_type", required=True, metavar="TYPE",
              help="A known agent, such as claude, or command.")  # fmt: skip
@click.option("--command", "words", type=Text(), default=None, metavar="COMMAND",
              help="The command, as in a shell; for a known agent, its options.")  # fmt: skip
@click.option("--capability", "capabilities", type=Text(), multiple=True, metavar="NAME",
              help="A capability that tasks can require; repeatable.")  # fmt: skip
@click.option("--max-tasks", "tasks", type=Number(min=1), default=1, show_default=True, metavar="N",
              help="Run at most N of its tasks at once.")  # fmt: skip
@click.option("--env", "env", multiple=True, metavar="NAME=VALUE",
              help="A variable of its environment; repeatable.")  # fmt: skip
@click.option("--machine", metavar="MACHINE", help="Run it on one machine of the fleet only.")
@click.pass_obj
def command(
    call: CommandLine,
    agent: str,
    agent_type: str,
    words: str | None,
    capabilities: tuple[str, ...],
    tasks: int,
    env: tuple[str, ...],
    machine: str | None,
) -> None:
    """Register an agent that takes tasks.

    TYPE is one of the known agents, which `git worker agents doctor` lists and whose program must
    be installed, or `command` with a command of your own, in which {prompt} is the task's text. The
    agent takes tasks whose required capabilities it has, at most N at once, in the workers NAME-1,
    NAME-2 and so on. Nothing starts before `git worker run`. In a fleet it takes tasks on every
    machine that has a run, or on the given one only; its program must be installed there.

    \b
      git worker agent add ada --type claude --capability python
      git worker agent add fixer --type command --command './fix.sh {prompt}'
    """
    try:
        given = shlex.split(words or "")
    except ValueError as error:
        raise Invalid(f"--command: {error}", "git worker agent add -h", code="usage") from None
    added = call.service().register_agent(
        agent, agent_type, command=given, capabilities=capabilities, tasks=tasks, env=env,
        machine=machine,
    )  # fmt: skip
    call.show(added.agent.name, **json_agent(added))
