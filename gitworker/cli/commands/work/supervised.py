"""What `exec` and `spawn … -- CMD` have in common: somebody else's words, and the run's answer."""

from __future__ import annotations

from typing import Any

import click

from gitworker.cli import output
from gitworker.cli.call import Call
from gitworker.cli.options import Verb
from gitworker.session import Session

TYPE_CHECKING = False  # agents are imported where one runs: 5 ms that a plain spawn need not pay
if TYPE_CHECKING:
    from gitworker.agents.supervise import Ended, Wish

PROGRAM = "gitworker.program"
END_OF_OPTIONS = "--"


class Runner(Verb):
    """A command whose words after `--` are another command's, from the first one on."""

    program_metavar = "-- CMD..."

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Set the other command's words aside before click looks at ours."""
        if END_OF_OPTIONS in args:
            at = args.index(END_OF_OPTIONS)
            ctx.meta[PROGRAM] = args[at + 1 :]
            args = args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Show in the usage where the other command goes."""
        return [*super().collect_usage_pieces(ctx), self.program_metavar]


class MayRun(Runner):
    """The same for a command that runs another one only where it is asked to."""

    program_metavar = "[-- CMD...]"


def program_of(ctx: click.Context) -> list[str]:
    """Return the other command's words; none where there are none."""
    words: list[str] = ctx.meta.get(PROGRAM, [])
    return words


def run_in_seat(call: Call, session: Session, worker: str | None, wish: Wish, **fields: Any) -> int:
    """Supervise a command in a seat, answer where JSON is wanted, return its exit status."""
    from gitworker.cli.hot.exec import exec_at
    from gitworker.cli.hot.place import place_of

    wish.is_silent = call.as_json
    ended = exec_at(place_of(session), worker, wish, open_session=lambda: session)
    if call.as_json:
        output.document({**ended_fields(ended), **fields})
    else:
        output.narrate(ended.outcome)
    return ended.status


def ended_fields(ended: Ended) -> dict[str, Any]:
    """Return an ended run as the fields of a JSON document."""
    run = ended.run
    return {
        "worker": run.worker, "task": run.task, "worktree": run.worktree, "run": run.id,
        "pid": run.pid, "command": run.command, "exit_status": ended.status,
        "outcome": ended.outcome,
    }  # fmt: skip
