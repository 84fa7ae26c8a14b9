"""git worker ask."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Seconds, Text
from gitworker.questions.question_list import json_question
from gitworker.states.question import Question

TIMEOUT_MAX_S = 30 * 86_400


@click.command("ask", cls=GitworkerCommand)
@click.argument("text", type=Text())
@click.option("--options", metavar="A,B", help="The possible answers; others are refused.")
@click.option(
    "--timeout", "timeout_s", type=Seconds(0, TIMEOUT_MAX_S), metavar="S",
    help="After S seconds without an answer, pause the task and exit with status 3.",
)  # fmt: skip
@click.pass_obj
def command(call: CommandLine, text: str, options: str | None, timeout_s: float | None) -> None:
    """Ask a person, wait for the answer, and print it.

    Run it in a worker's worktree. Meanwhile the task waits for the answer, and no heartbeat is
    expected. Standard output is exactly the answer. `git worker questions` and `inbox` show the
    question to a person, who answers with `git worker reply`.

    If the command is killed, ask in the same words to wait for the same answer. The answer also
    arrives in the inbox, and in the prompt of the task's next agent. With --timeout the task is
    paused after S seconds, and the exit status is 3, as for a question that was withdrawn. The task
    continues with the answer, without one after an hour, or at once by `git worker resume`.

    \b
      git worker ask 'Which port should the server use?'
      git worker ask 'Delete the table?' --options yes,no --timeout 600
    """

    def show(question: Question) -> None:
        if call.as_json:
            output.document(json_question(question))
        else:
            output.answer_exact(question.answer or "")

    choices = [] if options is None else [one.strip() for one in options.split(",")]
    call.service().ask(text, options=choices, timeout_s=timeout_s, hand_over=show)
