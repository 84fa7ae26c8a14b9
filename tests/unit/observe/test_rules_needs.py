"""Which things need a reader, and the command for each."""

import json
from typing import Any

import pytest

from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState
from gitworker.observe.inbox.rules_messages import (
    TEXT_SHOWN,
    command_for,
    is_old_warning,
    is_settled,
    render_brief,
    summary_of,
)
from gitworker.observe.inbox.rules_needs import (
    budget_command,
    budget_words,
    is_open_question,
    need_of,
    stops_work,
)

S = WorkerState


@pytest.mark.parametrize(
    ("state", "stale_from", "waits", "kind"),
    [
        (S.WORKING, None, True, "returned"),
        (S.WORKING, None, False, None),
        (S.ASSIGNED, None, False, None),
        (S.FAILED, None, True, "failed"),
        (S.STALE, S.WORKING, False, "stale"),
        (S.STALE, S.IN_REVIEW, False, "review"),
        (S.IN_REVIEW, None, False, "review"),
        (S.APPROVED, None, False, "landing"),
        (S.COMPLETED, None, False, None),
    ],
)
def test_needs(
    state: WorkerState, stale_from: WorkerState | None, waits: bool, kind: str | None
) -> None:
    """A worker needs a person after a failure, for its review, its landing, and without agent."""
    found = need_of(state, stale_from=stale_from, waits_for_author=waits, is_blocked=False)
    assert found == kind


def test_blocked_workers() -> None:
    """A worker needs a person while it reports itself as blocked, unless its work came back."""
    facts: dict[str, Any] = {"stale_from": None, "is_blocked": True}
    assert need_of(S.WORKING, waits_for_author=False, **facts) == "blocked"
    assert need_of(S.WORKING, waits_for_author=True, **facts) == "returned"
    assert need_of(S.IN_REVIEW, waits_for_author=False, **facts) == "review"


def test_idle_workers() -> None:
    """A worker needs a person after its agent has ended without handing anything in."""
    facts: dict[str, Any] = {"stale_from": None, "is_blocked": False, "is_idle": True}
    assert need_of(S.WORKING, waits_for_author=False, **facts) == "idle"
    assert need_of(S.WORKING, waits_for_author=True, **facts) == "returned"
    assert need_of(S.ASSIGNED, waits_for_author=False, **facts) is None
    facts["stale_from"] = S.WORKING
    assert need_of(S.STALE, waits_for_author=False, **facts) == "idle"
    assert need_of(S.STALE, waits_for_author=False, **{**facts, "is_idle": False}) == "stale"


@pytest.mark.parametrize(
    ("fields", "is_handed_in", "branches", "is_old"),
    [
        ({"with": "main"}, False, {"docs/guide"}, False),
        ({"with": "main"}, True, None, True),
        ({"with_task": "guide", "with_branch": "docs/guide"}, True, {"docs/guide"}, False),
        ({"with_task": "guide", "with_branch": "docs/guide"}, False, {"ui/form"}, True),
        ({"with_task": "guide", "with_branch": "docs/guide"}, False, None, False),
    ],
)
def test_old_warnings(
    fields: dict[str, str], is_handed_in: bool, branches: set[str] | None, is_old: bool
) -> None:
    """A hand-in settles a conflict with the target, the end of a branch one with that branch."""
    assert is_old_warning(fields, is_handed_in=is_handed_in, branches=branches) is is_old


def test_paused_workers() -> None:
    """A worker needs a person while its agent is paused, but its review is more urgent."""
    facts: dict[str, Any] = {"stale_from": None, "waits_for_author": False, "is_paused": True}
    assert need_of(S.WORKING, is_blocked=True, **facts) == "paused"
    assert need_of(S.IN_REVIEW, is_blocked=False, **facts) == "review"


@pytest.mark.parametrize(
    ("type", "is_unread", "state", "is_current", "is_open"),
    [
        ("x-note", True, S.WORKING, True, False),
        ("x-question", True, S.COMPLETED, False, True),
        ("x-question", False, None, False, True),
        ("x-question", False, S.WORKING, True, True),
        ("x-question", False, S.WORKING, False, False),
        ("x-question", False, S.FAILED, True, False),
    ],
)
def test_open_questions(
    type: str, is_unread: bool, state: WorkerState | None, is_current: bool, is_open: bool
) -> None:
    """A question that was read stays open while the asking worker has the task."""
    found = is_open_question(type, is_unread=is_unread, state=state, is_current=is_current)
    assert found is is_open


@pytest.mark.parametrize(
    ("type", "payload", "text"),
    [
        ("x-note", None, ""),
        ("x-note", [1, 2], "[1, 2]"),
        ("x-note", {}, ""),
        ("x-note", {"text": " two\n lines "}, "two lines"),
        ("x-note", {"size": 3}, "{'size': 3}"),
        ("x-note", {"text": "y" * 400}, "y" * (TEXT_SHOWN - 1) + "…"),
        ("task_assign", {"branch": "a/t", "title": "Log in"}, "Log in"),
        ("cmd", {"action": "stop", "reason": "enough"}, "stop: enough"),
        ("review_result", {"verdict": "approved"}, "approved"),
        ("review_result", {"verdict": "changes_requested", "note": "No"}, "changes requested: No"),
        ("review_result", {"verdict": "conflict", "files": ["a", "b"]}, "conflict: a, b"),
        (
            "review_result",
            {"verdict": "verify_failed", "reason": "`make` failed", "log": "/logs/1.log"},
            "verify failed: `make` failed (log: /logs/1.log)",
        ),
        (
            "review_result",
            {"verdict": "changes_requested", "note": "long " * 200},
            ("changes requested: " + "long " * 200).strip(),
        ),
        ("review_result", {"verdict": "conflict", "files": list("abcdefg")},
         "conflict: a, b, c, d, e and 2 more"),
    ],
)  # fmt: skip
def test_summaries(type: str, payload: Any, text: str) -> None:
    """The content of a message is a few words on one line."""
    assert summary_of(type, payload) == text


@pytest.mark.parametrize(
    ("type", "payload", "command"),
    [
        ("x-note", {"text": "hi"}, None),
        ("x-question", "8080?", "git worker send docs --reply-to 7 <text>"),
        ("review_result", {"verdict": "conflict"}, "git worker sync"),
        ("review_result", {"verdict": "approved"}, None),
        ("cmd", {"command": "stop"}, "git worker done   # or: git worker fail -m <reason>"),
        ("cmd", {"command": "pause"}, None),
        ("conflict_warning", {"with_task": None, "with_branch": "main"}, "git worker sync"),
        ("conflict_warning", {"with_task": "t2", "with_branch": "ui/t2"},
         "git diff HEAD...ui/t2"),
    ],
)  # fmt: skip
def test_commands(type: str, payload: Any, command: str | None) -> None:
    """A message names the command with which its reader acts on it, if there is one."""
    assert command_for(type, payload, sender="docs", seq=7) == command


def test_brief_lines() -> None:
    """A message is one short line, safe for a terminal, with or without text and addressee."""
    message = {
        "seq": 7, "type": "x-note", "from": "docs", "to": "auth", "payload": {"text": "a\x1b[m"},
        "payload_error": None,
    }  # fmt: skip
    assert render_brief(json.dumps(message)) == "#7 x-note docs → auth: a\\x1b[m"
    broken = {**message, "to": None, "payload": None, "payload_error": "blob_missing"}
    assert render_brief(json.dumps(broken)) == "#7 x-note docs: blob_missing"
    empty = {**broken, "payload_error": None}
    assert render_brief(json.dumps(empty)) == "#7 x-note docs"


def test_settled_verdicts() -> None:
    """A later hand-in settles every verdict but a reviewer's request, and one that it renews."""
    settled = ["approved", "approved: good", "conflict: a, b", "verify failed: no"]
    assert all(is_settled(summary) for summary in settled)
    assert not is_settled("changes requested: approved by no one")
    assert not is_settled("withdrawn: undo")


def test_budgets_that_are_reached() -> None:
    """A budget needs a person while one of its tasks needs an agent."""
    assert stops_work([TaskStatus.COMPLETED, TaskStatus.READY])
    assert not stops_work([TaskStatus.COMPLETED, TaskStatus.AWAITING_APPROVAL])
    assert budget_words("a", 1200, 1000).startswith("1,200 of 1,000 tokens are used, so no agent")
    assert "none of its tasks" in budget_words(None, 5, 5)
    assert budget_command("web", "a") == "git worker task edit a --budget <number>"
    assert budget_command("web", None) == "git worker project edit web --budget <number>"
