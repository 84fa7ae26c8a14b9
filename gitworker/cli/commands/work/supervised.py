"""Code that `exec` and `spawn … -- CMD` share: the words after `--`, and the run's result."""

from __future__ import annotations

from typing import Any, NamedTuple

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.errors import Invalid
from gitworker.session import Session

TYPE_CHECKING = False  # the agents' modules cost 5 ms, which a plain spawn must not pay
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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


def auto_resume_option() -> Callable[[Any], Any]:
    """Return the option that chooses whether an agent is resumed if its work comes back."""
    return click.option(
        "--auto-resume/--no-auto-resume", default=None,
        help="Resume the agent if its work comes back.  [default: agents.auto-resume]",
    )  # fmt: skip


def run_supervised(
    call: CommandLine,
    session: Session,
    worker: str | None,
    request: RunRequest,
    *,
    is_supervisor: bool = False,
    notice: str = "",
    **fields: Any,
) -> int:
    """Supervise a command in a worker's worktree, print the result, return its exit status.

    `is_supervisor`: another command waits for the start only, which is printed at once. `notice` is
    printed once the command runs.
    """
    from gitworker.cli.hot.exec import exec_at, supervisor
    from gitworker.cli.hot.place import hot_context_of

    request.is_silent = call.as_json
    if notice:
        request.on_start = lambda _: output.narrate(notice)
    if is_supervisor:
        request = supervisor(request)
    ended = exec_at(hot_context_of(session), worker, request, open_session=lambda: session)
    if call.as_json:
        output.document({**ended_fields(ended), **fields})
    else:
        output.narrate(ended.message)
    return ended.status


def run_detached(
    call: CommandLine,
    worker: str | None,
    words: list[str],
    *,
    limit_s: float | None = None,
    auto_resume: bool | None = None,
    agent: Sequence[str] = (),
    notice: str = "",
) -> dict[str, Any]:
    """Start a detached agent, print `notice` and how to follow it, return the run as JSON data."""
    from gitworker.agents.detach import json_detached  # 5 ms, only for a detached agent

    begun = call.service().detach(
        worker, words, time_limit_s=limit_s, auto_resume=auto_resume, agent=agent
    )
    if notice:
        output.narrate(notice)
    if not call.as_json:
        output.narrate(
            f"{begun.worker} works detached (process {begun.pid}); follow it:"
            f" git worker log {begun.worker} -f"
        )
    return json_detached(begun)


def detached(
    call: CommandLine,
    worker: str | None,
    words: list[str],
    *,
    limit_s: float | None = None,
    auto_resume: bool | None = None,
    agent: Sequence[str] = (),
    notice: str = "",
) -> int:
    """Start a detached agent, print the result, return the exit status."""
    begun = run_detached(
        call, worker, words, limit_s=limit_s, auto_resume=auto_resume, agent=agent, notice=notice
    )
    if call.as_json:
        output.document(begun)
    return 0


class AgentChoice(NamedTuple):
    """A known agent; the prompt of this run, whether it continues its last session, the round."""

    name: str
    prompt: str | None = None
    continues: bool = False
    round: int = 0

    @property
    def options(self) -> list[str]:
        """Return the options of `exec` that repeat the choice."""
        message = [] if self.prompt is None else ["-m", self.prompt]
        number = ["--round", str(self.round)] if self.round else []
        again = ["--continue"] if self.continues else []
        return ["--agent", self.name, *message, *again, *number]


def run_agent(
    call: CommandLine,
    worker: str | None,
    choice: AgentChoice,
    options: list[str],
    *,
    limit_s: float | None,
    detach: bool,
    is_supervisor: bool = False,
    auto_resume: bool | None = None,
    notice: str = "",
) -> int:
    """Run a known agent with its own options in a worker's worktree; return the exit status."""
    from gitworker.agents.supervise import RunRequest  # 5 ms, only with an agent

    session = call.open()
    continued = call.worker(session, worker).worker_id if choice.continues else None
    agent = call.service().find_agent(
        choice.name, options=options, prompt=choice.prompt, continued=continued
    )
    if detach:
        return detached(
            call, worker, options, limit_s=limit_s, auto_resume=auto_resume, agent=choice.options,
            notice=notice,
        )  # fmt: skip
    request = RunRequest(options, time_limit_s=limit_s, agent=agent)
    request.auto_resume, request.round = auto_resume, choice.round
    return run_supervised(
        call, session, worker, request, is_supervisor=is_supervisor, notice=notice
    )


def require_detachable(program: list[str], verb: str) -> None:
    """Raise Invalid if -d was given without a command; `verb` is the command with its names."""
    if not program:
        raise Invalid("-d requires a command", f"git worker {verb} -d -- <command>", code="usage")


def ended_fields(ended: SupervisedRun) -> dict[str, Any]:
    """Return an ended run as the fields of a JSON document."""
    from gitworker.cli.hot.exec import run_fields

    return {
        **run_fields(ended.run), "exit_status": ended.status, "outcome": ended.outcome,
        "message": ended.message,
    }  # fmt: skip
