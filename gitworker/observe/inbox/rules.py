"""The things that need a reader: which messages, which states, and the command for each. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from gitworker.model.message import MessageType
from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState
from gitworker.rules_text import one_line, quoted
from gitworker.states.question import LATE, OPEN

TEXT_SHOWN = 300
FILES_SHOWN = 5
# The first of these keys that a payload has is its summary.
SUMMARY = (
    "text", "question", "note", "reason", "message", "title", "subject", "error", "phase",
    "branch",
)  # fmt: skip
VERDICT_COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "changes_requested": "git worker done   # after your next commit",
        "conflict": "git worker sync",
        "verify_failed": "git worker done   # after your next commit",
        "withdrawn": "git worker done   # the review is open again",
    }
)
SETTLED_BY_HAND_IN = frozenset({"approved", "conflict", "verify_failed"})
ORDER_COMMANDS: Mapping[str, str] = MappingProxyType(
    {"stop": "git worker done   # or: git worker fail -m <reason>"}
)
TARGET_MOVED = "x-target-moved"  # with a worker: to commits of its branch that did not land
READ = "git worker msg poll --mine"
BLOCKED = "blocked"
FAILED = "failed"
LANDING = "landing"
REVIEW = "review"
# The states of a worker in which `hq` has to act, most urgent first.
NEEDS: Mapping[WorkerState, str] = MappingProxyType(
    {
        WorkerState.FAILED: FAILED,
        WorkerState.STALE: "stale",
        WorkerState.IN_REVIEW: REVIEW,
        WorkerState.APPROVED: LANDING,
    }
)
RETURNED = "returned"
IDLE = "idle"
PAUSED = "paused"
QUESTION = "question"
MESSAGE = "message"
BUDGET = "budget"
STATE = "branch"  # the state of a branch or worktree, which is no message
URGENCY = (
    QUESTION, BLOCKED, FAILED, "stale", BUDGET, PAUSED, IDLE, STATE, RETURNED, REVIEW, LANDING,
    MESSAGE,
)  # fmt: skip
# Tasks in these statuses need no agent, so their budget stops nothing.
WITHOUT_AGENT = frozenset(
    {TaskStatus.COMPLETED, TaskStatus.CANCELLED, TaskStatus.VERIFYING, TaskStatus.AWAITING_APPROVAL}
)
ENDED = frozenset({WorkerState.IDLE, WorkerState.COMPLETED, WorkerState.FAILED})


def need_of(
    state: WorkerState,
    *,
    stale_from: WorkerState | None,
    waits_for_author: bool,
    is_blocked: bool,
    is_idle: bool = False,
    is_paused: bool = False,
) -> str | None:
    """Return the kind of thing for which a worker needs `hq`; None if it needs nothing.

    `is_blocked`: that is the status in its last heartbeat. `is_idle`: its agent has ended without
    handing anything in, at work or before it became stale. `is_paused`: its
    agent is stopped and can continue.
    """
    if state is WorkerState.WORKING:
        facts = {PAUSED: is_paused, RETURNED: waits_for_author, BLOCKED: is_blocked, IDLE: is_idle}
        return next((kind for kind, is_so in facts.items() if is_so), None)
    if state is WorkerState.STALE and stale_from is WorkerState.IN_REVIEW:
        state = WorkerState.IN_REVIEW
    if state is WorkerState.STALE and is_idle:
        return IDLE
    return NEEDS.get(state)


def is_open_question(
    type: str, *, is_unread: bool, state: WorkerState | None, is_current: bool
) -> bool:
    """Return whether an unanswered message is a question that still waits for its answer.

    `state` is the asking worker's, None for another agent; `is_current`: it still has that task.
    """
    if type != MessageType.QUESTION:
        return False
    return is_unread or state is None or (is_current and state not in ENDED)


def stops_work(tasks: Collection[TaskStatus]) -> bool:
    """Return whether a budget that is reached stops one of the tasks with these statuses."""
    return not WITHOUT_AGENT.issuperset(tasks)


def budget_words(task: str | None, used: int, budget: int) -> str:
    """Return the effect of a budget that is reached: of a task, or of a project without one."""
    effect = "no agent starts on it" if task else "none of its tasks starts"
    return f"{used:,} of {budget:,} tokens are used, so {effect}"


def budget_command(project: str, task: str | None) -> str:
    """Return the command that raises a budget."""
    if task is not None:
        return f"git worker task edit {task} --budget <number>"
    return f"git worker project edit {project} --budget <number>"


def is_asked(type: str) -> bool:
    """Return whether a message is a question."""
    return type == MessageType.QUESTION


def can_be_answered(state: str) -> bool:
    """Return whether a recorded question waits for its answer."""
    return state in (OPEN, LATE)


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
        facts = [payload.get("verdict"), payload.get("note") or payload.get("reason")]
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
        return VERDICT_COMMANDS.get(str(fields.get("verdict")))
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


def _files(payload: Mapping[str, Any]) -> str:
    files = payload.get("files")
    if not isinstance(files, list) or not files:
        return ""
    more = f" and {len(files) - FILES_SHOWN} more" if len(files) > FILES_SHOWN else ""
    return ", ".join(map(str, files[:FILES_SHOWN])) + more


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= TEXT_SHOWN else text[: TEXT_SHOWN - 1] + "…"
