"""The tools that workers and directing agents share: the inbox, a text to another agent."""

from __future__ import annotations

import json

from gitworker.mcp.tool import Answer, Tool, number, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gitworker.mcp.tool import Desk

WAIT_MAX_S = 3600


def read_inbox(desk: Desk, arguments: dict[str, Any]) -> Answer:
    """Return the inbox with whole messages; a worker's are acknowledged once they were sent."""
    from gitworker.observe.inbox.inbox import json_inbox, render_inbox

    inbox = desk.service.inbox(wait_s=arguments.get("wait_s", 0), also=desk.stop.descriptors())
    data = json_inbox(inbox)
    whole = []
    for item in data["items"]:
        words = _said(item["payload"])
        if words and words != item["text"]:
            whole.append(f"#{item['seq']} in full:\n{words}")
    shown = render_inbox(inbox, width=None, color=False) or "the inbox is empty"
    return Answer("\n\n".join([shown, *whole]), data, upto=inbox.upto)


def send_text(desk: Desk, arguments: dict[str, Any]) -> Answer:
    """Send a text to a worker, an agent or hq."""
    to = arguments.get("to", "hq")
    id = desk.service.send_note(to, arguments["text"], reply_to=arguments.get("reply_to"))
    return Answer(f"sent to {to}: message {id}", {"id": id, "to": to})


INBOX = Tool(
    "inbox", read_inbox,
    "Read the messages and events that need you: answers, verdicts on your work, warnings. Call it"
    " at the start, between steps and before you finish. Reading acknowledges a worker's messages.",
    lane="inbox",  # the next call must not see messages that this one acknowledges
    waiting=("wait_s", 0),
    wait_s=number("If it is empty, wait up to this many seconds. Default: 0.", 0, WAIT_MAX_S),
)  # fmt: skip
SEND = Tool(
    "send", send_text,
    "Send a text to another worker, or to hq, the person or agent that directs the work.",
    required=("text",),
    text=text("The text."),
    to=text("A worker, a task, or hq. Default: hq."),
    reply_to=text("The number (seq) or id of the message that this answers."),
)  # fmt: skip


def _said(payload: Any) -> str:
    """Return the text of a payload that says something, else the payload as JSON."""
    if not isinstance(payload, dict):
        return ""
    texts = [payload[key] for key in ("text", "note") if isinstance(payload.get(key), str)]
    return texts[0] if texts else _as_json(payload)


def _as_json(payload: Mapping[str, Any]) -> str:
    return json.dumps(payload, ensure_ascii=False) if payload else ""
