"""The options -m and -F, which give a task its text."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gitworker.errors import Invalid, NotFound

if TYPE_CHECKING:
    AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])

STDIN = 0
READ_AT_MOST = 1 << 26  # more than a text may have, so that the service refuses it
CHUNK = 1 << 20


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


def _read_file(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise NotFound(f"cannot read the text from {path}: {error.strerror}") from error
    try:
        return _read_all(fd)
    except OSError as error:
        raise NotFound(f"cannot read the text from {path}: {error.strerror}") from error
    finally:
        os.close(fd)


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
