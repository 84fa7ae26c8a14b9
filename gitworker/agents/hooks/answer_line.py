"""The line on standard output that gives a text to an agent. On the hot path."""

from __future__ import annotations

from gitworker.agents.hooks.rules_dialects import CONTEXT, PLAIN, SILENT, AgentEvent
from gitworker.bus.files.json_line import json_value


def answer_of(event: AgentEvent, text: str) -> str:
    """Return the line that gives a text to the agent; "" if there is nothing to say."""
    if not text or event.form == SILENT:
        return ""
    if event.form == PLAIN:
        return text
    if event.form == CONTEXT:
        return (
            f'{{"hookSpecificOutput": {{"hookEventName": {json_value(event.name)},'
            f' "additionalContext": {json_value(text)}}}}}'
        )
    return f'{{"decision": {json_value(event.form)}, "reason": {json_value(text)}}}'
