"""The examples in the help: every command has one, and click accepts each of them."""

import re
from inspect import cleandoc
from pathlib import Path

import click
import pytest

from gitworker.cli.group import GROUP
from tests.cli.command_lines import find_lines, parse
from tests.cli.test_help import ENTRIES

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCED = re.compile(r"^```(?:console|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(words: str) -> list[list[str]]:
    """Return the command lines of the marked blocks in a command's help."""
    command: click.Command = GROUP
    for word in words.split():
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None
        command = found
    text = cleandoc(command.help or "")
    blocks = [part for part in text.split("\n\n") if part.startswith("\b\n")]
    return [line for block in blocks for line in find_lines(block)]


@pytest.mark.parametrize("words", ["", *ENTRIES])
def test_examples_are_valid(words: str) -> None:
    """The help of a command has an example of it, and every example parses."""
    found = examples(words)
    assert any(line[: len(words.split())] == words.split() for line in found), found
    for line in found:
        parse(line)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_shell_code_of_the_pages_is_valid(page: Path) -> None:
    """Every command in the shell code of the README and the documents parses."""
    for block in FENCED.findall(page.read_text()):
        for line in find_lines(block):
            parse(line)
