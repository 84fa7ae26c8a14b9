"""The conversation of a worker: the texts that were sent to it and by it, whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.model.message import MessageType
from gitworker.observe.logs.events import read_messages_of_worker
from gitworker.observe.text import age_text, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitworker.store.api import Reader

SHOWN = 20
OLDER = 1000  # events that the named command shows
SEARCHED = 200  # messages; the others of these are commits, assignments and the like
TEXT_FIELDS = (
    "note", "text", "message", "question", "answer", "reason", "error", "command", "verdict",
)  # fmt: skip
REVIEWS = frozenset({MessageType.REVIEW_REQUEST, MessageType.REVIEW_RESULT})
# `show` has the assignment and the present conflicts; the request for a review repeats `task_done`.
TASK_ENDED = "x-task-ended"
LEFT_OUT = frozenset((MessageType.TASK_ASSIGN, MessageType.CONFLICT_WARNING, MessageType.TASK_DONE))


class Said(NamedTuple):
    """One message with a text; `to` is None for a message to all."""

    seq: int
    ts_ms: int
    sender: str
    to: str | None
    type: str
    text: str


def read_conversation(
    reader: Reader, *, worker: str, task: str | None, without: str = ""
) -> tuple[Said, ...]:
    """Return the newest messages from or to a worker that have a text, newest last.

    One more than SHOWN means that there are older ones. A verdict whose note is `without`, which
    the caller shows elsewhere, is left out.
    """
    found = []
    for event, payload in read_messages_of_worker(reader, worker=worker, task=task, limit=SEARCHED):
        text = _text(payload) if event.body_ref is None else f"git worker msg show {event.seq}"
        is_known = event.name in REVIEWS and text == without
        is_old = event.name == TASK_ENDED and event.task != task
        is_said = (
            event.kind == "message" and event.name not in LEFT_OUT and not (is_known or is_old)
        )
        if text and is_said and worker in (event.source, event.to):
            found.append(Said(event.seq, event.ts_ms, event.source, event.to, event.name, text))
    return tuple(found[-SHOWN - 1 :])


def conversation_lines(
    conversation: Sequence[Said], now_ms: int, *, worker: str
) -> Iterable[tuple[str, str]]:
    """Yield the lines of each message, each as the text before it and the text.

    The first line names the command that shows older messages, if there are any.
    """
    if len(conversation) > SHOWN:
        yield " " * 6, f"older messages: git worker log {worker} -n {OLDER}"
    for said in conversation[-SHOWN:]:
        to = f" → {said.to}" if said.to else ""
        first, *others = said.text.strip().splitlines() or [""]
        age = age_text(max(0, now_ms - said.ts_ms))
        yield f"{age:>4}  ", one_line(f"{said.sender}{to}  {said.type}: {first}")
        for line in others:
            yield " " * 6, one_line(line)


def json_said(said: Said) -> dict[str, Any]:
    """Return a message as JSON data."""
    return {
        "at": clock.iso_utc(said.ts_ms), "seq": said.seq, "from": said.sender, "to": said.to,
        "type": said.type, "text": said.text,
    }  # fmt: skip


def _text(payload: object) -> str:
    """Return the text for people in a payload; empty if it has none."""
    if not isinstance(payload, dict):
        return ""
    texts = [payload[name] for name in TEXT_FIELDS if isinstance(payload.get(name), str)]
    return next(filter(None, texts), "")
