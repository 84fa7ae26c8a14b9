"""A message in a few words, and the command with which its reader acts on it. Pure.

On the hot path.
"""

from __future__ import annotations

from gitworker.model.message import MessageType
from gitworker.observe.inbox.rules_comments import comment_lines, first_number
from gitworker.rules_text import one_line, quoted

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

TEXT_SHOWN = 300
FILES_SHOWN = 5
# The first of these keys that a payload has is its summary.
SUMMARY = (
    "text", "question", "note", "reason", "message", "title", "subject", "error", "phase",
    "branch",
)  # fmt: skip
COMMENTED, REQUESTED = "commented", "changes_requested"
VERDICT_COMMANDS = {
    REQUESTED: "git worker done   # after your next commit",
    "conflict": "git worker sync",
    "verify_failed": "git worker done   # after your next commit",
    "withdrawn": "git worker done   # the review is open again",
}
SETTLED_BY_HAND_IN = frozenset({"approved", "conflict", "verify failed"})
ORDER_COMMANDS = {"stop": "git worker done   # or: git worker fail -m <reason>"}
TARGET_MOVED = "x-target-moved"  # with a worker: to commits of its branch that did not land
READ = "git worker msg poll --mine"


def is_settled(summary: str) -> bool:
    """Return whether a later hand-in settles the verdict with this summary completely."""
    return summary.partition(":")[0] in SETTLED_BY_HAND_IN


def is_old_warning(payload: Any, *, is_handed_in: bool, branches: Collection[str] | None) -> bool:
    """Return whether a warning of a conflict is settled: work was handed in since, which reports
    conflicts with the target itself, or the other branch does not exist any more.
    """
    fields = payload if isinstance(payload, dict) else {}
    if not fields.get("with_task"):  # it is the target
        return is_handed_in
    return branches is not None and fields.get("with_branch") not in branches


def summary_of(type: str, payload: Any) -> str:
    """Return the content of a message in a few words; it may be empty.

    A verdict is returned whole, with the log of a failed verification: its author acts on it.
    """
    if not isinstance(payload, dict):
        return "" if payload is None else _short(payload)
    if type == MessageType.REVIEW_RESULT:
        verdict = str(payload.get("verdict") or "").replace("_", " ")
        facts = [verdict, payload.get("note") or payload.get("reason")]
        words = ": ".join(str(one) for one in (*facts, _files(payload)) if one)
        log = f" (log: {payload['log']})" if payload.get("log") else ""
        return " ".join(f"{words}{log}".split())
    if type == MessageType.CMD:
        facts = [payload.get("command") or payload.get("action"), payload.get("reason")]
        return _short(": ".join(str(one) for one in facts if one))
    for key in SUMMARY:
        if payload.get(key):
            return _short(payload[key])
    return _short(payload) if payload else ""


def render_brief(line: str) -> str:
    """Return a message, as a line of JSON, in one short line of text."""
    import json  # 8 ms, which hooks do not pay

    message = json.loads(line)
    text = message["payload_error"] or summary_of(message["type"], message["payload"])
    to = f" → {message['to']}" if message["to"] else ""
    head = f"#{message['seq']} {message['type']} {message['from']}{to}"
    return one_line(f"{head}: {text}" if text else head)


def command_for(type: str, payload: Any, *, sender: str, seq: int) -> str | None:
    """Return the command with which a worker acts on a message, or None."""
    fields = payload if isinstance(payload, dict) else {}
    if type == MessageType.QUESTION:
        return answer_command(sender, seq)
    if type == MessageType.REVIEW_RESULT:
        verdict, number = str(fields.get("verdict")), first_number(fields)
        if verdict == COMMENTED and number is not None:
            return f"git worker review handled {number} -m <text>   # without -m after a commit"
        command = VERDICT_COMMANDS.get(verdict)
        if verdict == REQUESTED and comment_lines(fields):  # more than the note
            return f"{command} and, for each comment, git worker review handled {number}"
        return command
    if type == MessageType.CMD:
        return ORDER_COMMANDS.get(str(fields.get("command") or fields.get("action")))
    if type == TARGET_MOVED and fields.get("worker"):
        return f"git log --stat {fields['from']}..{fields['to']}   # then: {READ}"
    if type == MessageType.CONFLICT_WARNING:
        if not fields.get("with_task"):  # it is the target
            return "git worker sync"
        return f"git diff HEAD...{quoted(str(fields.get('with_branch')))}"
    return None


def answer_command(sender: str, seq: int) -> str:
    """Return the command that answers a message of a sender."""
    return f"git worker send {quoted(sender)} --reply-to {seq} <text>"


def rest_command(text: str, seq: int | None) -> str | None:
    """Return the command that shows a message whose summary is shortened; None for another one."""
    is_short = seq is None or len(text) < TEXT_SHOWN or not text.endswith("…")
    return None if is_short else f"git worker msg show {seq}"


def _files(payload: Mapping[str, Any]) -> str:
    files = payload.get("files")
    if not isinstance(files, list) or not files:
        return ""
    more = f" and {len(files) - FILES_SHOWN} more" if len(files) > FILES_SHOWN else ""
    return ", ".join(map(str, files[:FILES_SHOWN])) + more


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= TEXT_SHOWN else text[: TEXT_SHOWN - 1] + "…"
