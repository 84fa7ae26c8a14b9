"""Fire automations: claim each due one by compare-and-set, with its run in the same transaction.

Of two processes one wins. Without the insert of the run the schedule stays as it was.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

from gitworker import clock
from gitworker.automations.change import require_automation
from gitworker.automations.rules_automation import (
    EVENT,
    capped,
    skip_reason,
    split_events,
    was_set_back,
)
from gitworker.automations.schedule import next_time_ms
from gitworker.bus.message_ids import new_id
from gitworker.errors import GitWorkerError
from gitworker.liveness.life_lock import drop_life, find_life
from gitworker.processes.table import find_start
from gitworker.progress import Notice
from gitworker.store.planning.automations import (
    FAILED,
    RUNNING,
    SKIPPED,
    Automation,
    AutomationRun,
    Claim,
    Found,
    RunEnd,
    claim_firing,
    enabled_automations,
    end_run,
    messages_of,
    move_positions,
    next_firing_ms,
    open_automation_runs,
    positions,
    status_steps,
)

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.api import Reader

EVENTS_AT_ONCE = 50
UNTAKEN_MS = 120_000  # a run that no process has taken after this time never will be
UNKNOWN_MS = 86_400_000  # without its lock the process of a run is unknown for the longest run
FAR = 1000  # positions behind the end after which a search begins later


class Fired(NamedTuple):
    """A run that is claimed and not carried out yet."""

    automation: str
    run: str


def fire_due(session: Session) -> list[Fired]:
    """Claim the automations that are due now and end abandoned runs; return the runs to carry out.

    A missed period or cron time fires once. An automation that cannot be fired is reported.
    """
    now = clock.now_ms()
    with session.store.read() as reader:
        enabled = enabled_automations(reader)
        running = open_automation_runs(reader)
    _end_abandoned(session, running, now)
    busy = {run.automation_id for run in running}
    fired: list[Fired] = []
    for automation in enabled:
        try:
            run = _fire(session, automation, is_busy=automation.id in busy, now=now)
        except GitWorkerError as error:
            session.report(Notice(f"automation {automation.id} did not fire: {error.message}"))
            continue
        fired += [] if run is None else [Fired(automation.id, run)]
    return fired


def fire_now(session: Session, name: str) -> Fired:
    """Claim a run by hand; the trigger, the cooldown and `enabled` are ignored."""
    run = new_id()
    with session.store.write() as writer:
        automation = require_automation(writer, name)
        claim = Claim(
            run, "manual", RUNNING, automation.next_at_ms, automation.message_seq,
            automation.transition_seq,
        )  # fmt: skip
        claim_firing(writer, automation, claim, now=clock.now_ms())
    return Fired(automation.id, run)


def next_wake_ms(session: Session) -> int | None:
    """Return the time of the next firing by time; None without one."""
    with session.store.read() as reader:
        return next_firing_ms(reader)


def _fire(session: Session, automation: Automation, *, is_busy: bool, now: int) -> str | None:
    """Claim one automation if it is due; return its run, or None without one to carry out."""
    kind = automation.trigger["type"]
    events: list[Found] = []
    skipped = None
    seqs = (automation.message_seq, automation.transition_seq)
    if kind == EVENT and is_busy:
        return None  # its events wait for the end of the run
    if kind == EVENT:
        with session.store.read() as reader:
            events, seqs = _events(reader, automation)
        if not events and seqs == (automation.message_seq, automation.transition_seq):
            return None
    elif automation.next_at_ms is None:
        return None
    elif automation.next_at_ms > now:
        if not _is_too_late(automation, automation.next_at_ms, now):
            return None
        skipped = "the clock was set back"
    skipped = skipped or skip_reason(
        last_run_at_ms=automation.last_run_at_ms, cooldown_s=automation.cooldown_seconds,
        is_running=is_busy, now=now,
    )  # fmt: skip
    claim = Claim(
        new_id(),
        f"event:{events[0].name}" if events else kind,
        RUNNING if skipped is None else SKIPPED,
        next_time_ms(automation.trigger, before_ms=automation.next_at_ms, now=now),
        *seqs,
        event_data=_event_text(events),
        skipped_reason=skipped,
    )
    with session.store.write() as writer:
        if kind == EVENT and not events:
            move_positions(writer, automation, seqs)
            return None
        is_claimed = claim_firing(writer, automation, claim, now=now)
    return claim.run if is_claimed and skipped is None else None


def _is_too_late(automation: Automation, next_at_ms: int, now: int) -> bool:
    """Return whether the next time is that of a clock that has been set back since."""
    last = automation.last_run_at_ms
    return (
        was_set_back(automation.trigger, next_at_ms=next_at_ms, last_run_at_ms=last, now=now)
        and (next_time_ms(automation.trigger, before_ms=next_at_ms, now=now) or now) < next_at_ms
    )


def _events(reader: Reader, automation: Automation) -> tuple[list[Found], tuple[int, int]]:
    """Return the new events of an automation, and the positions after them."""
    types, statuses = split_events(automation.trigger["events"])
    ends = positions(reader)
    messages = messages_of(
        reader, types, after=automation.message_seq, limit=EVENTS_AT_ONCE
    ) if types else []  # fmt: skip
    steps = status_steps(
        reader, statuses, after=automation.transition_seq, limit=EVENTS_AT_ONCE
    ) if statuses else []  # fmt: skip
    after = (
        _position(automation.message_seq, messages, ends[0]),
        _position(automation.transition_seq, steps, ends[1]),
    )
    return [*messages, *steps], after


def _position(before: int, found: list[Found], end: int) -> int:
    if found:
        return found[-1].seq
    return end if end - before > FAR else before


def _event_text(events: list[Found]) -> str | None:
    """Return one event as JSON, or several as an array: they fire an automation once."""
    if not events:
        return None
    data = [one.data for one in events]
    return capped(json.dumps(data[0] if len(data) == 1 else data, ensure_ascii=False))


def _end_abandoned(session: Session, running: list[AutomationRun], now: int) -> None:
    """Record the end of runs whose process was killed."""
    lost = [run for run in running if _is_lost(session, run, now)]
    if lost:
        with session.store.write() as writer:
            for run in lost:
                end_run(
                    writer, run.id, RunEnd(FAILED, skipped_reason="its process was killed"), now=now
                )
    for run in lost:
        drop_life(session.paths, life_of(run.id))


def _is_lost(session: Session, run: AutomationRun, now: int) -> bool:
    """Return whether a run has no process: its lock decides, which every namespace can see."""
    age_ms = now - run.started_at_ms
    if run.runner_pid is None:
        return age_ms > UNTAKEN_MS
    lives = find_life(session.paths, life_of(run.id))
    return age_ms > UNKNOWN_MS if lives is None else not lives


def life_of(run: str) -> str:
    """Return the name of the lock that the process of a run holds; no worker has such a name."""
    return f"automation.{run}"


def this_process() -> tuple[int, str | None, str]:
    """Return our pid with its start and the boot id, by which an abandoned run is recognised."""
    pid = os.getpid()
    return pid, find_start(pid), clock.boot_id()
