"""The words of a comment: from the options, or from git's editor on a terminal."""

import os
import tempfile

import click

from gitworker import proc
from gitworker.cli import output
from gitworker.cli.commands.task.text_options import read_message
from gitworker.cli.options import require_utf8
from gitworker.errors import Refused
from gitworker.paths import open_regular
from gitworker.repo.plumbing.git import Git
from gitworker.rules_text import quoted

COMMENT = "#"
HELP = "\n# Write the comment above. Lines that begin with # are removed; empty text stops.\n"


def read_words(message: str | None, file: str | None, *, before: str = "") -> str:
    """Return the words that -m or -F give, else those that the user writes in git's editor.

    `before` is the text that the editor begins with. Without a terminal the options are required.
    """
    text = read_message(message, file)
    if text is not None:
        return text
    if not (output.is_terminal(output.OUT) and os.isatty(0)):
        raise click.UsageError("Missing option '-m' / '--message', or '-F' / '--file'.")
    return _edit(before)


def _edit(before: str) -> str:
    editor = Git(".").text("var", "GIT_EDITOR")
    with tempfile.TemporaryDirectory(prefix="git-worker-") as directory:
        path = f"{directory}/COMMENT_EDITMSG"
        with open(path, "w", encoding="utf-8", opener=open_regular) as file:
            file.write(f"{before}{HELP}")
        status = proc.run_attached(["sh", "-c", f"{editor} {quoted(path)}"])
        if status != 0:
            raise Refused(f"the editor failed with status {status}: {editor}")
        with open(path, "rb", opener=open_regular) as written:
            text = require_utf8(os.fsdecode(written.read()), "the comment")
    kept = [line for line in text.split("\n") if not line.startswith(COMMENT)]
    return "\n".join(kept).strip("\n")
