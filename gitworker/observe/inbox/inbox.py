"""inbox: the things that need the caller, each with the command that settles it.

A worker's inbox has its messages. The inbox of `hq` is a view of the state: reviews, failures,
questions and stopped landings, each until it is settled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gitworker import clock
from gitworker.observe.inbox.rules_comments import comment_lines
from gitworker.observe.inbox.rules_messages import rest_command
from gitworker.observe.inbox.rules_needs import REVIEW, STATE
from gitworker.observe.text import BOLD, DIM, age_text, cut, one_line, paint
from gitworker.rules_text import quoted


class InboxItem(NamedTuple):
    """One thing; `source` is the worker that it is about, or the sender of the message.

    `seq`, `id` and the whole `payload` are those of a message, None for a state. `question` is the
    number of a question that waits for an answer.
    """

    kind: str
    source: str
    text: str
    since_ms: int
    command: str | None = None
    task: str | None = None
    seq: int | None = None
    id: str | None = None
    payload: Any = None
    question: int | None = None

    @property
    def identity(self) -> tuple[str, str, int | str | None]:
        """Return the values that stay while the item waits; its text and age change."""
        return self.kind, self.source, self.task if self.seq is None else self.seq


class Inbox(NamedTuple):
    """The things that need one agent. `has_more`: a limit was reached.

    `upto` is the position that the reader may acknowledge after it has seen the items; None if
    there is nothing to acknowledge.
    """

    agent: str
    now_ms: int
    items: tuple[InboxItem, ...]
    has_more: bool = False
    upto: int | None = None

    @property
    def has_news(self) -> bool:
        """Return whether the items end a wait; the state of a worker's own branch does not."""
        return any(item.kind != STATE for item in self.items)


def render_inbox(inbox: Inbox, *, width: int | None, color: bool) -> str:
    """Return one line for each thing, and its comments and its command below it.

    A review has two commands: the one that shows it, and the one that approves it.
    """
    lines = []
    for item in inbox.items:
        number = "" if item.seq is None else f"#{item.seq} "
        age = age_text(max(0, inbox.now_ms - item.since_ms))
        head = f"{number}{item.kind} {item.source} {age}"
        lines.append(_headed(head, f": {item.text}" if item.text else "", width, color=color))
        lines += [f"    {cut(line, width)}" for line in comment_lines(item.payload)]
        if item.kind == REVIEW:
            read = f"git worker review {quoted(item.source)}"
            lines.append(f"    {paint(read, DIM, color=color)}")
        for command in (rest_command(item.text, item.seq), item.command):
            if command is not None:
                lines.append(f"    {paint(one_line(command), DIM, color=color)}")
    if inbox.has_more:  # a worker's next inbox continues after this one
        lines.append("more: git worker inbox" + ("" if inbox.upto else " -n 1000"))
    return "\n".join(lines)


def json_inbox(inbox: Inbox) -> dict[str, Any]:
    """Return the inbox as JSON data."""
    return {
        "agent": inbox.agent,
        "count": len(inbox.items),
        "more": inbox.has_more,
        "items": [
            {
                "kind": item.kind, "source": item.source, "task": item.task, "text": item.text,
                "command": item.command, "at": clock.iso_utc(item.since_ms), "seq": item.seq,
                "id": item.id, "payload": item.payload, "question": item.question,
            }
            for item in inbox.items
        ],
    }  # fmt: skip


def _headed(head: str, text: str, width: int | None, *, color: bool) -> str:
    """Return a line that is cut to the width, its head in bold."""
    line = cut(one_line(f"{head}{text}"), width)
    return paint(line[: len(head)], BOLD, color=color) + line[len(head) :]
