"""git worker resume."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.commands.work.supervised import (
    AgentChoice,
    OptionalRunner,
    detached,
    program_of,
    require_detachable,
    run_agent,
    run_supervised,
)
from gitworker.cli.options import worker_argument
from gitworker.errors import Invalid
from gitworker.service.results import worker_json


@click.command("resume", cls=OptionalRunner)
@worker_argument(required=False)
@click.option("--pid", type=click.IntRange(min=1), metavar="N", help="The agent's process.")
@click.option("-d", "--detach", is_flag=True, help="With a command: return once it has begun.")
@click.pass_context
def command(ctx: click.Context, worker: str | None, pid: int | None, detach: bool) -> int:
    """Take up failed, stale or returned work in place.

    A failed or stale worker is at work again; branch, worktree and uncommitted files stay. The
    worker gets its task and its claim again. Setup commands that failed run again first. Refused if
    another worker holds the task now. Work that was sent back no longer waits for its author. A
    worker that became stale in review is in review again.

    If the agent has ended and another than the worker calls, the last command of the task runs
    again: detached with --detach or if it was so before, otherwise in the foreground as by `exec`,
    with the same time limit. A known agent continues its session, with the reason if its work was
    sent back, and with --auto-resume if it had that, for the remaining rounds. If no command is
    known, only the state changes. The worker's own `resume` records its process as `start` does.

    If the work was sent back and has no new commit since, every command gets the reason in {prompt}
    and GITWORKER_PROMPT_FILE: the note, the files in conflict, the end of the verify log, the task.

    A worker's own `start`, `done`, `exec`, `sync`, `heartbeat` and commits resume it as well. After
    a stop by a person, or `git worker fail`, a heartbeat or a commit does not.

    In a fleet, a worker whose worktree is on another machine gets one here, with its branch as it
    was pushed last, unless its agent reports signs of life there.

    With a command after --, runs that command in the worktree under supervision, as `exec` does;
    with --detach in the background.

    \b
      git worker resume auth         the last command again
      git worker resume auth -- claude --continue
    """
    call: CommandLine = ctx.obj
    program = program_of(ctx)
    if pid is not None and (program or detach):
        raise Invalid(
            "--pid names a process that runs already; it excludes --detach and a command",
            code="usage",
        )
    limit_s, notice = None, ""
    last = call.service().find_restart(worker) if not program and pid is None else None
    if last is not None:
        program, limit_s, detach = last.words, last.time_limit_s, detach or last.is_detached
        notice = f"running the last command again: {last.text}"
    elif detach:
        require_detachable(program, f"resume {worker}" if worker else "resume")
    if program or detach:
        call.service().repeat_setup(worker)
    if last is not None and last.agent is not None:
        choice = AgentChoice(
            last.agent, prompt=last.prompt, continues=last.has_session, round=last.round
        )
        return run_agent(
            call, worker, choice, program,
            limit_s=limit_s, detach=detach, auto_resume=last.auto_resume, notice=notice,
        )  # fmt: skip
    if detach:
        return detached(call, worker, program, limit_s=limit_s, notice=notice)
    if program:
        from gitworker.agents.supervise import RunRequest  # 5 ms, only with a command

        request = RunRequest(program, time_limit_s=limit_s)
        return run_supervised(call, call.open(), worker, request, notice=notice)
    resumed = call.service().resume(worker, pid=pid)
    process = f" (process {resumed.pid})" if resumed.pid else ""
    call.show(f"{resumed.in_words}{process}", **worker_json(resumed))
    return 0
