"""Automations and their runs, as stored."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.store.api import Reader, Row, Writer

RUNNING, COMPLETED, FAILED, SKIPPED = "running", "completed", "failed", "skipped"


class Automation(NamedTuple):
    """One automation; `trigger`, `context_steps`, `llm_config` and `action` are decoded JSON.

    `version` rises with each firing. The positions are those of the last message and the last
    transition that were considered.
    """

    id: str
    project_id: str
    title: str
    enabled: bool
    trigger: dict[str, Any]
    context_steps: tuple[str, ...]
    prompt_template: str
    llm_config: dict[str, Any] | None
    action: dict[str, Any]
    cooldown_seconds: int
    max_tokens_per_run: int | None
    created_at_ms: int
    updated_at_ms: int
    version: int
    next_at_ms: int | None
    last_run_at_ms: int | None
    message_seq: int
    transition_seq: int


class AutomationRun(NamedTuple):
    """One firing; the results are JSON texts, as the commands printed them."""

    id: str
    automation_id: str
    project_id: str
    trigger_reason: str
    status: str
    event_data: str | None
    context_results: str | None
    prompt_sent: str | None
    llm_response: str | None
    actions_taken: str | None
    skipped_reason: str | None
    tokens_used: int
    started_at_ms: int
    completed_at_ms: int | None
    runner_pid: int | None
    runner_start: str | None
    boot_id: str | None

    @property
    def has_succeeded(self) -> bool:
        """Return whether the run was carried out without a failure."""
        return self.status == COMPLETED


class Claim(NamedTuple):
    """The advance of an automation's schedule, and the run that it pays for."""

    run: str
    reason: str
    status: str
    next_at_ms: int | None
    message_seq: int
    transition_seq: int
    event_data: str | None = None
    skipped_reason: str | None = None


class RunEnd(NamedTuple):
    """The outcome of a run."""

    status: str
    context_results: str | None = None
    prompt_sent: str | None = None
    llm_response: str | None = None
    actions_taken: str | None = None
    skipped_reason: str | None = None
    tokens_used: int = 0


class Found(NamedTuple):
    """A message or a task's step that may fire an automation; `data` becomes `{{event}}`."""

    seq: int
    name: str
    data: dict[str, Any]


def insert_automation(writer: Writer, wanted: Automation) -> None:
    """Insert an automation."""
    values = wanted._asdict()
    for name in ("project_id", "updated_at_ms", "version", "last_run_at_ms"):
        del values[name]
    values["now"] = values.pop("created_at_ms")
    values["enabled"] = int(wanted.enabled)
    for name in ("trigger", "context_steps", "llm_config", "action"):
        values[name] = None if values[name] is None else json.dumps(values[name])
    writer.run("automations.insert", **values)


def find_automation(reader: Reader, name: str) -> Automation | None:
    """Return an automation, or None."""
    row = reader.row("automations.by_id", id=name)
    return None if row is None else _automation(row)


def all_automations(reader: Reader) -> list[Automation]:
    """Return every automation by id."""
    return [_automation(row) for row in reader.rows("automations.all")]


def enabled_automations(reader: Reader) -> list[Automation]:
    """Return the automations that may fire."""
    return [_automation(row) for row in reader.rows("automations.enabled")]


def next_firing_ms(reader: Reader) -> int | None:
    """Return the time of the next firing by time; None without one."""
    row = reader.row("automations.due")
    return None if row is None or row["at_ms"] is None else int(row["at_ms"])


def claim_firing(writer: Writer, automation: Automation, claim: Claim, *, now: int) -> bool:
    """Advance the schedule and insert the run; return False if another process was faster.

    Both are in the caller's transaction: without the run the schedule stays.
    """
    is_skip = claim.status == SKIPPED
    changed = writer.run(
        "automations.claim", id=automation.id, version=automation.version,
        next_at_ms=claim.next_at_ms, last_run_at_ms=None if is_skip else now,
        message_seq=claim.message_seq, transition_seq=claim.transition_seq,
    )  # fmt: skip
    if not changed:
        return False
    writer.run(
        "automations.insert_run", id=claim.run, automation_id=automation.id,
        project_id=automation.project_id, trigger_reason=claim.reason, status=claim.status,
        event_data=claim.event_data, skipped_reason=claim.skipped_reason, now=now,
        completed_at_ms=now if is_skip else None,
    )  # fmt: skip
    return True


def move_positions(writer: Writer, automation: Automation, seqs: tuple[int, int]) -> None:
    """Let the next search for events begin later; nothing has happened for this automation."""
    writer.run(
        "automations.move", id=automation.id, version=automation.version,
        message_seq=seqs[0], transition_seq=seqs[1],
    )  # fmt: skip


def set_automation_enabled(
    writer: Writer, name: str, *, enabled: bool, next_at_ms: int | None, now: int
) -> None:
    """Let an automation fire from now on, or never; earlier events do not count."""
    messages, transitions = positions(writer)
    writer.run(
        "automations.set_enabled", id=name, enabled=int(enabled), next_at_ms=next_at_ms, now=now,
        message_seq=messages, transition_seq=transitions,
    )  # fmt: skip


def remove_automation(writer: Writer, name: str) -> None:
    """Delete an automation; its runs stay."""
    writer.run("automations.remove", id=name)


def take_run(writer: Writer, run: str, *, pid: int, start: str | None, boot_id: str) -> bool:
    """Become the process that carries a run out; return False if another one is."""
    changed = writer.run("automations.take_run", id=run, pid=pid, start=start, boot_id=boot_id)
    return changed > 0


def end_run(writer: Writer, run: str, end: RunEnd, *, now: int) -> None:
    """Record the outcome of a run that has not ended."""
    writer.run("automations.end_run", id=run, now=now, **end._asdict())


def find_automation_run(reader: Reader, run: str) -> AutomationRun | None:
    """Return a run, or None."""
    row = reader.row("automations.run_by_id", id=run)
    return None if row is None else AutomationRun(**row)


def runs_of(reader: Reader, name: str, limit: int) -> list[AutomationRun]:
    """Return the newest runs of an automation, newest first."""
    rows = reader.rows("automations.history", id=name, limit=limit)
    return [AutomationRun(**row) for row in rows]


def open_automation_runs(reader: Reader) -> list[AutomationRun]:
    """Return the runs that have not ended."""
    return [AutomationRun(**row) for row in reader.rows("automations.running")]


def positions(reader: Reader) -> tuple[int, int]:
    """Return the positions of the newest message and the newest transition."""
    row = reader.row("automations.positions")
    assert row is not None
    return int(row["message_seq"]), int(row["transition_seq"])


def messages_of(reader: Reader, types: Sequence[str], *, after: int, limit: int) -> list[Found]:
    """Return the messages of some types after a position, oldest first."""
    rows = reader.rows("automations.messages", after=after, types=json.dumps(types), limit=limit)
    return [Found(row["seq"], row["type"], _event(row)) for row in rows]


def status_steps(reader: Reader, statuses: Sequence[str], *, after: int, limit: int) -> list[Found]:
    """Return the steps of tasks to some statuses after a position, oldest first."""
    rows = reader.rows(
        "automations.statuses", after=after, statuses=json.dumps(statuses), limit=limit
    )
    return [Found(row["seq"], f"task_{row['to_state'].lower()}", _event(row)) for row in rows]


def _event(row: Row) -> dict[str, Any]:
    """Return an event as JSON data; bytes of a foreign program are replaced."""
    return {
        name: value.decode(errors="replace") if isinstance(value, bytes) else value
        for name, value in row.items()
    }


def _automation(row: Row) -> Automation:
    values = dict(row)
    values["enabled"] = bool(values["enabled"])
    for name in ("trigger", "action"):
        values[name] = json.loads(values[name])
    values["context_steps"] = tuple(json.loads(values["context_steps"]))
    values["llm_config"] = json.loads(values["llm_config"]) if values["llm_config"] else None
    return Automation(**values)
