"""git worker switch."""

import shlex

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, TaskId, WorkerName
from gitworker.cli.shell.integration import (
    is_integrated,
    previous_directory,
    without_integration,
)
from gitworker.errors import Invalid
from gitworker.observe.workers.path import WorktreePath, json_path
from gitworker.rules_text import quoted

BACK = "-"


class Destination(WorkerName):
    """A name for a worker, or `-` for the previous directory."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name; raise Invalid if no worker can have it."""
        return value if value == BACK else super().convert(value, param, ctx)


@click.command("switch", cls=GitworkerCommand)
@click.option("-c", "--create", is_flag=True, help="Spawn WORKER [TASK], then change there.")
@click.argument("worker", type=Destination(), required=False)
@click.argument("task", type=TaskId(), required=False)
@click.pass_obj
def command(call: CommandLine, create: bool, worker: str | None, task: str | None) -> None:
    """Change to a worker's worktree, or to the main checkout.

    Without a worker, changes to the main checkout; with `-`, back to the directory of the last
    switch. With -c, gives the worker a task first, as `spawn --cd` does. The shell changes
    directory only with the shell integration (`git worker shell-init -h`). Without it, switch
    prints the cd command to use and exits with status 1.

    \b
      git worker switch auth
      git worker switch
      git worker switch -
      git worker switch -c docs user-guide
    """
    if (create and worker in (None, BACK)) or (task is not None and not create):
        raise Invalid("-c needs a worker, and TASK needs -c", "git worker switch -h", code="usage")
    if create and worker is not None:
        if not is_integrated():
            words = shlex.join(["git", "worker", "spawn", worker, *([task] if task else [])])
            raise without_integration(f'cd "$({words})"')
        worker = call.service().spawn(worker, task).worker.worker_id
    if worker == BACK:
        if not is_integrated():
            raise without_integration("cd -")
        found = WorktreePath(BACK, previous_directory(), None)
    else:
        views = call.views()
        found = views.main_checkout() if worker is None else views.path(worker)
    if call.as_json:
        output.document(json_path(found))
    elif is_integrated():
        output.answer_exact(found.path)
    else:
        raise without_integration(f"cd {quoted(found.path)}")
    if found.flaw is not None:
        output.narrate(f"{found.flaw}; git would not work there")
