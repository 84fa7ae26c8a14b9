"""git worker task import."""

import os

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, TaskId
from gitworker.tasks.plan.import_plan import json_imported, render_imported
from gitworker.tasks.plan.read_plan import ISSUES


@click.command("import", cls=GitworkerCommand)
@click.argument("file", type=click.Path())
@click.option(
    "--parent", type=TaskId(), metavar="TASK", help="The task that the tasks of the plan belong to."
)
@click.option("--project", metavar="PROJECT", help="The project of tasks that name none.")
@click.option("--dry-run", is_flag=True, help="Show the effect without changing anything.")
@click.pass_obj
def command(
    call: CommandLine, file: str, parent: str | None, project: str | None, dry_run: bool
) -> None:
    """Add the tasks of a plan to the queue, all or nothing.

    FILE ends with .md, .jsonl or .yaml. In Markdown each item of a checklist is a task, and the
    indented lines below it are its text:

    \b
      - [ ] form: Build the login form (priority: 10)
        It has two fields and a button.
      - [ ] styles: Style it (needs: form)
        test: make test

    Without `id:` the id is made of the title. Fields are needs, priority, verify, retries,
    approval, critical, test, accept, context, path, agent, capability, project, budget and timeout:
    in parentheses at the end of the item, separated by `;`, or each in a line directly below it.
    Ticked items are done.

    In JSON Lines each line is an object with these fields, id, title and text; in YAML the plan is
    a list of them, which needs the Python package PyYAML.

    gh:OWNER/REPO#LABEL imports the open issues with a label through the program gh. A line
    `needs: #3, #4` of an issue names others with that label; closed ones are done.

    The same plan can be imported again: unchanged tasks stay, new ones are added, and changes of
    tasks that have not started replace them. An error names its line.

    \b
      git worker task import plan.md
      git worker task import --dry-run plan.md
      git worker task import gh:ada/website#agents
    """
    plan = file if file.startswith(ISSUES) else os.path.abspath(file)
    found = call.service().import_plan(plan, parent=parent, project=project, is_trial=dry_run)
    call.render(found, render_imported, json_imported)
