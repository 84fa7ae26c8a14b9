"""Registered agents: their fields, and the tasks that they may take. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.errors import Invalid
from gitworker.model.agent import AgentState
from gitworker.model.ids import ALNUM, TASK_CHARS
from gitworker.rules_text import quoted
from gitworker.tasks.agents.rules_places import capabilities_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TASKS_MAX = 1000
FREE = frozenset({AgentState.IDLE, AgentState.STARTING, AgentState.BUSY})


def parse_env(words: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the variables of words such as `NAME=value`; raise Invalid for another word."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not (name.isidentifier() and name.isascii()) or "\0" in value:
            raise Invalid(f"{ascii(name)[:40]} is not a variable of the form NAME=value")
        found[name] = value
    return tuple(found.items())


def parse_capabilities(words: Iterable[str]) -> tuple[str, ...]:
    """Return the capabilities in order, each once; raise Invalid for a bad name."""
    found = dict.fromkeys(word.strip() for text in words for word in text.split(","))
    for name in found:
        if not name or name[0] not in ALNUM or not TASK_CHARS.issuperset(name):
            raise Invalid(
                f"{ascii(name)[:40]} is not a capability: letters, digits, '.', '_' and '-' are"
                " allowed"
            )
    return tuple(found)


def require_number(tasks: int) -> None:
    """Raise Invalid for a number of tasks at once that no agent can have."""
    if not 1 <= tasks <= TASKS_MAX:
        raise Invalid(f"the number of tasks must be between 1 and {TASKS_MAX}")


def has_room(state: AgentState, *, at_work: int, tasks: int, is_paused: bool) -> bool:
    """Return whether an agent may get another task now."""
    return state in FREE and at_work < tasks and not is_paused


def unfit_words(*, required: Sequence[str], wish: str | None) -> tuple[str, str]:
    """Return why no registered agent can take a task, and the command that registers one."""
    wants = [] if wish is None else [f"names the agent {wish}"]
    if required:
        wants.append(f"requires {capabilities_text(required)}")
    if not wants:
        wants.append("has no agent on a machine that is in the fleet")
    options = "".join(f" --capability {quoted(one)}" for one in required)
    kind = quoted(wish) if wish else "'<type>'"
    return (
        f"no registered agent can take it: it {' and '.join(wants)}",
        f"git worker agent add --type {kind}{options} <name>",
    )
