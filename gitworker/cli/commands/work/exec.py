"""git worker exec."""

import click

from gitworker.agents.supervise import Wish
from gitworker.cli.call import Call
from gitworker.cli.commands.work.supervised import Runner, program_of, run_in_seat
from gitworker.cli.options import Seconds, worker_argument
from gitworker.errors import Invalid


@click.command("exec", cls=Runner)
@worker_argument(required=False)
@click.option(
    "--time-limit", "limit_s", type=Seconds(min=0, min_open=True), metavar="S",
    help="Stop the agent after S seconds.",
)  # fmt: skip
@click.pass_context
def command(ctx: click.Context, worker: str | None, limit_s: float | None) -> int:
    """Run an agent in a worker's worktree, under supervision.

    The words after -- are the command. ASSIGNED becomes WORKING. The agent gets a session and
    process group of its own, a terminal where the caller has one, and GITWORKER_ID, GITWORKER_TASK,
    GITWORKER_BRANCH, GITWORKER_WORKTREE, GITWORKER_STATE and GITWORKER_BUS (the path of bus.db) in
    its environment. What it writes goes to the caller and to .worker.log; a thread beats for it;
    signals are passed on.

    Messages of type cmd to the worker are obeyed: {"command": "stop"} (TERM, after a grace KILL),
    "pause" and "resume", with a "reason". So is --time-limit. They reach all that the agent has
    started, in sessions of its own too. Where the supervisor is killed the agent goes on, and the
    repository's beater obeys orders to it.

    Once the agent has ended, what it left running is ended too: its session, and whatever works in
    the worktree; no daemon that everybody uses (tmux, ssh-agent, git's own). Status 0 with commits
    and nothing uncommitted hands the work in, as `done` does; status 0 without leaves the worker
    WORKING, and at a terminal it is you who works there then; any other end fails the task, which
    is tried again; a stop and the time limit block it until somebody assigns it again. What the
    agent or a person did to the worker meanwhile stands. The exit status is the agent's, or 128 + n
    where signal n ended it.

    With --json the agent's output goes to .worker.log only.

    \b
      git worker exec auth -- claude -p 'Build the login form'
      git worker exec auth --time-limit 3600 -- ./agent.sh
      git worker msg send cmd '{"command": "stop", "reason": "enough"}' --to auth
    """
    call: Call = ctx.obj
    program = program_of(ctx)
    if not program:
        raise Invalid(
            "no command was given to run", "git worker exec WORKER -- CMD...", code="usage"
        )
    return run_in_seat(call, call.open(), worker, Wish(program, time_limit_s=limit_s))
