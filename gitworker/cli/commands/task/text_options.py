"""The arguments and options of a new task: WORKER [TASK] [-m TEXT | -F FILE]."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gitworker.cli.options import TaskId, Text, WorkerId, require_utf8
from gitworker.errors import Invalid, NotFound
from gitworker.rules_text import quoted

if TYPE_CHECKING:
    AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])

STDIN = 0
READ_AT_MOST = 1 << 26  # more than a text may have, so that the service refuses it
CHUNK = 1 << 20


class NewWorker(WorkerId):
    """The id of a worker that gets a task."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the id; for words of a task, the error shows the command to write."""
        try:
            return super().convert(value, param, ctx)
        except Invalid as error:
            raise _with_example(error, value, "spawn dev") from None


class NewTask(TaskId):
    """The id of a task that a worker gets."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the id; for words of a task, the error shows the command to write."""
        try:
            return super().convert(value, param, ctx)
        except Invalid as error:
            worker = ctx.params.get("worker") if ctx else None
            begin = f"{ctx.info_name if ctx else ''} {worker or 'dev'}"
            raise _with_example(error, value, begin) from None


def task_arguments(function: AnyFunction) -> AnyFunction:
    """Add the arguments WORKER [TASK] to a command."""
    task = click.argument("task", type=NewTask(), required=False)
    return click.argument("worker", type=NewWorker())(task(function))


def text_options(function: AnyFunction) -> AnyFunction:
    """Add the options -m TEXT and -F FILE to a command."""
    for option in (
        click.option(
            "-F", "--file", metavar="FILE", help="Take the text from a file; - is standard input."
        ),
        click.option("-m", "--message", metavar="TEXT", help="The task's text: the work to do."),
    ):
        function = option(function)
    return function


def message_options(about: str) -> Callable[[AnyFunction], AnyFunction]:
    """Return the options -m TEXT and -F FILE for a message, as git's commands have them."""

    def add(function: AnyFunction) -> AnyFunction:
        file = click.option(
            "-F", "--file", metavar="FILE", help="Take it from a file; - is standard input."
        )
        return click.option("-m", "--message", type=Text(), metavar="TEXT", help=about)(
            file(function)
        )

    return add


def read_message(message: str | None, file: str | None) -> str | None:
    """Return the message that the options give, None without one; raise Invalid for a blank one."""
    if file is None:
        return message
    text = (read_text(message, file) or b"").decode("utf-8", "surrogateescape").strip("\n")
    if not text.strip():
        raise Invalid(f"{file} is empty", f"cat {quoted(file)}", code="usage")
    return require_utf8(text, file)


def require_message(message: str | None, file: str | None) -> str:
    """Return the message that the options give; fail without one."""
    text = read_message(message, file)
    if text is None:
        raise click.UsageError("Missing option '-m' / '--message', or '-F' / '--file'.")
    return text


def read_new_text(message: str | None, file: str | None) -> bytes | None:
    """Return the text of a task that a worker gets, as `read_text`; raise Invalid for a blank one.

    Such a text is a mistake of the caller, such as a variable that is not set.
    """
    text = read_text(message, file)
    if text is None or text.strip():
        return text
    if file is None or file == "-":
        source = "-m" if file is None else "standard input"
        raise Invalid(f"the task's text is empty ({source})", code="usage")
    raise Invalid(f"{file} is empty", f"cat {quoted(file)}", code="usage")


def read_text(message: str | None, file: str | None) -> bytes | None:
    """Return the text that the options give, None without one.

    Raises NotFound for an unreadable file, Invalid for two texts.
    """
    if message is not None and file is not None:
        raise Invalid("-m and -F both give a text; use one of them", code="usage")
    if message is not None:
        return os.fsencode(message)
    if file is None:
        return None
    return _read_all(STDIN) if file == "-" else _read_file(file)


def _with_example(error: Invalid, words: str, command: str) -> Invalid:
    """Return the error with the command for a task in words, if the value looks like words."""
    if any(character.isspace() for character in words.strip()):
        error.hint = f"git worker {command} -m {quoted(words)}"
    return error


def _read_file(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise _unreadable(path, error) from error
    try:
        return _read_all(fd)
    except OSError as error:
        raise _unreadable(path, error) from error
    finally:
        os.close(fd)


def _unreadable(path: str, error: OSError) -> NotFound:
    place = path
    while place and not os.path.lexists(place):
        place = os.path.dirname(place)
    hint = f"ls -l {quoted(place or '.')}"
    return NotFound(f"cannot read the text from {path}: {error.strerror}", hint)


def _read_all(fd: int) -> bytes:
    """Read to the end, or slightly beyond the limit: a pipe cannot fill the memory."""
    chunks = []
    size = 0
    while size <= READ_AT_MOST:
        chunk = os.read(fd, CHUNK)
        if not chunk:
            break
        chunks.append(chunk)
        size += len(chunk)
    return b"".join(chunks)
