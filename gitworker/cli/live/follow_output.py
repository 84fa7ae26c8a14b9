"""Print followed messages: JSON Lines for programs, one readable line each for people."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from gitworker.cli import output
from gitworker.cli.live.reader import report_deletion, require_reader
from gitworker.observe.text import BOLD, CYAN, DIM, GREEN, RED, YELLOW
from gitworker.rules_text import printable

PAYLOAD_SHOWN = 400
TYPE_COLORS = {
    "task_done": GREEN,
    "task_failed": RED,
    "task_blocked": YELLOW,
    "review_request": YELLOW,
    "review_result": GREEN,
    "cmd": YELLOW,
    "conflict_warning": YELLOW,
    "signal": YELLOW,
    "error": RED,
    "x-dead-letter": RED,
}


def print_messages(messages: Iterable[Mapping[str, Any] | None], *, as_json: bool) -> None:
    """Print messages until they end or their reader closes; None marks a pause."""
    is_colored = output.wants_color()
    for message in messages:
        if message is None:
            require_reader()
        elif as_json:
            output.answer_line(output.json_line(message))
        else:
            output.answer_rendered(readable_line(message, color=is_colored))
    report_deletion()


def readable_line(message: Mapping[str, Any], *, color: bool = False) -> str:
    """Return one message as a line: time, sender, recipient, type, task, payload.

    A message's own text can neither colour nor control a terminal; `color` colours the parts.
    """
    payload = message["payload_error"] or message["payload"]
    shown = "" if payload is None else json.dumps(payload, ensure_ascii=False)
    if len(shown) > PAYLOAD_SHOWN:
        shown = shown[:PAYLOAD_SHOWN] + "…"
    parts = (
        (message["ts"][11:19], DIM),
        (f"{message['from']} → {message['to'] or 'all'}", BOLD),
        (message["type"], TYPE_COLORS.get(message["type"], CYAN)),
        (message["correlation_id"] or "-", DIM),
        (shown, RED if message["payload_error"] else ""),
    )
    return "  ".join(_painted(str(text), code if color else "") for text, code in parts).rstrip()


def _painted(text: str, code: str) -> str:
    flat = printable(text.replace("\n", "\\n").replace("\t", " "))
    return f"\x1b[{code}m{flat}\x1b[0m" if code and flat else flat
