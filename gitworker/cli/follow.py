"""Printing followed messages: JSON Lines for programs, one readable line each for people."""

import json
import select
from collections.abc import Iterable, Mapping
from typing import Any

from gitworker.bus.follow import Pause
from gitworker.cli import output

PAYLOAD_SHOWN = 400


def print_messages(messages: Iterable[Mapping[str, Any] | Pause], *, as_json: bool) -> None:
    """Print messages until they end or their reader goes."""
    for message in messages:
        if isinstance(message, Pause):
            _wait_or_break(message.seconds)
        elif as_json:
            output.answer_line(output.json_line(message))
        else:
            output.answer_line(readable_line(message))
    output.narrate("the state directory is gone")


def readable_line(message: Mapping[str, Any]) -> str:
    """Return one message as a line: when, who to whom, what, about which task, the payload."""
    payload = message["payload_error"] or message["payload"]
    shown = "" if payload is None else json.dumps(payload, ensure_ascii=False)
    if len(shown) > PAYLOAD_SHOWN:
        shown = shown[:PAYLOAD_SHOWN] + "…"
    sent = f"{message['from']} → {message['to'] or 'all'}"
    about = message["correlation_id"] or "-"
    line = f"{message['ts'][11:19]}  {sent}  {message['type']}  {about}  {shown}"
    return output.printable(line.replace("\n", "\\n").replace("\t", " ")).rstrip()


def _wait_or_break(seconds: float) -> None:
    """Wait; raise BrokenPipeError as soon as nobody reads standard output any more."""
    poll = select.poll()
    poll.register(output.OUT, 0)  # only what is always told: an error, a hang-up
    if any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(seconds * 1000)):
        raise BrokenPipeError
