"""The events of the agents' hooks, with the answers that each agent documents."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.agents.hooks.hook_context import answer_of
from gitworker.agents.hooks.rules_dialects import (
    CONTEXT,
    DENY,
    EVENTS,
    FORGETS,
    PLAIN,
    PROMPT,
    SILENT,
    START,
    STOP,
    TOOL,
    WAITING,
)

# The events that an agent sends, as recorded with the real programs; the rest is documented.
SENT = {
    "claude 2.1.330": ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"),
    "claude 2.1.330, documented": ("Notification",),
    "codex 0.169.0": ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"),
    "codex 0.169.0, documented": ("PermissionRequest",),
    "qwen 0.24.4": ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"),
    "qwen 0.24.4, documented": ("Notification",),
    "gemini 0.61.0": ("SessionStart", "BeforeAgent", "AfterTool", "PreCompress", "AfterAgent"),
    "gemini 0.61.0, documented": ("Notification",),
    "opencode 1.18.33": ("chat.message", "tool.execute.after"),
    "opencode 1.18.33, documented": ("session.created", "permission.asked", "session.idle"),
}
MEANINGS = {
    START: {"SessionStart", "session.created"},
    PROMPT: {"UserPromptSubmit", "BeforeAgent", "chat.message"},
    TOOL: {"PostToolUse", "AfterTool", "tool.execute.after"},
    WAITING: {"Notification", "PermissionRequest", "permission.asked"},
    FORGETS: {"PreCompress"},
    STOP: {"Stop", "AfterAgent", "session.idle"},
}
TEXT = 'line "one"\nzwei\tä\x1b'


def test_every_event_has_an_agent() -> None:
    """The table has exactly the events that some agent sends."""
    assert set(EVENTS) == {name for names in SENT.values() for name in names}


def test_meanings() -> None:
    """Events of different agents with the same meaning have the same effect."""
    found = {meaning: {one.name for one in EVENTS.values() if one.meaning == meaning}
             for meaning in MEANINGS}  # fmt: skip
    assert found == MEANINGS


@pytest.mark.parametrize("name", [one.name for one in EVENTS.values() if one.form == CONTEXT])
def test_context(name: str) -> None:
    """Text for the next request is additional context of the same event."""
    assert json.loads(answer_of(EVENTS[name], TEXT)) == {
        "hookSpecificOutput": {"hookEventName": name, "additionalContext": TEXT}
    }


def test_an_agent_is_kept() -> None:
    """Claude Code, Codex and Qwen Code go on after `block`, Gemini CLI after `deny`."""
    assert json.loads(answer_of(EVENTS["Stop"], TEXT)) == {"decision": "block", "reason": TEXT}
    assert json.loads(answer_of(EVENTS["AfterAgent"], TEXT)) == {"decision": "deny", "reason": TEXT}
    assert EVENTS["AfterAgent"].form == DENY


def test_opencode_gets_text() -> None:
    """The plugin of OpenCode appends plain text to the prompt and to a tool's result."""
    plain = {name for name, one in EVENTS.items() if one.form == PLAIN}
    assert plain == {"session.created", "chat.message", "tool.execute.after"}
    assert answer_of(EVENTS["tool.execute.after"], TEXT) == TEXT


@pytest.mark.parametrize("name", EVENTS)
def test_silence(name: str) -> None:
    """Without news there is no output, and some events never have any."""
    assert answer_of(EVENTS[name], "") == ""
    if EVENTS[name].form == SILENT:
        assert answer_of(EVENTS[name], TEXT) == ""


@given(st.text())
def test_any_text_is_one_line_of_json(text: str) -> None:
    """An answer is one line of valid JSON for every text."""
    line = answer_of(EVENTS["PostToolUse"], text)
    assert "\n" not in line
    if text:
        assert json.loads(line)["hookSpecificOutput"]["additionalContext"] == text
