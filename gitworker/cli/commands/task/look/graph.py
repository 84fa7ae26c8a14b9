"""git worker task graph."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, TaskId
from gitworker.errors import Invalid
from gitworker.tasks.views.graph import json_graph, render_graph, render_mermaid


@click.command("graph", cls=GitworkerCommand)
@click.argument("task", type=TaskId(), required=False)
@click.option("--all", "every", is_flag=True, help="Draw completed and cancelled tasks, too.")
@click.option("--mermaid", is_flag=True, help="Print a Mermaid diagram.")
@click.pass_obj
def command(call: CommandLine, task: str | None, every: bool, mermaid: bool) -> None:
    """Draw the tasks with their dependencies.

    Prints a tree: each task is below a task that it needs. A task with several needs is below the
    last of them, and names all. With TASK, draws only the tasks that lead to it and from it.

    \b
      git worker task graph
      git worker task graph login-form --mermaid
    """
    if mermaid and call.as_json:
        raise Invalid("--mermaid and --json exclude each other", code="usage")
    found = call.service().task_graph(task, every=every)
    call.render(found, render_mermaid if mermaid else render_graph, json_graph)
