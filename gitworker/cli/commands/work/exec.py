"""git worker exec."""

import click

from gitworker.agents.supervise import RunRequest
from gitworker.cli.call import CommandLine
from gitworker.cli.commands.work.supervised import (
    AgentChoice,
    CommandWithWords,
    auto_resume_option,
    detached,
    program_of,
    run_agent,
    run_supervised,
)
from gitworker.cli.options import Seconds, Text, worker_argument
from gitworker.errors import Invalid


@click.command("exec", cls=CommandWithWords)
@worker_argument(required=False)
@click.option(
    "--time-limit", "limit_s", type=Seconds(min=0, min_open=True), metavar="S",
    help="Stop the agent after S seconds.",
)  # fmt: skip
@click.option("--agent", "agent_name", metavar="NAME", help="Run a known agent, such as claude.")
@click.option(
    "-m", "--message", "prompt", metavar="TEXT", type=Text(),
    help="With --agent: the prompt, instead of the task's text.",
)  # fmt: skip
@click.option(
    "--continue", "continues", is_flag=True,
    help="With --agent: continue its last session on this task.",
)  # fmt: skip
@click.option("-d", "--detach", is_flag=True, help="Return once the agent has begun.")
@auto_resume_option()
@click.option("--supervisor", "is_supervisor", is_flag=True, hidden=True)
@click.option("--round", "number", type=int, default=0, hidden=True)
@click.option("--returned", "is_returned", is_flag=True, hidden=True)
@click.pass_context
def command(
    ctx: click.Context,
    worker: str | None,
    limit_s: float | None,
    agent_name: str | None,
    prompt: str | None,
    continues: bool,
    detach: bool,
    auto_resume: bool | None,
    is_supervisor: bool,
    number: int,
    is_returned: bool,
) -> int:
    """Run an agent in a worker's worktree, under supervision.

    The words after -- are the command. The worker is at work then. The agent has a session and a
    process group of its own, a terminal if the caller has one, and these variables: GITWORKER_ID,
    GITWORKER_TASK, GITWORKER_BRANCH, GITWORKER_WORKTREE, GITWORKER_STATE, GITWORKER_BUS (the path
    of bus.db), and GITWORKER_PROMPT_FILE (a file with the task's text, or else its title; if the
    work was sent back and has no new commit since, with the reason and the text). Its
    output goes to the caller and to .worker.log. The supervisor sends its heartbeats, passes
    signals on, and publishes new commits of the branch, also those that no hook reports.

    An agent may reset its environment: GITWORKER is the absolute path of git-worker, `git worker`
    works without it on PATH (alias.worker in the worktree's own configuration), and GIT_AUTHOR_*
    and GIT_COMMITTER_* contain the identity that git would use here.

    In the words of the command {prompt} is replaced by the text of that file, as part of one
    argument; {prompt_file} by the file; {worker}, {task}, {branch} and {worktree} by these.
    {{prompt}} becomes {prompt}. Other braces and ${task} of a shell stay as they are. The recorded
    command keeps the placeholders. Keys, tokens and passwords in the command and in the output are
    recorded and logged as [redacted].

    The supervisor obeys messages of type cmd to the worker: {"command": "stop"} (TERM, then KILL
    after a grace period), "pause" and "resume", with a "reason". --time-limit stops the agent in
    the same way. A stop or a pause reaches all processes that the agent started, including those in
    other sessions. If the supervisor is killed, the agent keeps running, its output still goes to
    .worker.log, and the repository's heartbeat daemon obeys cmd messages to it.

    After the agent has ended, the processes that it left are ended, too: its session, and all
    processes that work in the worktree, but no shared daemon (tmux, ssh-agent, git's own). Exit 0
    with commits and without uncommitted changes hands in the work, as `done` does. Exit 0 without
    commits, or with uncommitted changes, leaves the worker at work; on a terminal it is then bound
    to your shell. Any other exit makes the worker FAILED: `resume` takes the same attempt up, and
    another worker or `run` begins the next one. A stop or the time limit blocks the task until it
    is resumed or assigned. If the agent or a person changed the worker's state meanwhile, that
    change is kept. The exit status is the agent's, or 128 + n if signal n ended it.

    With --detach the supervisor and the agent run in the background, without a terminal and without
    input, and survive the end of yours. The output goes to .worker.log: `log WORKER -f` follows it,
    `attach WORKER` shows it in tmux, and `inbox` and `show WORKER` report a failure.

    With --auto-resume (or the setting agents.auto-resume) the supervisor stays until the work has
    landed. If changes are requested, a conflict is found or the verify commands fail, the agent
    runs again with the reason as its prompt, in {prompt} and GITWORKER_PROMPT_FILE: the note, the
    files in conflict, the end of the verify log, the task. This happens agents.rounds times at most
    (3), and only if the agent has handed in; a run without a new commit hands nothing in.

    --agent runs a known agent: claude, codex, gemini, qwen, opencode, aider, mini or pi, or one of
    your own (docs/agents.md). It gets the task's text as its prompt and the least rights with which
    it can edit and commit; the words after -- are further options of it. Its output is shown as
    text, and session, tokens and cost are recorded. The exit status is 0 if its work was handed in,
    and 1 otherwise. --agent acp runs the agent after --, which speaks the Agent Client Protocol
    (pip install 'gitworker[acp]'). If an agent reports a rate limit or a usage limit, the task is
    paused, and no attempt is counted: `resume` continues it, or --auto-resume does once the limit
    has ended.

    With --json the agent's output goes only to .worker.log.

    \b
      git worker exec auth -- claude -p {prompt}
      git worker exec auth --time-limit 3600 -- ./agent.sh
      git worker exec auth --detach --agent claude --auto-resume
      git worker exec auth --agent acp -- gemini --acp
      git worker exec auth --agent claude --continue -m 'Use one table'
      git worker stop auth
    """
    call: CommandLine = ctx.obj
    program = program_of(ctx)
    if agent_name is None and (prompt is not None or continues):
        raise Invalid("-m and --continue require --agent", "git worker exec -h", code="usage")
    if agent_name is None and not program:
        raise Invalid(
            "there is no command to run", "git worker exec <worker> -- <command>", code="usage"
        )
    if is_returned:
        prompt = call.service().prompt_of_return(worker)
    if agent_name is not None:
        choice = AgentChoice(agent_name, prompt=prompt, continues=continues, round=number)
        return run_agent(
            call, worker, choice, program,
            limit_s=limit_s, detach=detach, is_supervisor=is_supervisor,
            auto_resume=auto_resume,
        )  # fmt: skip
    if detach:
        return detached(call, worker, program, limit_s=limit_s, auto_resume=auto_resume)
    request = RunRequest(program, time_limit_s=limit_s)
    request.auto_resume, request.prompt = auto_resume, prompt
    return run_supervised(call, call.open(), worker, request, is_supervisor=is_supervisor)
