"""The one printing door: stdout is the answer, stderr the narration.

What comes from outside (names, commit messages, payloads) never reaches a terminal with control
characters in it. Imported by the hot verbs: nothing heavy at module level, `json` least of all.
"""

from __future__ import annotations

import os

from gitworker.errors import READ_ONLY, GitWorkerError, Unavailable
from gitworker.rules_text import printable

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

OUT = 1
ERR = 2
SCHEMA = 1
RED = "31"
CYAN = "36"


def answer(text: str) -> None:
    """Write lines of text to standard output, control characters escaped; nothing for no text."""
    if text:
        _write(OUT, printable(text).rstrip("\n") + "\n")


def answer_exact(text: str) -> None:
    """Write one line for programs, byte by byte; escaped only where a terminal would read it."""
    _write(OUT, (printable(text) if is_terminal(OUT) else text) + "\n")


def answer_line(line: str) -> None:
    """Write one line of JSON, with what does not show escaped as JSON allows."""
    _write(OUT, printable(line) + "\n")


def answer_rendered(text: str, *, exact: bool = False) -> None:
    """Write text that a renderer laid out; nothing for no text.

    Its colours stay if the reader wants colours, everything else that does not show is escaped.
    `exact` text, which programs read, goes out byte by byte elsewhere than on a terminal.
    """
    if not text:
        return
    if not exact or is_terminal(OUT):
        text = without_commands(text) if wants_color() else printable(text)
    _write(OUT, text + "\n")


def answer_frame(text: str) -> None:
    """Write to the terminal what steers it, at once; the caller has made it safe."""
    _write(OUT, text)


def steer(text: str) -> None:
    """Write to the terminal of standard error what steers it; the caller has made it safe."""
    _write(ERR, text)


def document(fields: Mapping[str, object]) -> None:
    """Write one JSON document that carries our schema's number."""
    _write(OUT, json_line({"schema": SCHEMA, **fields}) + "\n")


def show(text: str, fields: Mapping[str, object], *, as_json: bool) -> None:
    """Write a result: as one JSON document, or as text for people."""
    if as_json:
        document(fields)
    else:
        answer(text)


def narrate(text: str) -> None:
    """Write lines for people to standard error; a closed or full one is nobody's failure."""
    try:
        _write(ERR, printable(text).rstrip("\n") + "\n")
    except (OSError, GitWorkerError):
        return


def narrator() -> Callable[[str], None] | None:
    """Return what tells a person how something goes on; None where nobody is at a terminal."""
    return narrate if is_terminal(ERR) else None


def complain(error: GitWorkerError, *, about: str = "", as_json: bool = False) -> int:
    """Report an error, of one thing among several, and return the exit status it stands for."""
    error = _without_effects(error)
    if as_json:
        document({"error": error_fields(error)})
        return error.status
    message = f"{about}: {error.message}" if about else error.message
    lines = [f"{_painted('error:', RED)} {printable(message)}"]
    lines += [f"  {line}" for line in printable(error.detail).splitlines()]
    if error.hint:
        lines.append(f"{_painted('hint:', CYAN)} {printable(error.hint)}")
    _narrate_raw("\n".join(lines) + "\n")
    return error.status


def _without_effects(error: GitWorkerError) -> GitWorkerError:
    """Return the one cause of all that fails where the file system is read-only."""
    if error.code == "read_only" and error.hint is None:  # it says all of that already
        return error
    text = f"{error.message}\n{error.detail}"
    if READ_ONLY not in text and not error.detail:
        return error
    from gitworker.paths import cause_of_read_only  # not needed by what succeeds

    return cause_of_read_only(text) or error


def error_fields(error: GitWorkerError) -> dict[str, object]:
    """Return an error as the fields of a JSON document."""
    fields: dict[str, object] = {
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
    }
    if error.detail:
        fields["detail"] = error.detail
    return fields


def json_line(fields: Mapping[str, object]) -> str:
    """Return one line of JSON in ASCII, so that nothing in it can steer a terminal."""
    import json  # 8 ms, which a hot verb does not pay

    return json.dumps(fields, separators=(",", ":"))


def without_commands(text: str) -> str:
    """Escape what could command a terminal, all but the sequences that only colour."""
    import re  # 5 ms, which a hot verb does not pay

    parts = re.split("(\x1b\\[[0-9;]*[mK])", text)
    return "".join(part if at % 2 else printable(part) for at, part in enumerate(parts))


def is_terminal(fd: int) -> bool:
    """Tell whether a descriptor is a terminal; a closed one is none."""
    return os.isatty(fd)


def screen_width() -> int | None:
    """Return how many columns the reader's screen has; None where nobody's screen is meant."""
    if not is_terminal(OUT):
        return None
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(OUT).columns or None
    except OSError:
        return None


def has_screen() -> bool:
    """Tell whether standard output is a terminal on which one can move about."""
    return is_terminal(OUT) and os.environ.get("TERM", "dumb") != "dumb"


def wants_color(fd: int = OUT) -> bool:
    """Tell whether a stream is a terminal whose reader has not asked for plain text."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return is_terminal(fd) and not plain


def silence() -> None:
    """Send what may still be written to standard output nowhere, after its reader has gone."""
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
    """Write everything or raise: BrokenPipeError for a gone reader, Unavailable for the rest."""
    data = memoryview(text.encode("utf-8", "surrogateescape"))
    try:
        while data:
            data = data[os.write(fd, data) :]
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "standard output" if fd == OUT else "standard error"
        raise Unavailable(f"cannot write to {name}: {error.strerror}", code="output") from error
