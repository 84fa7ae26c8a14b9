"""The meaning of a heartbeat's age (docs/design.md, "Liveness"). Pure: facts and `now` in."""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from gitworker.config import Settings
from gitworker.model.worker import WorkerEvent, WorkerState


class Liveness(StrEnum):
    """The word for an agent's silence."""

    OK = "OK"
    WARN = "WARN"
    STALE = "STALE"
    DEAD = "DEAD"
    UNKNOWN = "-"


class ClockReading(NamedTuple):
    """One reading of the clocks and of our origin (boot, host, PID namespace; see `origin`)."""

    now_ms: int
    mono_ms: int
    boot_id: str
    host: str
    pid_ns: str | None = None

    @property
    def origin(self) -> tuple[str, str, str | None]:
        """Return our host, boot and PID namespace, whose pids can be looked up here."""
        return (self.host, self.boot_id, self.pid_ns)


class Heartbeat(NamedTuple):
    """A stored heartbeat; `mono_ms` is None if a foreign program wrote it."""

    ts_ms: int
    mono_ms: int | None = None
    boot_id: str | None = None
    host: str | None = None


class WorkerFacts(NamedTuple):
    """The known facts of a worker: its state and since when, its last heartbeat, its process.

    `process_runs` is None if it is not known: another host, boot or PID namespace, no pid, no
    /proc. `waits_for_author`: its work was sent back, and nothing has worked on it since. In a
    fleet another machine may have recorded the state by its clock (`in_fleet`); a worker that
    `is_elsewhere` is judged by the arrival of its heartbeats alone.
    """

    state: WorkerState
    stale_from: WorkerState | None
    changed_at_ms: int
    heartbeat: Heartbeat | None
    process_runs: bool | None
    waits_for_author: bool = False
    in_fleet: bool = False
    is_elsewhere: bool = False


HAS_HEARTBEATS = frozenset({WorkerState.WORKING, WorkerState.IN_REVIEW})
JUMP_MS = 24 * 60 * 60 * 1000
TIMED = frozenset({WorkerState.WORKING, WorkerState.IN_REVIEW, WorkerState.STALE})


def has_heartbeats(state: WorkerState) -> bool:
    """Return whether the heartbeat daemon sends heartbeats for a worker in this state."""
    return state in HAS_HEARTBEATS


def is_expected_to_report(state: WorkerState) -> bool:
    """Return whether missing heartbeats of a worker in this state mean anything."""
    return state is WorkerState.WORKING


def is_lost_at_work(state: WorkerState, stale_from: WorkerState | None) -> bool:
    """Return whether a worker became stale while it was at work."""
    return state is WorkerState.STALE and stale_from is WorkerState.WORKING


def may_time_out(state: WorkerState) -> bool:
    """Return whether time alone can change a worker in this state."""
    return state in TIMED


def heartbeat_age_ms(heartbeat: Heartbeat, moment: ClockReading) -> int:
    """Return a heartbeat's age, by CLOCK_MONOTONIC in one boot of one host, else by wall clock."""
    same_clock = (
        heartbeat.mono_ms is not None
        and heartbeat.host == moment.host
        and bool(heartbeat.boot_id)
        and heartbeat.boot_id == moment.boot_id
    )
    if same_clock and heartbeat.mono_ms is not None:
        return max(0, moment.mono_ms - heartbeat.mono_ms)
    return max(0, moment.now_ms - heartbeat.ts_ms)


def has_jumped(heartbeats: Iterable[Heartbeat], moment: ClockReading) -> bool:
    """Return whether the wall clock has jumped by a day since the newest heartbeat of this boot.

    A machine that slept for a day counts too, until the next heartbeat.
    """
    ages = [
        (moment.mono_ms - heartbeat.mono_ms, moment.now_ms - heartbeat.ts_ms)
        for heartbeat in heartbeats
        if heartbeat.mono_ms is not None
        and heartbeat.host == moment.host
        and bool(heartbeat.boot_id)
        and heartbeat.boot_id == moment.boot_id
    ]
    if not ages:
        return False
    mono_ms, wall_ms = min(ages)
    return abs(wall_ms - mono_ms) >= JUMP_MS


def liveness_of(age_ms: int | None, settings: Settings) -> Liveness:
    """Return the word for a heartbeat's age; None means that the agent has no heartbeat."""
    if age_ms is None:
        return Liveness.UNKNOWN
    if age_ms >= settings.liveness_dead_s * 1000:
        return Liveness.DEAD
    if age_ms >= settings.liveness_stale_s * 1000:
        return Liveness.STALE
    if age_ms >= settings.liveness_warn_s * 1000:
        return Liveness.WARN
    return Liveness.OK


def is_quiet(
    state: WorkerState, heartbeat: Heartbeat | None, moment: ClockReading, settings: Settings
) -> bool:
    """Return whether a worker must be checked: it is not WORKING with a recent heartbeat."""
    if heartbeat is None or not is_expected_to_report(state):
        return True
    soonest_s = min(settings.liveness_warn_s, settings.liveness_stale_s, settings.liveness_dead_s)
    return heartbeat_age_ms(heartbeat, moment) >= soonest_s * 1000


def due_event(facts: WorkerFacts, moment: ClockReading, settings: Settings) -> WorkerEvent | None:
    """Return the event that is due for a worker, or None.

    A worker without a heartbeat is judged by its last change of state. Returned work without a
    living process waits for its author as long as it takes.
    """
    if facts.is_elsewhere and facts.heartbeat is None:
        return None
    if facts.is_elsewhere and facts.heartbeat is not None:
        age_ms = heartbeat_age_ms(facts.heartbeat, moment)
    elif facts.heartbeat is not None:
        age_ms = min(heartbeat_age_ms(facts.heartbeat, moment), _wall_age(facts, moment))
    else:
        age_ms = _wall_age(facts, moment)
    if facts.state is WorkerState.WORKING:
        return None if _waits_for_author(facts) else _due_at_work(facts, age_ms, settings)
    if facts.state is WorkerState.IN_REVIEW:
        late = _wall_age(facts, moment) >= settings.liveness_review_s * 1000
        return WorkerEvent.REVIEW_TIMEOUT if late else None
    if facts.state is WorkerState.STALE and facts.stale_from is WorkerState.WORKING:
        return _due_when_stale(facts, moment, settings)
    return None


def is_lost_before_start(machine_silent_ms: int, settings: Settings) -> bool:
    """Return whether a worker that has not started is lost with its machine, which is silent."""
    return machine_silent_ms >= settings.liveness_expire_s * 1000


def _due_at_work(facts: WorkerFacts, age_ms: int, settings: Settings) -> WorkerEvent | None:
    ended = facts.process_runs is False and age_ms >= settings.liveness_stale_s * 1000
    silent = age_ms >= settings.liveness_dead_s * 1000
    return WorkerEvent.HEARTBEAT_TIMEOUT if ended or silent else None


def _due_when_stale(
    facts: WorkerFacts, moment: ClockReading, settings: Settings
) -> WorkerEvent | None:
    if facts.heartbeat is None:
        silent_since_ms = facts.changed_at_ms - settings.liveness_dead_s * 1000
        late = moment.now_ms - silent_since_ms >= settings.liveness_expire_s * 1000
        return _expiry(facts) if late else None
    age_ms = heartbeat_age_ms(facts.heartbeat, moment)
    is_later = facts.in_fleet or facts.heartbeat.ts_ms >= facts.changed_at_ms
    if age_ms < settings.liveness_stale_s * 1000 and is_later:
        return WorkerEvent.RECOVER
    return _expiry(facts) if age_ms >= settings.liveness_expire_s * 1000 else None


def _expiry(facts: WorkerFacts) -> WorkerEvent | None:
    """Return the end of a stale worker: a living process that is silent is stopped."""
    if _waits_for_author(facts):
        return None
    return WorkerEvent.STOP if facts.process_runs else WorkerEvent.EXPIRE


def _waits_for_author(facts: WorkerFacts) -> bool:
    return facts.waits_for_author and not facts.process_runs


def _wall_age(facts: WorkerFacts, moment: ClockReading) -> int:
    return max(0, moment.now_ms - facts.changed_at_ms)


def sync_request(worker: str) -> str:
    """Return the command that asks the running agent of a worker to rebase its branch."""
    return f"git worker send {worker} 'Your branch conflicts: run git worker sync'"
