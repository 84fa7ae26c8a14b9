"""Read the facts of one tick: the workers of the run's agent, and the tasks that can start."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from gitworker import clock
from gitworker.agents.rounds.rules_rounds import FIRST_PAUSE_S, pause_s
from gitworker.lifecycle.rules import is_paused, needs_no_heartbeat
from gitworker.liveness.process_origin import is_local, origin_of
from gitworker.liveness.supervised_agent import living_agent
from gitworker.model.ids import ORCHESTRATOR
from gitworker.model.run_outcome import BUDGET
from gitworker.model.worker import AUTOMATIC_RETURNS
from gitworker.orchestrator.rules_next import (
    Action,
    Facts,
    SlotFacts,
    goes_on,
    is_free,
    is_handed_in,
    is_ready,
    slot_owner,
)
from gitworker.orchestrator.turns.crew import crew_of
from gitworker.orchestrator.turns.read_queue import Queue, read_queue
from gitworker.orchestrator.turns.rules_quiet import after_quiet
from gitworker.processes.table import is_running
from gitworker.store.attention.questions import unanswered_questions
from gitworker.store.fleet.machines import landing_machines, place_in_fleet, silent_machines
from gitworker.store.operations import unfinished_operations
from gitworker.store.records.run_results import RunResult, count_runs, find_run_result
from gitworker.store.records.runs import Run, find_latest_run, is_ordered_to_end
from gitworker.store.records.task_specs import find_task_spec
from gitworker.store.scheduling.agents import all_registered
from gitworker.store.scheduling.starts import find_spent, tokens_left
from gitworker.store.tasks import StoredTask, find_task, next_retry_ms
from gitworker.store.workers import Worker, all_workers, find_worker, workers_assigned_by

if TYPE_CHECKING:
    from gitworker.orchestrator.turns.rules_crew import Obstacle
    from gitworker.paths import StatePaths
    from gitworker.session import Session
    from gitworker.store.api import Reader


class Slot(NamedTuple):
    """A worker of the run's agent with its task, its last run, and the facts for the rules."""

    worker: Worker
    task: StoredTask | None
    run: Run | None
    facts: SlotFacts
    test_commands: tuple[str, ...] = ()
    waits_for_limit: bool = False

    def verified(self, verdicts: Mapping[str, tuple[int, bool]]) -> Slot:
        """Return the slot with the verdict of another agent on its present work, if it has one."""
        version, verdict = verdicts.get(self.worker.worker_id, (None, None))
        known = verdict if version == self.worker.version else None
        return self._replace(facts=self.facts._replace(is_verified=known))


class Picture(NamedTuple):
    """The slots by worker, the facts for the rules, the queue, and why no agent takes a task."""

    slots: dict[str, Slot]
    facts: Facts
    queue: Queue
    obstacles: Mapping[str, Obstacle] = MappingProxyType({})

    def refusing(self, worker: str) -> Picture:
        """Return the picture with a worker whose landing was refused."""
        slot = self.slots[worker]
        refused = slot._replace(facts=slot.facts._replace(is_refused=True))
        slots = {**self.slots, worker: refused}
        facts = self.facts._replace(slots=tuple(one.facts for one in slots.values()))
        return self._replace(slots=slots, facts=facts)

    @property
    def watched(self) -> list[int]:
        """Return the processes whose end may be the end of an agent."""
        found = []
        for slot in self.slots.values():
            run = slot.run
            if slot.facts.lives and run is not None and is_local(origin_of(run)):
                supervised = is_running(run.supervisor_pid, run.supervisor_start)
                pid = run.supervisor_pid if supervised else run.pid
                found += [] if pid is None else [pid]
        return found


def read_picture(
    session: Session,
    agent: str | None,
    *,
    agents: int | None,
    skipped: Mapping[str, str],
    refused: Mapping[str, int],
    tested: Mapping[str, int],
    verified: Mapping[str, tuple[int, bool]] | None = None,
    resumes: bool = True,
    accounts: bool = True,
) -> Picture:
    """Read the slots of an agent, of which `agents` may run, and the tasks that can start.

    If `agent` is None, all registered agents take part. Without `resumes` no agent continues by
    itself after a limit; without `accounts` the agent time is not recorded. `refused` maps workers
    whose landing was refused to the version of their row, `tested` those whose tests have passed,
    and `verified` those with a verdict of another agent (False: none that counts).
    """
    with session.store.read() as reader:
        ours = workers_assigned_by(reader, ORCHESTRATOR)
        workers = all_workers(reader)
        names = [one.name for one in all_registered(reader)] if agent is None else [agent]
        setups = {one.worker_id for one in unfinished_operations(reader) if one.kind == "setup"}
        slots = {
            str(one.worker_id): _resuming(
                session,
                _slot(reader, session.paths, one, refused, tested, setups=setups),
                resumes=resumes,
            ).verified(verified or {})
            for one in workers
            if one.elsewhere is None  # the run of its machine looks after it
            and one.worker_id in ours
            and slot_owner(one.worker_id, names) is not None
        }
        retry_ms = next_retry_ms(reader)
        first, machines = place_in_fleet(reader, session.store.fleet_machine)
        others = [one for one in workers if one.elsewhere is not None and one.worker_id in ours]
        handed_in = [
            _slot(reader, session.paths, one, refused, tested, setups=setups)
            for one in others
            if is_handed_in(one.state, one.stale_from)
        ]
        lost, theirs = _of_others(reader, handed_in)
        slots |= lost
    queue = read_queue(
        session, agent, slots=slots, skipped=skipped, agents=agents, accounts=accounts
    )
    facts = Facts(
        tuple(slot.facts for slot in slots.values()),
        ready=queue.ready,
        taken=frozenset(one.worker_id for one in workers if not is_free(one.state)),
        skipped=frozenset(skipped),
        next_retry_ms=retry_ms,
        is_kept=queue.is_kept,
        first=first,
        machines=machines,
        others_work=any(_goes_on(reader, one) for one in others),
        theirs=theirs,
    )
    if agent is not None:
        return Picture(slots, facts, queue)
    crew = crew_of(queue.crew, queue.kinds, queue.places.here)
    facts = facts._replace(crew=queue.crew, takers=crew.takers)
    return Picture(slots, facts, queue, crew.obstacles)


def _goes_on(reader: Reader, worker: Worker) -> bool:
    """Return whether the work of another machine's worker goes on without a person."""
    task = find_task(reader, worker.task_id) if worker.task_id else None
    is_held = task is not None and needs_no_heartbeat(task.status) and task.resume_after_ms is None
    was_rejected = worker.waits_for_author and worker.returned_by not in AUTOMATIC_RETURNS
    return goes_on(worker.state, worker.stale_from, waits_for_person=is_held or was_rejected)


def _of_others(
    reader: Reader, handed_in: list[Slot]
) -> tuple[dict[str, Slot], tuple[SlotFacts, ...]]:
    """Return the workers of silent machines, and those whose machine has a run that lands them."""
    if not handed_in:
        return {}, ()
    silent, landing = silent_machines(reader), landing_machines(reader)
    lost = {str(one.worker.worker_id): one for one in handed_in if one.worker.elsewhere in silent}
    return lost, tuple(one.facts for one in handed_in if one.worker.elsewhere in landing)


def was_overtaken(session: Session, action: Action) -> bool:
    """Return whether another command has taken the task or the worker of a start that failed.

    It is a run of another machine of the fleet, or a person.
    """
    if not action.is_new:
        return False
    with session.store.read() as reader:
        worker, task = find_worker(reader, action.worker), find_task(reader, action.task)
    if worker is not None and not is_free(worker.state):
        return worker.task_id != action.task or worker.elsewhere is not None
    return task is not None and not is_ready(task.status)


def _resuming(session: Session, slot: Slot, *, resumes: bool) -> Slot:
    """Return a slot whose limit ends after the quiet hours, or, without `resumes`, never.

    This does not hold for a budget, which only a person changes, and not for questions.
    """
    end_ms = slot.facts.wait_until_ms
    if end_ms is None or not slot.waits_for_limit:
        return slot
    hours, text = session.settings.orchestrator_quiet_hours, clock.local_seconds(end_ms)
    minute = int(text[11:13]) * 60 + int(text[14:16])
    end = after_quiet(end_ms, hours, minute=minute) if resumes else None
    return slot._replace(facts=slot.facts._replace(wait_until_ms=end))


def _slot(
    reader: Reader,
    paths: StatePaths,
    worker: Worker,
    *versions: Mapping[str, int],
    setups: Collection[str],
) -> Slot:
    refused, tested = versions
    task = None if worker.task_id is None else find_task(reader, worker.task_id)
    run = find_latest_run(reader, worker.worker_id)
    result = find_run_result(reader, worker.worker_id, worker.task_id)
    spec = None if task is None else find_task_spec(reader, task.id)
    commands = () if spec is None else spec.test_commands
    tally = count_runs(reader, worker.worker_id, worker.task_id)
    limit_ms = _limit_end(result, tally.limits)
    facts = SlotFacts(
        worker.worker_id, worker.state, worker.task_id,
        task_status=None if task is None else task.status,
        stale_from=worker.stale_from,
        requires_approval=task is not None and task.requires_approval,
        verification=None if spec is None else spec.verification_type,
        lives=run is not None and _lives(reader, paths, run),
        is_setting_up=worker.worker_id in setups,
        has_run=result is not None,
        outcome=None if result is None else result.outcome,
        waits_for_author=worker.waits_for_author,
        returned_by=worker.returned_by,
        rounds=tally.rounds,
        wait_until_ms=limit_ms or _pause_end(reader, task, result),
        is_refused=refused.get(worker.worker_id) == worker.version,
        has_worktree=worker.worktree is not None,
        has_tests=bool(commands) and tested.get(worker.worker_id) != worker.version,
        is_held=task is not None and task.held,
        has_tokens=task is None or find_spent(reader, task.id) is None,
        is_elsewhere=worker.elsewhere is not None,
    )  # fmt: skip
    return Slot(worker, task, run, facts, commands, waits_for_limit=limit_ms is not None)


def _lives(reader: Reader, paths: StatePaths, run: Run) -> bool:
    """Return whether the agent of a run is alive, or another process still records its end.

    That is its supervisor, or without one the heartbeat daemon if the agent was ordered to end.
    """
    if run.ended_at_ms is not None:
        return False
    if living_agent(reader, paths, run) is not None:
        return True
    if not is_local(origin_of(run)):
        return False
    has_supervisor = is_running(run.supervisor_pid, run.supervisor_start) is True
    return has_supervisor or is_ordered_to_end(reader, run)


def _limit_end(result: RunResult | None, limits: int) -> int | None:
    """Return the time at which the limit that ended a run is over; None if no limit did."""
    if result is None or result.ended_at_ms is None or result.failure not in FIRST_PAUSE_S:
        return None
    ended = result.ended_at_ms
    wait_s = pause_s(result.failure, result.resets_at_ms, tries=max(limits, 1), now=ended)
    return ended + int(wait_s * 1000)


def _pause_end(reader: Reader, task: StoredTask | None, result: RunResult | None) -> int | None:
    """Return the time at which a task waits no longer, for an answer or tokens; None without one.

    An agent that has stopped itself at its own limit would only reach it again: a person resumes
    such a task, unless it has a budget, which bounds that.
    """
    if task is None or not needs_no_heartbeat(task.status):
        return None
    if is_paused(task.status):
        is_own = result is not None and result.failure == BUDGET
        return None if is_own and tokens_left(reader, task.id) is None else task.resume_after_ms
    ends = [
        one.asked_at_ms + one.timeout_ms
        for one in unanswered_questions(reader, task.id)
        if one.timeout_ms is not None
    ]
    return min(ends, default=None)
