"""Find command lines in text, and parse one with click as the program does, without running it."""

import re
import shlex
from collections.abc import Iterator

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.group import GROUP, PROGRAM

VARIABLE = re.compile(r"\$(\w+|[$!?])")
PLACEHOLDER = re.compile(r"<[a-z-]+>")
PUNCTUATION = frozenset("();<>|&")


def find_lines(text: str) -> Iterator[list[str]]:
    """Yield the words after every `git worker` of a text that is shell code with remarks.

    A command ends with its line, with an operator of the shell, or before a remark, which follows
    after three spaces. A variable and a placeholder count as 1.
    """
    for found in re.finditer(r"\bgit worker (.*)", text):
        line = PLACEHOLDER.sub("1", VARIABLE.sub("1", found[1].partition("   ")[0]))
        tokens = shlex.shlex(line, posix=True, punctuation_chars=True)
        tokens.whitespace_split = True
        words: list[str] = []
        try:
            for token in tokens:
                if PUNCTUATION.issuperset(token):
                    break
                words.append(token)
        except ValueError:  # a quote that began before the command, or a text of several lines
            words = words or line.split()
        yield words


def parse(words: list[str]) -> click.Context:
    """Return the context of a command line; raise what the program would report as misuse."""
    context = GROUP.make_context(PROGRAM, list(words), obj=CommandLine())
    while isinstance(context.command, click.Group):
        rest = [*context._protected_args, *context.args]
        if not rest and context.command.invoke_without_command:  # its default command
            break
        name, command, rest = context.command.resolve_command(context, rest)
        assert command is not None, words
        context = command.make_context(name, rest, parent=context)
    return context
