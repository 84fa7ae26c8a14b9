"""The tool that does what the hint of an error proposes as a shell command. Pure."""

from __future__ import annotations

from gitworker.rules_text import REMARK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

COMMAND = "git worker "
COMMIT = " commit "
# Commands of a worker whose tool has another name.
OTHER_NAMES = {"start": "progress", "resume": "progress", "heartbeat": "progress", "land": "merge"}


def tool_of(hint: str, tools: Container[str]) -> str | None:
    """Return the tool for the first command of a hint that has one, or None."""
    command = hint.partition(REMARK)[0]
    if COMMIT in f"{command} " and "commit" in tools:
        return "commit"
    for part in command.split(COMMAND)[1:]:
        name = part.split(" ")[0]
        for known in (name, OTHER_NAMES.get(name, name)):
            if known in tools:
                return known
    return None
