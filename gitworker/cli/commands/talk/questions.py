"""git worker questions."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.questions.question_list import json_questions, render_questions


@click.command("questions", cls=GitworkerCommand)
@click.pass_obj
def command(call: CommandLine) -> None:
    """List the questions that wait for an answer.

    Shows number, task, worker, age and options of each question, and the command that answers it.
    A question that has timed out stays listed while its task is paused.

    \b
      git worker questions
    """
    call.render(call.service().questions(), render_questions, json_questions)
