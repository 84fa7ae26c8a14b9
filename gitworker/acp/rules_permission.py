"""Decisions about the permission requests of an agent that speaks ACP. Pure, without the library.

The kinds of tools are those of the protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gitworker.agents.adapters.rules_adapter import DECISIONS, KINDS
from gitworker.bus.limits.rules_secrets import redacted

ALLOW, ASK, DENY = DECISIONS
CHANGING = frozenset({"edit", "delete", "move"})
PATH_KEYS = ("file_path", "filePath", "path", "abs_path")
YES = frozenset({"y", "yes", "ok", "allow", "allowed", "sure"})
TITLE_MAX = 300


class Option(NamedTuple):
    """One answer that the agent offers; its kind is allow_once, allow_always or reject_…."""

    id: str
    kind: str


def parse_policy(entries: Iterable[str]) -> dict[str, str]:
    """Return the decisions of KIND=DECISION, by the kind of tool."""
    return dict(entry.split("=", 1) for entry in entries)


def decide(kind: str | None, paths_inside: Sequence[bool], policy: Mapping[str, str]) -> str:
    """Return the decision about a tool call.

    Without a policy for its kind it is allowed, except a change of a file outside the worktree:
    `paths_inside` is whether each known path is inside.
    """
    name = kind if kind in KINDS else "other"
    if name in policy:
        return policy[name]
    return DENY if name in CHANGING and not all(paths_inside) else ALLOW


def choose(options: Sequence[Option], *, allowed: bool) -> str | None:
    """Return the id of the option for a decision, for this call alone if possible; else None."""
    start = "allow" if allowed else "reject"
    kinds = (f"{start}_once", f"{start}_always")
    return next((one.id for kind in kinds for one in options if one.kind == kind), None)


def known_paths(call: Mapping[str, Any]) -> list[str]:
    """Return the paths that a tool call names: its locations, its differences, its arguments."""
    places = [*_tables(call.get("locations")), *_tables(call.get("content"))]
    given = call.get("rawInput")
    found = [place.get("path") for place in places]
    found += [given.get(key) for key in PATH_KEYS] if isinstance(given, dict) else []
    return [path for path in found if isinstance(path, str) and path]


def title_of(call: Mapping[str, Any]) -> str:
    """Return a tool call in a few words, without secrets: its title, or its command."""
    given = call.get("rawInput")
    command = given.get("command") if isinstance(given, dict) else None
    words = str(call.get("title") or command or call.get("kind") or "a tool")
    text = redacted(" ".join(words.split()))
    return text if len(text) <= TITLE_MAX else text[: TITLE_MAX - 1] + "…"


def is_yes(answer: object) -> bool:
    """Return whether an answer to the question for a permission allows the call."""
    text = answer.get("text") if isinstance(answer, dict) else answer
    words = str(text or "").lower().replace(",", " ").replace(".", " ").split()
    return bool(words) and words[0] in YES


def _tables(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
