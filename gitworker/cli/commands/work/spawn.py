"""git worker spawn."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.commands.task.text_options import read_new_text, task_arguments, text_options
from gitworker.cli.commands.work.supervised import (
    AgentChoice,
    OptionalRunner,
    auto_resume_option,
    program_of,
    require_detachable,
    run_detached,
    run_supervised,
)
from gitworker.cli.options import Text
from gitworker.errors import Invalid
from gitworker.model import ids
from gitworker.service.results import spawned_json


@click.command("spawn", cls=OptionalRunner)
@task_arguments
@click.option(
    "--from",
    "start",
    metavar="REV|WORKER",
    type=Text(),
    help="Begin at a commit, or at a worker's branch.",
)
@click.option("--title", metavar="TEXT", type=Text(), default=None, help="The task's title.")
@text_options
@click.option("--agent", "agent_name", metavar="NAME", help="Run a known agent, such as claude.")
@click.option("-d", "--detach", is_flag=True, help="With a command: return once it has begun.")
@auto_resume_option()
@click.option("--tmux", "in_tmux", is_flag=True, help="Open the task's tmux window (see watch).")
@click.option("--cd", "changes_directory", is_flag=True, help="Change to the new worktree.")
@click.pass_context
def command(
    ctx: click.Context,
    worker: ids.WorkerId,
    task: ids.TaskId | None,
    start: str | None,
    title: str | None,
    message: str | None,
    file: str | None,
    agent_name: str | None,
    detach: bool,
    auto_resume: bool | None,
    in_tmux: bool,
    changes_directory: bool,
) -> int:
    """Give a worker a task, with its own branch and worktree.

    Creates the worker if it does not exist. The branch WORKER/TASK begins at the target's tip, or
    at REV; a remote branch (origin/topic) is fetched first. Standard output gets only the
    worktree's path. If a step fails, the earlier steps are rolled back.

    --from with another worker (or its task, or its branch) builds on its work: the new branch lands
    after it, with its own commits only, even if the other branch is amended or rebased meanwhile.

    Without TASK, its id is made of the title or of the text's first line, in at most 50 characters
    (login-form, login-form-2, …), and without these of two random words.

    The task's text is the work to do. It stays with the task: the worker reads it by `git worker
    task text`, and gets it in its task_assign message. A task that is assigned again keeps it.

    With a command after --, runs that command in the worktree under supervision, as `exec` does.
    Standard output and the exit status are then the command's. {prompt} in it is the task's text;
    see `exec` for the other placeholders. With --agent a known agent works on the task, with the
    words after -- as its own options. With --detach the command runs in the background, and
    standard output gets the worktree's path. With --auto-resume the agent is resumed if its work
    comes back; see `exec`. With --cd the shell changes to the worktree, if the shell integration is
    loaded (`git worker shell-init -h`).

    \b
      git worker spawn auth -m 'Build the login form' --cd
      cd "$(git worker spawn auth login-form -m 'Build the login form')"
      cd "$(git worker spawn docs -F task.md)"
      git worker spawn auth --agent claude -m 'Build the login form'
      git worker spawn docs -F task.md --agent codex -d --auto-resume
      git worker spawn ui -m 'Build the menu' -- ./my-agent {prompt}
    """
    call: CommandLine = ctx.obj
    program = program_of(ctx)
    if changes_directory:
        is_busy = not detach and bool(program or agent_name)
        _require_integration([worker, *([task] if task else [])], is_busy=is_busy)
    if auto_resume and not (program or agent_name):
        raise Invalid("--auto-resume requires --agent or a command", code="usage")
    text = read_new_text(message, file)
    agent = None
    if agent_name is not None:
        agent = call.service().find_agent(agent_name, options=program)
    elif detach:
        require_detachable(program, f"spawn {worker} {task or '<task>'}")
    if words := agent.prompt_words if agent else program:
        call.service().check_command(words, task=task, has_words=bool(text or title))
        call.service().require_admitted(worker, task, kind=agent_name)
    spawned = call.service().spawn(worker, task, title=title or "", text=text, start=start)
    if in_tmux:
        from gitworker.cli.live.control_room import open_aside  # 10 ms, only with --tmux

        open_aside(call.open_quickly(), spawned.worker)
    begun = {}
    if detach:
        again = AgentChoice(agent_name).options if agent_name else ()
        begun = run_detached(call, worker, program, auto_resume=auto_resume, agent=again)
    if words and not detach:
        from gitworker.agents.supervise import RunRequest

        output.narrate(f"{worker} works in {spawned.path}")
        session = call.open_quickly()
        request = RunRequest(program, agent=agent)
        request.auto_resume = auto_resume
        return run_supervised(call, session, worker, request, path=spawned.path)
    if call.as_json:
        output.document({**spawned_json(spawned), **begun})
    else:
        output.answer_exact(spawned.path)
    return 0


def _require_integration(words: list[str], *, is_busy: bool) -> None:
    """Refuse --cd if the shell would not change its directory; `is_busy`: an agent has it."""
    from gitworker.cli.shell.integration import is_integrated, without_integration

    if is_busy:
        raise Invalid(
            "--cd needs --detach if an agent is started", "git worker spawn -h", code="usage"
        )
    if not is_integrated():
        raise without_integration(f'cd "$(git worker spawn {" ".join(words)})"')
