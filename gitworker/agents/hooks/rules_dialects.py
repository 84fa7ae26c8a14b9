"""The events of the agents' hooks, and the form of the answer to each. Pure.

The name of an event determines both, so that one command serves all agents. On the hot path.
"""

from __future__ import annotations

# What an event means to us.
START = "start"  # a session begins, or continues with a shortened conversation
PROMPT = "prompt"  # a person or a program has given the agent something to do
TOOL = "tool"  # a tool call has ended
WAITING = "waiting"  # the agent waits for a permission or an answer
FORGETS = "forgets"  # the conversation is about to be shortened, or was begun again
STOP = "stop"  # the agent wants to end its turn
# The form of an answer on standard output.
CONTEXT = "context"  # JSON: text for the next request to the model
BLOCK = "block"  # JSON: do not end, for this reason
DENY = "deny"  # the same in Gemini's word
PLAIN = "plain"  # text, which our plugin appends to the result of a tool
SILENT = "silent"  # no answer is read


class AgentEvent:
    """An event of an agent's hook: its name, its meaning and the form of the answer."""

    __slots__ = ("form", "meaning", "name")

    def __init__(self, name: str, meaning: str, form: str) -> None:
        self.name = name
        self.meaning = meaning
        self.form = form


EVENTS = {
    name: AgentEvent(name, meaning, form)
    for name, meaning, form in (
        ("SessionStart", START, CONTEXT),  # claude, codex, qwen, gemini
        ("UserPromptSubmit", PROMPT, CONTEXT),  # claude, codex, qwen
        ("BeforeAgent", PROMPT, CONTEXT),  # gemini
        ("PostToolUse", TOOL, CONTEXT),  # claude, codex, qwen
        ("AfterTool", TOOL, CONTEXT),  # gemini
        ("Notification", WAITING, SILENT),  # claude, qwen, gemini
        ("PermissionRequest", WAITING, SILENT),  # codex
        ("PreCompress", FORGETS, SILENT),  # gemini, after /clear too: it reads no answer then
        ("Stop", STOP, BLOCK),  # claude, codex, qwen
        ("AfterAgent", STOP, DENY),  # gemini
        ("session.created", START, PLAIN),  # the rest: opencode
        ("chat.message", PROMPT, PLAIN),
        ("tool.execute.after", TOOL, PLAIN),
        ("permission.asked", WAITING, SILENT),
        ("session.idle", STOP, SILENT),
    )
}
