"""Templates: every value is escaped as HTML, and no character is invisible."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined, compiler
from markupsafe import Markup, escape

from gitworker import clock
from gitworker.model.worker import WorkerState
from gitworker.observe.logs.events import event_text
from gitworker.observe.text import age_text
from gitworker.review.page.shown_changes import key_of
from gitworker.rules_text import one_line, printable
from gitworker.states.task_machine import status_label
from gitworker.states.worker_machine import state_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2.bccache import Bucket

    from gitworker.model.task import TaskStatus

_HERE = os.path.dirname(__file__)
COMPILED = f"{_HERE}/templates/__pycache__"
MAKERS = (__file__, compiler.__file__)  # they decide what a template is compiled to
SHORT = 10
# A file of another name is never read. Name → media type.
STATIC = {
    "app.css": "text/css; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


class CompiledTemplates(FileSystemBytecodeCache):
    """Keeps the compiled templates beside them, as Python does with modules.

    To compile those of a review takes 200 ms. A directory that cannot be written keeps none.
    """

    def __init__(self, directory: str, makers: Sequence[str] = MAKERS) -> None:
        super().__init__(directory)
        stamps = [(one.st_mtime_ns, one.st_size) for one in map(os.stat, makers)]
        self._version = f" {stamps}"

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take the compiled template of this version from its file, if that can be read."""
        bucket.checksum += self._version
        with suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a compiled template, unless Python keeps no byte code either."""
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                os.makedirs(self.directory, exist_ok=True)
                super().dump_bytecode(bucket)


def make_environment() -> Environment:
    """Return the environment of the templates, with its filters."""
    environment = Environment(
        loader=FileSystemLoader(f"{_HERE}/templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_shown, auto_reload=False,
        bytecode_cache=CompiledTemplates(COMPILED),
    )  # fmt: skip
    environment.filters |= {
        "age": lambda at_ms, now_ms: age_text(None if at_ms is None else max(0, now_ms - at_ms)),
        "duration": age_text, "line": lambda text: one_line(_decodable(str(text))),
        "short": lambda oid: str(oid)[:SHORT], "stamp": _stamp, "label": _label,
        "event": event_text, "editable": lambda text: escape(_decodable(text)),
        "key": key_of, "percent": lambda share: f"{share:.0%}",
        "bytes": lambda path: quote(path.encode("utf-8", "surrogateescape"), safe="/"),
    }  # fmt: skip
    return environment


def read_static() -> dict[str, bytes]:
    """Return the static files by name; they stay in memory."""
    found = {}
    for name in STATIC:
        with open(f"{_HERE}/static/{name}", "rb") as file:
            found[name] = _without_comments(file.read()) if name == "app.js" else file.read()
    return found


def _without_comments(script: bytes) -> bytes:
    """Return our script without the comments and blanks that only a reader needs."""
    bare = re.sub(rb"(?m)^ +| *// .*$", b"", script)
    return re.sub(rb" (=>|[=!]==|[<>]?=|&&|\|\||\?\??|[:+<>-]) ", rb"\1", bare)


def _stamp(at_ms: int) -> Markup:
    """Return a time of the local zone, with the date on another day; a program reads UTC."""
    return Markup('<time datetime="{}">{}</time>').format(
        clock.iso_utc_seconds(at_ms), clock.local_minutes(at_ms, clock.now_ms())
    )


def _label(state: WorkerState | TaskStatus) -> str:
    """Return a worker's or a task's state in the words of the command line."""
    return state_label(state) if isinstance(state, WorkerState) else status_label(state)


def _shown(value: Any) -> Any:
    """Return a value for a template; a text has no invisible character and no lone surrogate."""
    if type(value) is str:
        return printable(_decodable(value))
    return "" if value is None else value


def _decodable(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
