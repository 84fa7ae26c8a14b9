"""The only module that prints: stdout gets the result, stderr the messages about progress.

External text (names, commit messages, payloads) never reaches a terminal with control characters in
it. The hot verbs import this module, so it imports nothing heavy, above all not `json`.
"""

from __future__ import annotations

import io
import os
import sys

from gitworker.errors import READ_ONLY, GitWorkerError, Unavailable
from gitworker.rules_text import printable

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Mapping

OUT = 1
ERR = 2
SCHEMA = 1
RED = "31"
CYAN = "36"
COLUMNS_DIGITS = 5


def answer(text: str) -> None:
    """Write text to standard output, control characters escaped; write nothing if it is empty."""
    if text:
        _write(OUT, printable(text).rstrip("\n") + "\n")


def answer_exact(text: str) -> None:
    """Write one line for programs, byte by byte; escape it only on a terminal."""
    _write(OUT, (printable(text) if is_terminal(OUT) else text) + "\n")


def answer_line(line: str) -> None:
    """Write one line of JSON, with invisible characters escaped as JSON allows."""
    _write(OUT, printable(line) + "\n")


def answer_rendered(text: str, *, exact: bool = False) -> None:
    """Write formatted text; write nothing for empty text.

    Keeps its colours if the reader wants colours, and escapes all other invisible characters.
    `exact` text, which programs read, is written byte by byte unless stdout is a terminal.
    """
    if text:
        _write(OUT, rendered(text, exact=exact))


def rendered(text: str, *, exact: bool = False) -> str:
    """Return formatted text as `answer_rendered` writes it."""
    if not exact or is_terminal(OUT):
        text = without_commands(text) if wants_color() else printable(text)
    return text + "\n"


def answer_frame(text: str) -> None:
    """Write control sequences to the terminal at once; the caller has made the text safe."""
    _write(OUT, text)


def steer(text: str) -> None:
    """Write control sequences to standard error; the caller has made the text safe."""
    _write(ERR, text)


def document(fields: Mapping[str, object]) -> None:
    """Write one JSON document with the number of our schema."""
    _write(OUT, json_line({"schema": SCHEMA, **fields}) + "\n")


def show(text: str, fields: Mapping[str, object], *, as_json: bool) -> None:
    """Write a result: as one JSON document, or as text for people."""
    if as_json:
        document(fields)
    else:
        answer(text)


def narrate(text: str) -> None:
    """Write lines for people to standard error; ignore a closed or full one."""
    try:
        _write(ERR, printable(text).rstrip("\n") + "\n")
    except (OSError, GitWorkerError):
        return


def complain(error: GitWorkerError, *, about: str = "", as_json: bool = False) -> int:
    """Report an error and return its exit status; `about` names one of several items."""
    error = _without_effects(error)
    if as_json:
        document({"error": error.to_json()})
        return error.status
    message = f"{about}: {error.message}" if about else error.message
    lines = [f"{_painted('error:', RED)} {printable(message)}"]
    lines += [f"  {line}" for line in printable(error.detail).splitlines()]
    if error.hint:
        lines.append(f"{_painted('hint:', CYAN)} {printable(error.hint)}")
    _narrate_raw("\n".join(lines) + "\n")
    return error.status


def _without_effects(error: GitWorkerError) -> GitWorkerError:
    """Return the cause instead of its effects if the file system is read-only."""
    if error.code == "read_only" and error.hint is None:  # it names the cause already
        return error
    text = f"{error.message}\n{error.detail}"
    if READ_ONLY not in text and not error.detail:
        return error
    from gitworker.paths import cause_of_read_only  # only needed for errors

    return cause_of_read_only(text) or error


def json_line(fields: Mapping[str, object]) -> str:
    """Return one line of JSON in ASCII, which cannot control a terminal."""
    import json  # 8 ms, which a hot verb must not pay

    return json.dumps(fields, separators=(",", ":"))


def without_commands(text: str) -> str:
    """Escape every control sequence except those that only set colours."""
    import re  # 5 ms, which a hot verb must not pay

    parts = re.split("(\x1b\\[[0-9;]*[mK])", text)
    return "".join(part if at % 2 else printable(part) for at, part in enumerate(parts))


def is_terminal(fd: int) -> bool:
    """Return whether a descriptor is an open terminal."""
    return os.isatty(fd)


def screen_width() -> int | None:
    """Return the number of columns of the terminal; None if stdout is not a terminal."""
    if not is_terminal(OUT):
        return None
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and len(columns) <= COLUMNS_DIGITS and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(OUT).columns or None
    except OSError:
        return None


def has_screen() -> bool:
    """Return whether standard output is a terminal with cursor movement."""
    return is_terminal(OUT) and not _is_dumb()


def wants_color(fd: int = OUT) -> bool:
    """Return whether a stream is a terminal and plain text was not requested."""
    return is_terminal(fd) and not os.environ.get("NO_COLOR") and not _is_dumb()


def encode_click() -> None:
    """Let click write UTF-8, as this module does, in every locale."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8")


def _is_dumb() -> bool:
    return os.environ.get("TERM", "dumb") == "dumb"


def silence() -> None:
    """Redirect standard output to /dev/null after its reader has closed it."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, OUT)
    os.close(null)


def _painted(text: str, color: str) -> str:
    return f"\x1b[1;{color}m{text}\x1b[0m" if wants_color(ERR) else text


def _narrate_raw(text: str) -> None:
    try:
        _write(ERR, text)
    except (OSError, GitWorkerError):
        return


def _write(fd: int, text: str) -> None:
    """Write everything; raise BrokenPipeError for a closed pipe, Unavailable for other errors."""
    data = memoryview(text.encode("utf-8", "surrogateescape"))
    try:
        while data:
            data = data[os.write(fd, data) :]
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "standard output" if fd == OUT else "standard error"
        raise Unavailable(f"cannot write to {name}: {error.strerror}", code="output") from error
