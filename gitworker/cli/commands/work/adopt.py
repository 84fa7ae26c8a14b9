"""git worker adopt."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, TaskId, Text, WorkerId
from gitworker.model import ids
from gitworker.service.results import worker_json


@click.command("adopt", cls=GitworkerCommand)
@click.argument("name", metavar="BRANCH|WORKTREE", type=Text())
@click.argument("worker", type=WorkerId())
@click.argument("task", type=TaskId())
@click.option("--rename", is_flag=True, help="Rename the branch to WORKER/TASK.")
@click.option("--start", "begins", is_flag=True, help="Start the work at once.")
@click.option("--title", metavar="TEXT", type=Text(), default=None, help="The task's title.")
@click.pass_obj
def command(
    call: CommandLine,
    name: str,
    worker: ids.WorkerId,
    task: ids.TaskId,
    rename: bool,
    begins: bool,
    title: str | None,
) -> None:
    """Adopt existing work: a branch, or a worktree made by hand.

    The worker has the task, as after spawn. An adopted worktree stays in its place with all its
    files; a branch without a worktree gets one. A worker's branch must be called WORKER/TASK:
    --rename renames it with git, including its reflog and settings; without --rename, another name
    is refused. Standard output gets only the worktree's path.

    From then on the worktree belongs to the worker and is removed after the work has landed. Until
    the worker has begun, `git worker undo` reverses the adoption and restores the branch's old
    name. With --start the work begins at once, as with `git worker start`.

    \b
      git worker adopt --rename login-form auth login
      git worker adopt --rename ../old-checkout auth login
    """
    service = call.service()
    adopted = service.adopt(name, worker, task, title=title or "", rename=rename)
    spawned = adopted.spawned
    managed = service.start(worker) if begins else spawned.worker
    if adopted.renamed_from is not None:
        output.narrate(f"renamed branch {adopted.renamed_from} to {spawned.branch}")
    if call.as_json:
        output.document({
            **worker_json(managed),
            "path": spawned.path,
            "renamed_from": adopted.renamed_from,
        })  # fmt: skip
    else:
        output.answer_exact(spawned.path)
