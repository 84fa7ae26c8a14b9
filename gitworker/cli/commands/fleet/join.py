"""git worker fleet join."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Text
from gitworker.fleet.join import json_joined


@click.command("join", cls=GitworkerCommand)
@click.argument("location", metavar="LOCATION")
@click.option("--name", metavar="MACHINE", help="This machine's name (default: the host's).")
@click.option("--capability", "capabilities", type=Text(), multiple=True, metavar="NAME",
              help="What tasks can use on this machine, such as gpu; repeatable.")  # fmt: skip
@click.pass_obj
def command(
    call: CommandLine, location: str, name: str | None, capabilities: tuple[str, ...]
) -> None:
    """Share tasks, workers, reviews and messages with other machines.

    LOCATION is `postgresql://HOST/DATABASE#SCHEMA`, with one schema per repository (default:
    gitworker). The first machine moves its state there, with open work. Another one takes over what
    the fleet has, so it must have no open work; a copy of its own state is kept. A password belongs
    in ~/.pgpass or a service file. The capabilities of a machine count like those of each agent
    that runs there.

    \b
      git worker fleet join 'postgresql://db.example.org/agents#shop'
      git worker fleet join 'postgresql:///?service=shop' --capability gpu
    """
    joined = call.service().join_fleet(location, name=name, capabilities=capabilities)
    words = "the first machine of the fleet" if joined.is_first else "a machine of the fleet"
    call.show(f"{joined.machine} is {words}", **json_joined(joined))
