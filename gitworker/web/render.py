"""Templates: every value is escaped as HTML, and no character is invisible."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from gitworker import clock
from gitworker.model.worker import WorkerState
from gitworker.observe.logs.events import event_text
from gitworker.observe.text import age_text
from gitworker.rules_text import one_line, printable
from gitworker.states.task_machine import status_label
from gitworker.states.worker_machine import state_label

if TYPE_CHECKING:
    from gitworker.model.task import TaskStatus

_HERE = os.path.dirname(__file__)
SHORT = 10
# A file of another name is never read. Name → media type.
STATIC = {
    "app.css": "text/css; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


def make_environment() -> Environment:
    """Return the environment of the templates, with its filters."""
    environment = Environment(
        loader=FileSystemLoader(f"{_HERE}/templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_shown, auto_reload=False,
    )  # fmt: skip
    environment.filters |= {
        "age": lambda at_ms, now_ms: age_text(None if at_ms is None else max(0, now_ms - at_ms)),
        "duration": age_text, "line": lambda text: one_line(_decodable(str(text))),
        "short": lambda oid: str(oid)[:SHORT], "stamp": _stamp, "label": _label,
        "event": event_text,
        "percent": lambda share: f"{share:.0%}",
        "bytes": lambda path: quote(path.encode("utf-8", "surrogateescape"), safe="/"),
    }  # fmt: skip
    return environment


def read_static() -> dict[str, bytes]:
    """Return the static files by name; they stay in memory."""
    found = {}
    for name in STATIC:
        with open(f"{_HERE}/static/{name}", "rb") as file:
            found[name] = file.read()
    return found


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
