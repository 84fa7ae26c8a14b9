"""Automations: what a valid one is, when it fires, and the prompt of a run. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.errors import Invalid
from gitworker.model.ids import parse_task_id
from gitworker.model.task import TaskStatus

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PERIODIC, CRON, EVENT = "periodic", "cron", "event"
COMMAND, TASK, AGENT = "command", "task", "agent"
EVENT_COOLDOWN_S = 3600  # by time the default is 0, since the period itself is a limit
PERIOD_MIN_S = 1
STEP_MS = 60_000  # a clock that is corrected by less was not set back
PROMPT_MAX = 90_000  # bytes: one variable of a process has 128 kB
OUTPUT_MAX = 65_536
PLACEHOLDER = re.compile(r"\{\{\s*(event|step_\d+)\s*\}\}")
EVENT_NAME = re.compile(r"[a-z][a-z0-9_.-]{0,63}")


class Draft(NamedTuple):
    """An automation as the user describes it: one trigger and one action."""

    name: str
    title: str = ""
    every_s: int | None = None
    cron: str | None = None
    events: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    prompt: str = ""
    command: str | None = None
    task: str | None = None
    agent: str | None = None
    cooldown_s: int | None = None
    max_tokens: int | None = None
    enabled: bool = True


def parse_name(text: str) -> str:
    """Return the name of an automation, which has the form of a task id."""
    try:
        return parse_task_id(text)
    except Invalid as error:
        message = error.message.replace("a task id", "the name of an automation")
        raise Invalid(message, "git worker automation add -h") from None


def trigger_of(draft: Draft) -> dict[str, Any]:
    """Return the trigger as JSON data; raise Invalid unless there is exactly one."""
    given = [draft.every_s is not None, draft.cron is not None, bool(draft.events)]
    if sum(given) != 1:
        raise _usage("an automation has one trigger: --every, --cron or --on")
    if draft.every_s is not None:
        if draft.every_s < PERIOD_MIN_S:
            raise _usage(f"--every is at least {PERIOD_MIN_S} second")
        return {"type": PERIODIC, "interval_seconds": draft.every_s}
    if draft.cron is not None:
        return {"type": CRON, "expression": draft.cron}
    for event in draft.events:
        if not (event in TaskStatus.__members__ or EVENT_NAME.fullmatch(event)):
            raise _usage(
                f"{ascii(event)[:60]} is neither a type of messages nor a status of tasks, such as"
                " COMPLETED"
            )
    return {"type": EVENT, "events": list(draft.events)}


def action_of(draft: Draft) -> dict[str, Any]:
    """Return the action as JSON data; raise Invalid unless there is exactly one."""
    given = {COMMAND: draft.command, TASK: draft.task, AGENT: draft.agent}
    chosen = [(kind, value) for kind, value in given.items() if value is not None]
    if len(chosen) != 1:
        raise _usage("an automation has one action: --command, --task or --agent")
    ((kind, value),) = chosen
    if kind == AGENT and not draft.prompt:
        raise _usage("an agent needs a prompt: --prompt")
    return {"type": kind, {COMMAND: "command", TASK: "title", AGENT: "agent"}[kind]: value}


def cooldown_of(draft: Draft) -> int:
    """Return the least time between two runs in seconds."""
    if draft.cooldown_s is not None:
        return draft.cooldown_s
    return EVENT_COOLDOWN_S if draft.events else 0


def require_placeholders(template: str, steps: Sequence[str]) -> None:
    """Raise Invalid if a prompt names the output of a step that does not exist."""
    for name in PLACEHOLDER.findall(template):
        if name != "event" and int(name.removeprefix("step_")) >= len(steps):
            raise _usage(f"the prompt names {{{{{name}}}}}, but there are {len(steps)} steps")


def split_events(events: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the types of messages, and the statuses of tasks."""
    statuses = [one for one in events if one in TaskStatus.__members__]
    return [one for one in events if one not in statuses], statuses


def next_period_ms(before_ms: int | None, interval_s: int, now: int) -> int:
    """Return the next time of a period; periods missed meanwhile, as during a sleep, are skipped.

    `before_ms` is the previous time, None at the beginning.
    """
    step = interval_s * 1000
    if before_ms is None or before_ms > now:
        return now + step
    return before_ms + ((now - before_ms) // step + 1) * step


def was_set_back(
    trigger: Mapping[str, Any], *, next_at_ms: int, last_run_at_ms: int | None, now: int
) -> bool:
    """Return whether the clock was set back since the next time was computed."""
    if trigger["type"] == PERIODIC:
        return next_at_ms - now > int(trigger["interval_seconds"]) * 1000 + STEP_MS
    return last_run_at_ms is not None and last_run_at_ms - now > STEP_MS


def skip_reason(
    *, last_run_at_ms: int | None, cooldown_s: int, is_running: bool, now: int
) -> str | None:
    """Return why a due automation does not run, or None."""
    if is_running:
        return "its last run has not ended"
    # A last run in the future was before the clock was set back.
    if last_run_at_ms is not None and 0 <= now - last_run_at_ms < cooldown_s * 1000:
        left_s = (cooldown_s * 1000 - (now - last_run_at_ms) + 999) // 1000
        return f"cooldown: {left_s} s left"
    return None


def render_prompt(template: str, values: Mapping[str, str]) -> str:
    """Return the prompt; a placeholder inside of a value stays as it is."""
    text = PLACEHOLDER.sub(lambda found: values.get(found[1], ""), template)
    return capped(text, PROMPT_MAX)


def capped(text: str, limit: int = OUTPUT_MAX) -> str:
    """Return text with at most `limit` bytes of UTF-8, and a note about the rest.

    It has no NUL characters, which no variable of a process can hold.
    """
    text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= limit:
        return text
    kept = encoded[:limit].decode("utf-8", "ignore")
    return f"{kept}\n[{len(text) - len(kept)} characters were left out]\n"


def over_budget(tokens: int, limit: int | None) -> str | None:
    """Return that a run has used more tokens than it may, or None."""
    if limit is None or tokens <= limit:
        return None
    return f"it has used {tokens} of at most {limit} tokens"


def _usage(message: str) -> Invalid:
    return Invalid(message, "git worker automation add -h", code="usage")


def trigger_text(trigger: Mapping[str, Any]) -> str:
    """Return a trigger in words."""
    if trigger["type"] == PERIODIC:
        return f"every {trigger['interval_seconds']} s"
    if trigger["type"] == CRON:
        return f"cron {trigger['expression']}"
    return f"on {', '.join(trigger['events'])}"
