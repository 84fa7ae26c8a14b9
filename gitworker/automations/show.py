"""automation list, show and history."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.automations.change import require_automation
from gitworker.automations.rules_automation import trigger_text
from gitworker.observe.text import NOTHING, field_lines, listing, one_line
from gitworker.store.planning.automations import (
    Automation,
    AutomationRun,
    all_automations,
    runs_of,
)

if TYPE_CHECKING:
    from gitworker.session import Session

HEAD = ("AUTOMATION", "ENABLED", "TRIGGER", "ACTION", "NEXT", "LAST")
RUN_HEAD = ("STARTED", "REASON", "STATUS", "TOKENS", "DETAIL")


class AutomationList(NamedTuple):
    """All automations by name."""

    automations: tuple[Automation, ...]


class AutomationHistory(NamedTuple):
    """The newest runs of an automation, newest first; a removed one has only runs."""

    name: str
    runs: tuple[AutomationRun, ...]


def read_list(session: Session) -> AutomationList:
    """Read all automations."""
    with session.store.read() as reader:
        return AutomationList(tuple(all_automations(reader)))


def read_one(session: Session, name: str) -> Automation:
    """Read one automation; raise NotFound for an unknown one."""
    with session.store.read() as reader:
        return require_automation(reader, name)


def read_history(session: Session, name: str, limit: int) -> AutomationHistory:
    """Read the newest runs; raise NotFound for an unknown name without runs."""
    with session.store.read() as reader:
        runs = runs_of(reader, name, limit)
        if not runs:
            require_automation(reader, name)
    return AutomationHistory(name, tuple(runs))


def render_list(found: AutomationList, *, width: int | None, color: bool) -> str:
    """Return one row for each automation."""
    rows = [
        (
            one.id, "yes" if one.enabled else "no", trigger_text(one.trigger),
            _action_text(one), _time(one.next_at_ms if one.enabled else None),
            _time(one.last_run_at_ms),
        )
        for one in found.automations
    ]  # fmt: skip
    return listing(HEAD, rows, width=width, color=color, empty="there are no automations")


def json_list(found: AutomationList) -> dict[str, Any]:
    """Return the automations as JSON data."""
    return {"automations": [json_automation(one) for one in found.automations]}


def render_automation(one: Automation, *, width: int | None, color: bool) -> str:
    """Return one line for each field that has a value."""
    lines = [
        ("automation", f"{one.id}  {one.title}".rstrip()),
        ("enabled", "yes" if one.enabled else "no"),
        ("trigger", trigger_text(one.trigger)),
        *(("step", step) for step in one.context_steps),
        ("prompt", one.prompt_template),
        ("action", _action_text(one)),
        ("cooldown", f"{one.cooldown_seconds} s" if one.cooldown_seconds else ""),
        ("tokens", f"{one.max_tokens_per_run} a run" if one.max_tokens_per_run else ""),
        ("next", _time(one.next_at_ms) if one.enabled and one.next_at_ms else ""),
        ("last", _time(one.last_run_at_ms) if one.last_run_at_ms else ""),
    ]
    return "\n".join(field_lines(lines))


def json_automation(one: Automation) -> dict[str, Any]:
    """Return an automation as JSON data."""
    return {
        "automation": one.id, "project": one.project_id, "title": one.title,
        "enabled": one.enabled, "trigger": one.trigger, "context_steps": list(one.context_steps),
        "prompt_template": one.prompt_template, "llm_config": one.llm_config,
        "action": one.action, "cooldown_seconds": one.cooldown_seconds,
        "max_tokens_per_run": one.max_tokens_per_run, "created_at": _stamp(one.created_at_ms),
        "updated_at": _stamp(one.updated_at_ms), "next_at": _stamp(one.next_at_ms),
        "last_run_at": _stamp(one.last_run_at_ms),
    }  # fmt: skip


def render_history(found: AutomationHistory, *, width: int | None, color: bool) -> str:
    """Return one row for each run."""
    rows = [
        (
            _time(run.started_at_ms), run.trigger_reason, run.status, str(run.tokens_used),
            run.skipped_reason or _taken(run),
        )
        for run in found.runs
    ]  # fmt: skip
    return listing(RUN_HEAD, rows, width=width, color=color, empty="no run yet")


def json_history(found: AutomationHistory) -> dict[str, Any]:
    """Return the runs as JSON data."""
    return {"automation": found.name, "runs": [json_run(run) for run in found.runs]}


def render_run(run: AutomationRun, *, width: int | None, color: bool) -> str:
    """Return the outcome of a run in one line."""
    words = run.skipped_reason or _taken(run)
    return one_line(f"{run.automation_id} {run.status}{f': {words}' if words else ''}")


def json_run(run: AutomationRun) -> dict[str, Any]:
    """Return a run as JSON data."""
    return {
        "run": run.id, "automation": run.automation_id, "project": run.project_id,
        "trigger_reason": run.trigger_reason, "status": run.status,
        "event_data": _decoded(run.event_data), "context_results": _decoded(run.context_results),
        "prompt_sent": run.prompt_sent, "llm_response": run.llm_response,
        "actions_taken": _decoded(run.actions_taken), "skipped_reason": run.skipped_reason,
        "tokens_used": run.tokens_used, "started_at": _stamp(run.started_at_ms),
        "completed_at": _stamp(run.completed_at_ms),
    }  # fmt: skip


def _action_text(one: Automation) -> str:
    kind, value = one.action["type"], [*one.action.values()][1]
    return f"{kind} {value}".rstrip()


def _taken(run: AutomationRun) -> str:
    actions = _decoded(run.actions_taken)
    if not isinstance(actions, list) or not actions:
        return ""
    first = actions[0]
    return str(first.get("task") or first.get("output") or "").strip().rpartition("\n")[2]


def _decoded(text: str | None) -> Any:
    """Return JSON data, or the text itself if it was cut off."""
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        return text


def _time(ts_ms: int | None) -> str:
    return NOTHING if ts_ms is None else clock.local_seconds(ts_ms)


def _stamp(ts_ms: int | None) -> str | None:
    return None if ts_ms is None else clock.iso_utc(ts_ms)
