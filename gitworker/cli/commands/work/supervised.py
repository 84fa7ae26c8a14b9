"""Code that `exec` and `spawn … -- CMD` share: the words after `--`, and the run's result."""

from __future__ import annotations

from typing import Any

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.session import Session

TYPE_CHECKING = False  # the agents' modules cost 5 ms, which a plain spawn must not pay
if TYPE_CHECKING:
    from gitworker.agents.supervise import RunRequest, SupervisedRun

PROGRAM = "gitworker.program"
END_OF_OPTIONS = "--"


class CommandWithWords(GitworkerCommand):
    """A command that treats all words after `--` as another command."""

    program_metavar = "-- CMD..."

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Remove the other command's words before click parses the rest."""
        if END_OF_OPTIONS in args:
            at = args.index(END_OF_OPTIONS)
            ctx.meta[PROGRAM] = args[at + 1 :]
            args = args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Show the place of the other command in the usage."""
        return [*super().collect_usage_pieces(ctx), self.program_metavar]


class OptionalRunner(CommandWithWords):
    """A command that runs another command only if one is given."""

    program_metavar = "[-- CMD...]"


def program_of(ctx: click.Context) -> list[str]:
    """Return the other command's words; an empty list without one."""
    words: list[str] = ctx.meta.get(PROGRAM, [])
    return words


def run_supervised(
    call: CommandLine, session: Session, worker: str | None, request: RunRequest, **fields: Any
) -> int:
    """Supervise a command in a worker's worktree, print the result, return its exit status."""
    from gitworker.cli.hot.exec import exec_at
    from gitworker.cli.hot.place import hot_context_of

    request.is_silent = call.as_json
    ended = exec_at(hot_context_of(session), worker, request, open_session=lambda: session)
    if call.as_json:
        output.document({**ended_fields(ended), **fields})
    else:
        output.narrate(ended.outcome)
    return ended.status


def ended_fields(ended: SupervisedRun) -> dict[str, Any]:
    """Return an ended run as the fields of a JSON document."""
    run = ended.run
    return {
        "worker": run.worker, "task": run.task, "worktree": run.worktree, "run": run.id,
        "pid": run.pid, "command": run.command, "exit_status": ended.status,
        "outcome": ended.outcome,
    }  # fmt: skip
