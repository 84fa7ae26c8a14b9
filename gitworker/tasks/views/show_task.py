"""task show: everything about one task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.model.task_spec import Need, TaskSpec
from gitworker.model.tokens.prices import Cost, json_cost, parse_prices, sum_of
from gitworker.observe.text import age_text, field_lines
from gitworker.states.task_machine import status_label
from gitworker.store.records.run_results import RunResult, runs_of_task
from gitworker.store.records.task_needs import dependents_of, needs_of
from gitworker.store.records.task_specs import find_task_spec
from gitworker.store.scheduling.projects import DEFAULT
from gitworker.store.workers import find_worker_of_task
from gitworker.tasks.queue.add_task import require_task
from gitworker.tasks.queue.rules_needs import need_text
from gitworker.tasks.rules_task_list import json_blocked_by
from gitworker.tasks.views.task_facts import TaskWhy, why_of

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.tasks import StoredTask


class ShownTask(NamedTuple):
    """A task: its fields, its row, its worker, its needs and dependents, why it is not running.

    `runs` are those of its agents, oldest first, `costs` their costs.
    """

    spec: TaskSpec
    stored: StoredTask
    worker: str | None
    needs: tuple[Need, ...]
    dependents: tuple[Need, ...]
    why: TaskWhy
    runs: tuple[RunResult, ...] = ()
    costs: tuple[Cost | None, ...] = ()


def read_task(session: Session, task: str) -> ShownTask:
    """Read everything about one task; raise NotFound for an unknown one."""
    prices = parse_prices(session.settings.agents_prices)
    with session.store.read() as reader:
        stored = require_task(reader, task)
        spec = find_task_spec(reader, task)
        worker = find_worker_of_task(reader, task)
        assert spec is not None, task
        runs = tuple(runs_of_task(reader, task))
        return ShownTask(
            spec, stored, worker.worker_id if worker else None, tuple(needs_of(reader, task)),
            tuple(dependents_of(reader, task)), why_of(session, reader, task),
            runs, tuple(one.cost(prices) for one in runs),
        )  # fmt: skip


def render_task(found: ShownTask, *, width: int | None, color: bool) -> str:
    """Return one line for each field that has a value, then the text."""
    spec, stored = found.spec, found.stored
    next_command = f": {found.why.next_command}" if found.why.next_command else ""
    lines = [
        ("task", f"{spec.id}  {spec.title}".rstrip()),
        ("status", f"{status_label(stored.status)}{' (held)' if spec.held else ''}"),
        ("why", f"{found.why.reason}{next_command}"),
        ("worker", found.worker or ""),
        ("needs", ", ".join(map(need_text, found.needs))),
        ("needed by", ", ".join(one.task for one in found.dependents)),
        ("project", "" if spec.project_id == DEFAULT else spec.project_id),
        ("priority", str(spec.priority)),
        ("verify", f"{spec.verification_type.value}{_approval(spec)}"),
        ("retries", f"{stored.retry_count} of {stored.max_retries}"),
        ("agent", spec.agent or ""),
        ("capability", ", ".join(spec.capabilities)),
        ("timeout", f"{spec.timeout_s} s" if spec.timeout_s else ""),
        ("tokens", _tokens(spec.budget_tokens, stored.tokens_used, sum_of(found.costs))),
        ("plan", spec.plan_source or ""),
        *(("run", _run(*one)) for one in zip(found.runs, found.costs, strict=True)),
        ("parent", spec.parent_task_id or ""),
        *(("test", one) for one in spec.test_commands),
        *(("accept", one) for one in spec.acceptance_criteria),
        *(("context", one) for one in spec.attached_context),
        *(("path", one) for one in spec.paths),
        ("created", clock.iso_utc(stored.created_at_ms)),
    ]
    shown = field_lines(lines)
    text = spec.text.rstrip("\n")
    return "\n".join([*shown, "", text] if text else shown)


def json_task(found: ShownTask) -> dict[str, Any]:
    """Return the task as JSON data."""
    spec, stored = found.spec, found.stored
    return {
        "task": spec.id, "title": spec.title, "text": spec.text, "status": stored.status.value,
        "held": spec.held, "worker": found.worker, "branch": stored.branch_name,
        "needs": [need_text(need) for need in found.needs],
        "needed_by": [need.task for need in found.dependents],
        "blocked_by": json_blocked_by(found.why.blocked_by),
        "reason": found.why.reason, "next": found.why.next_command, "error": stored.last_error,
        "priority": spec.priority, "verify": spec.verification_type.value,
        "requires_approval": spec.requires_approval, "retry_count": stored.retry_count,
        "max_retries": stored.max_retries, "critical": spec.critical, "agent": spec.agent,
        "timeout_s": spec.timeout_s, "test": list(spec.test_commands),
        "accept": list(spec.acceptance_criteria), "context": list(spec.attached_context),
        "path": list(spec.paths), "parent": spec.parent_task_id, "plan": spec.plan_source,
        "is_plan_subtask": spec.is_plan_subtask, "workstream": spec.workstream_id,
        "project": spec.project_id, "capabilities": list(spec.capabilities),
        "runs": [_json_run(*one) for one in zip(found.runs, found.costs, strict=True)],
        "budget": spec.budget_tokens, "tokens_used": stored.tokens_used,
        **json_cost(sum_of(found.costs)), "pr_url": stored.pr_url,
        "resume_after": _stamp(stored.resume_after_ms), "created": _stamp(stored.created_at_ms),
        "started": _stamp(stored.started_at_ms), "completed": _stamp(stored.completed_at_ms),
    }  # fmt: skip


def _tokens(budget: int | None, used: int, cost: Cost | None) -> str:
    of_budget = f" of {budget:,}" if budget else ""
    price = f", {cost.text}" if cost else ""
    return f"{used:,}{of_budget}{price}" if used or budget else ""


def _approval(spec: TaskSpec) -> str:
    return ", and a person approves" if spec.requires_approval else ""


def _run(one: RunResult, cost: Cost | None) -> str:
    """Return a run in one line: its start, its agent, its outcome, its time, tokens and cost."""
    ended = clock.now_ms() if one.ended_at_ms is None else one.ended_at_ms
    tokens = (one.input_tokens or 0) + (one.output_tokens or 0)
    outcome = "at work" if one.ended_at_ms is None else (one.outcome or "ended").replace("_", " ")
    parts = [
        f"{clock.iso_utc(one.started_at_ms)}  {one.agent or one.command}", outcome,
        age_text(ended - one.started_at_ms), f"{tokens:,} tokens" if tokens else "",
        cost.text if cost else "", one.reason or "",
    ]  # fmt: skip
    return ", ".join(part for part in parts if part)


def _stamp(ts_ms: int | None) -> str | None:
    return None if ts_ms is None else clock.iso_utc(ts_ms)


def _json_run(one: RunResult, cost: Cost | None) -> dict[str, Any]:
    times = {"started": _stamp(one.started_at_ms), "ended": _stamp(one.ended_at_ms)}
    kept = (
        "agent", "command", "outcome", "exit_status", "reason", "failure", "session",
        "model", "input_tokens", "output_tokens", "cached_tokens",
    )  # fmt: skip
    return times | {name: getattr(one, name) for name in kept} | json_cost(cost)
