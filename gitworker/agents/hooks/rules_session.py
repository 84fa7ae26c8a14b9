"""Decisions of the agents' hooks: the heartbeat, and whether an agent is kept at work. Pure.

On the hot path.
"""

from __future__ import annotations

from gitworker.agents.hooks.rules_dialects import PROMPT, START, STOP, TOOL, WAITING

BEAT_EVERY_MS = 5000  # a heartbeat for every tool call would be a write for every tool call
REPEAT_AFTER_MS = 600_000  # a start that was refused, while the worker is unchanged
STOPS_MAX = 3  # how often in a row an agent is kept at work
IDLE, WORKING, BLOCKED = "idle", "working", "blocked"
ASSIGNED = "ASSIGNED"
AT_WORK = frozenset({ASSIGNED, "WORKING", "STALE"})  # the worker's states with open work
FORGOTTEN = "forgotten"  # in the place of a reason: the next prompt introduces the agent again
NOT_BEGUN = "The work has not begun: "
PROMPT_KEYS = (b'"prompt":"', b'"prompt": "')
# The beginnings of the reasons that keep an agent at work.
REASON_HEADS = (
    b"git worker: ", b"Your work was sent back: ", b"Not committed: ",
    b"The work cannot be handed in: ", NOT_BEGUN.encode(),
)  # fmt: skip
OPERATION = b"is open here."  # after "A rebase" and the like
MESSAGES, RETURNED, UNCOMMITTED = "messages", "returned", "uncommitted"


class Beat:
    """A heartbeat to send; a status of None keeps the last one."""

    __slots__ = ("status",)

    def __init__(self, status: str | None = None) -> None:
        self.status = status


def due_beat(
    meaning: str, *, state: str, status: str | None, set_status: str | None, age_ms: int | None
) -> Beat | None:
    """Return the heartbeat that an event calls for, or None.

    `status` and `age_ms` are those of the last heartbeat. A status that the agent has reported
    itself, as `blocked`, ends only with the next prompt; one that a hook has set (`set_status`)
    ends with the next sign of work.
    """
    if meaning == WAITING:
        return Beat(BLOCKED) if state in AT_WORK and status != BLOCKED else None
    if meaning == STOP:
        return Beat(IDLE) if state in AT_WORK and status == WORKING else None
    is_ours = status == set_status or meaning in (START, PROMPT)
    if status in (IDLE, BLOCKED) and is_ours:
        return Beat(WORKING)
    return Beat() if age_ms is None or not 0 <= age_ms < BEAT_EVERY_MS else None


def needs_start(state: str, *, is_supervised: bool, is_bound: bool) -> bool:
    """Return whether the start of a session records that the work begins, or its process.

    `is_bound`: the recorded process runs.
    """
    if state == "WORKING":
        return not is_supervised and not is_bound
    return state == ASSIGNED or (state == "STALE" and not is_supervised)


def waits_for_work(state: str, *, is_interrupted: bool) -> bool:
    """Return whether a sign of work begins the work, or takes it up again."""
    return state == ASSIGNED or is_interrupted


def is_repeated(version: int, *, tried: int, age_ms: int) -> bool:
    """Return whether work begins, if it was tried `age_ms` ago with the version `tried`.

    The worker has another version since, or ten minutes have passed. An age below zero: the clock
    was set back.
    """
    return version != tried or not 0 <= age_ms < REPEAT_AFTER_MS


def may_keep(reason: str, *, stops: int, last: str | None) -> bool:
    """Return whether an agent is kept at work for a reason.

    Not twice in a row for the same one, and at most three times between two prompts: an agent
    that cannot settle it must be able to end.
    """
    return stops < STOPS_MAX and reason != last


def is_sign_of_work(meaning: str) -> bool:
    """Return whether an event shows that the agent works."""
    return meaning in (PROMPT, TOOL)


def begins_turn(meaning: str, given: bytes = b"") -> bool:
    """Return whether an event begins a turn of the agent; `given` is the input of its hook.

    Qwen Code reports the reason that keeps it at work as a prompt: that continues the turn.
    """
    return meaning == START or (meaning == PROMPT and not _is_reason(given))


def _is_reason(given: bytes) -> bool:
    """Return whether the prompt in a hook's input is a reason of ours; parsing JSON costs 3 ms."""
    text = next((given.split(key, 1)[1] for key in PROMPT_KEYS if key in given), b"")
    words = text.split(b" ", 2)
    is_operation = words[0] == b"A" and words[-1].startswith(OPERATION)
    return is_operation or text.startswith(REASON_HEADS)
