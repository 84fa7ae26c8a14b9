"""Run one command through click, with the common errors, exit statuses and completion."""

import os
import re

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.group import GROUP, PROGRAM
from gitworker.cli.output import complain, encode_click, silence
from gitworker.errors import GitWorkerError, Invalid, as_gitworker_error, is_environment_error
from gitworker.repo.plumbing.opening import OpeningAnswers
from gitworker.rules_text import is_placeholder

EXTRA = re.compile(r"unexpected extra argument \((\w+)\)")  # click's words
COMPLETE = "_GIT_WORKER_COMPLETE"  # set by the scripts of `git worker completion`
INTERRUPTED = 130
READER_GONE = 141


def run_command(words: list[str], opening: OpeningAnswers | None = None) -> int:
    """Run `git worker WORDS` and return the exit status; only a bug in click can raise.

    `opening` holds the answers that the entry point has requested from git.
    """
    encode_click()
    instruction = os.environ.get(COMPLETE)
    if instruction:
        from click.shell_completion import shell_complete  # 1 ms, for the shell only

        return shell_complete(GROUP, {"obj": CommandLine()}, PROGRAM, COMPLETE, instruction)
    own_words = words[: words.index("--") if "--" in words else None]
    call = CommandLine(as_json="--json" in own_words, opening=opening)
    try:
        return _run(call, words, own_words)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        silence()
        return READER_GONE
    except Exception as error:  # noqa: BLE001 - the outermost frame
        from gitworker.cli.report import report_bug  # 2 ms, only for a bug

        return report_bug(error, words, as_json=call.as_json)
    finally:
        if call.opening is not None:
            call.opening.abandon()


def _run(call: CommandLine, words: list[str], own_words: list[str]) -> int:
    try:
        _refuse_placeholders(own_words)
        with GROUP.make_context(PROGRAM, list(words), obj=call) as context:
            status = GROUP.invoke(context)
            return status if isinstance(status, int) else 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        return complain(_usage_error(error), as_json=call.as_json)
    except GitWorkerError as error:
        return complain(error, as_json=call.as_json)
    except OSError as error:
        if not is_environment_error(error):
            raise
        return complain(as_gitworker_error(error))  # as text: standard output may be full


def _refuse_placeholders(own_words: list[str]) -> None:
    for word in own_words:
        if is_placeholder(word):
            message = (
                f"{word} is a placeholder of a hint; write your own {word[1:-1]} instead of it"
            )
            raise Invalid(message, f"{PROGRAM} {own_words[0]} -h", code="usage")


def _usage_error(error: click.ClickException) -> Invalid:
    context = getattr(error, "ctx", None)
    hint = _meant_option(error, context) if context else None
    path = context.command_path if context else PROGRAM
    return Invalid(error.format_message(), hint or f"{path} -h", code="usage")


def _meant_option(error: click.ClickException, context: click.Context) -> str | None:
    """Return the command with the option that a word too many names, such as `pool fill`."""
    extra = EXTRA.search(error.format_message())
    option = f"--{extra[1]}" if extra else ""
    known = any(option in one.opts for one in context.command.params)
    return f"{context.command_path} {option}" if known else None
