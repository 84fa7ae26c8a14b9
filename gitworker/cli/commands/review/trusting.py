"""Ask a person whether commands of the repository may run."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.errors import Refused
from gitworker.verify.trust import HASH_SHOWN, RepositoryCommands

IN = 0


def offer_trust(call: CommandLine, kind: str) -> None:
    """Ask for trust in commands before they run, if a person can answer.

    Does nothing without a terminal, for a worker, or after a no: the commands are refused later.
    """
    if not can_ask(call):
        return
    service = call.service()
    try:
        waiting = service.untrusted_commands(kind)
    except Refused:
        return
    if waiting and ask(waiting):
        service.trust(waiting)


def require_agreement(call: CommandLine, waiting: list[RepositoryCommands]) -> None:
    """Show commands and ask; raise Refused without a yes."""
    if not can_ask(call):
        output.narrate(brought_text(waiting))
        raise Refused(
            "these commands need your agreement, and there is no terminal to ask for it",
            "git worker trust --yes   # after having read them",
            code="untrusted",
        )
    if not ask(waiting):
        raise Refused("the commands are not trusted", "git worker trust", code="untrusted")


def can_ask(call: CommandLine) -> bool:
    """Return whether a person at a terminal can answer."""
    return not call.as_json and output.is_terminal(IN) and output.is_terminal(output.ERR)


def ask(waiting: list[RepositoryCommands]) -> bool:
    """Show commands and return a person's answer."""
    output.narrate(brought_text(waiting))
    return click.confirm("May these commands run on this machine?", err=True)


def brought_text(brought: list[RepositoryCommands]) -> str:
    """Return the commands line by line, with their kind and environment."""
    return "\n".join(line for one in brought for line in _lines(one))


def _lines(one: RepositoryCommands) -> list[str]:
    shown = [line for command in one.commands for line in command.splitlines() or [""]]
    return [
        f"{one.kind} commands of this repository ({one.hash[:HASH_SHOWN]}):",
        *(f"  $ {line}" for line in shown),
        *(f"  environment: {entry}" for entry in one.env),
    ]
