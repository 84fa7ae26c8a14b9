"""git worker run."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.commands.review.trusting import offer_trust
from gitworker.cli.commands.work.supervised import OptionalRunner, program_of
from gitworker.cli.options import Seconds, Text, Tokens
from gitworker.errors import Invalid
from gitworker.orchestrator.carry_out import AgentCommand
from gitworker.orchestrator.results import json_plan, json_summary, render_plan, render_summary
from gitworker.orchestrator.run import RunOrder
from gitworker.rules_text import quoted


@click.command("run", cls=OptionalRunner)
@click.argument("plan", required=False, metavar="[PLAN]", type=Text())
@click.option("--agent", "name", metavar="NAME", help="Run a known agent, such as claude.")
@click.option(
    "-j", "--jobs", type=click.IntRange(min=1), metavar="N",
    help="Run at most N agents at once.  [default: the project's, 2]",
)  # fmt: skip
@click.option("--land", "lands", is_flag=True, help="Land work that needs no approval.")
@click.option("--once", is_flag=True, help="Start the agents that can start, and return.")
@click.option("--drain", is_flag=True, help="Begin no new task; end those that have begun.")
@click.option(
    "--max", "begins", type=click.IntRange(min=1), metavar="N", help="Begin at most N tasks."
)
@click.option("--dry-run", is_flag=True, help="Show the first starts without making them.")
@click.option(
    "--time-limit", "limit_s", type=Seconds(min=0, min_open=True), metavar="S",
    help="Stop each agent after S seconds.",
)  # fmt: skip
@click.option(
    "--auto-resume/--no-auto-resume", "resumes", default=True,
    help="Continue an agent after a limit of its model.  [default: yes]",
)  # fmt: skip
@click.option(
    "--budget", type=Tokens(), metavar="TOKENS",
    help="Stop the agents and start no more once they have used TOKENS, such as 2M.",
)  # fmt: skip
@click.pass_context
def command(
    ctx: click.Context,
    plan: str | None,
    name: str | None,
    jobs: int | None,
    lands: bool,
    once: bool,
    drain: bool,
    begins: int | None,
    dry_run: bool,
    limit_s: float | None,
    resumes: bool,
    budget: int | None,
) -> int:
    """Hand tasks to agents until nothing is left to do.

    With PLAN, the tasks of that file are brought into the queue first, as by `task import`. Then an
    agent starts for each task that is ready, in the order of priority and age, at most N at once.
    Each task gets a worker (claude-1, claude-2, …) with a branch and a worktree of its own. --agent
    names a known agent (see `exec`), or the words after -- are the command, in which {prompt} is
    the task's text. A task that names another agent gets that one. Without both, the registered
    agents (`agent add`) share the tasks: the least busy agent with the capabilities of a task gets
    it.

    With --land, handed-in work that needs no approval is approved as `verifier`, verified and
    landed. Without it, the work waits for your review: `git worker land --all`. The test commands
    of the task run first. If work comes back (its tests or the verify commands failed, it
    conflicts, changes were requested), the agent starts again with the reason as its prompt,
    at most agents.rounds times (3). A task that failed is tried again after task.retry_delay_s, at
    most task.max_retries times. After a limit of its model's vendor an agent continues when the
    limit has ended, but not during orchestrator.quiet_hours, and not with --no-auto-resume.

    With --budget, the tokens of all agents since the beginning of the run are counted as they are
    reported. Once they are used, no agent starts, and those at work are stopped: their tasks are
    paused with all of their work, and the same command continues them. Finished work still lands.

    It ends with the result of each task. The exit status is 0 if no task failed, and if its budget
    has left nothing undone.

    The command can be killed and started again at any time, and can run twice at once: agents run
    under supervisors of their own, the next run takes them over, and no task starts twice. An
    interrupt (^C) ends the launching and waits for the agents; a second one stops them. Their work
    is kept, and the same command continues it.

    \b
      git worker run plan.md --agent claude -j 4 --land
      git worker run -j 2 -- ./agent.sh {prompt}
      git worker run --agent codex --max 1
      git worker run --land
    """
    call: CommandLine = ctx.obj
    words = program_of(ctx)
    if drain and begins is not None:
        raise Invalid("--max and --drain exclude each other", "git worker run -h", code="usage")
    order = RunOrder(
        AgentCommand(None if name == "command" else name, tuple(words), limit_s),
        agents=jobs, lands=lands, begins=0 if drain else begins, is_single=once, plan=plan,
        resumes=resumes, budget=budget or None,
    )  # fmt: skip
    if dry_run and plan is not None:
        raise Invalid(
            "--dry-run shows the queue, and a plan changes it",
            f"git worker task import --dry-run {quoted(plan)}", code="usage",
        )  # fmt: skip
    if dry_run:
        call.render(call.service().plan_run(order), render_plan, json_plan)
        return 0
    if lands:
        offer_trust(call, "verify")
    summary = call.service().run(order)
    call.render(summary, render_summary, json_summary)
    if not call.as_json:
        following = [f"next: {summary.next_command}"] if summary.next_command else []
        for line in (*summary.spending, *following):
            output.narrate(line)
    return summary.status
