"""Read the READY tasks that may start, in the order in which projects take turns."""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from gitworker import clock
from gitworker.orchestrator.turns.kinds import Kinds
from gitworker.orchestrator.turns.rules_crew import (
    CrewAgent,
)
from gitworker.orchestrator.turns.rules_places import KindFacts, ProjectFacts, places_of
from gitworker.orchestrator.turns.rules_turns import ProjectQueue, account, take_turns
from gitworker.store.records.task_queue import (
    QueuedTask,
    ready_kinds_of,
    ready_tasks_of,
    ready_tasks_of_kind,
)
from gitworker.store.scheduling.starts import declared_paths, projects_in_turn, record_credit
from gitworker.tasks.admission.admit import living_starts
from gitworker.tasks.admission.overlap import Overlaps
from gitworker.tasks.agents.rules_places import Places

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from gitworker.session import Session
    from gitworker.store.api import Reader
    from gitworker.store.scheduling.starts import ProjectTurn

READY_AT_ONCE = 200  # more than the agents of a machine
OF_KIND_AT_ONCE = 20  # if the first tasks wait for busy agents; the next tick reads the next ones
KINDS_AT_ONCE = 1000
NO_PATHS = "[]"
ACCOUNT_EVERY_MS = 1000


class Queue(NamedTuple):
    """The READY tasks that may start, and the limits; `waiting` names the task that each waits for.

    `is_kept`: others are READY and wait for a place of their project or for a running task.
    `crew` are the registered agents, `places` the machines. `kinds` has the kind of each task that
    was read, also of those that wait for a busy agent. `elsewhere` says why others of the first
    tasks wait for another machine.
    """

    ready: tuple[str, ...]
    projects: tuple[ProjectFacts, ...]
    kind: KindFacts
    waiting: Mapping[str, str]
    is_kept: bool
    crew: tuple[CrewAgent, ...] = ()
    kinds: Mapping[str, str] = MappingProxyType({})
    places: Places = Places()
    elsewhere: Mapping[str, str] = MappingProxyType({})


def read_queue(
    session: Session,
    agent: str | None,
    *,
    slots: Collection[str],
    skipped: Collection[str],
    agents: int | None,
    accounts: bool = True,
) -> Queue:
    """Read the queue for a run of an agent, with the workers `slots` and `agents` at once.

    If `agent` is None, all registered agents take part. A task that waits for a busy agent does
    not hide the tasks behind it. With several projects their agent time is accounted up to now;
    without `accounts` that is not recorded.
    """
    with session.store.read() as reader:
        turns = projects_in_turn(reader)
        living = living_starts(reader, session.paths)
        others = [one for one in living if one.worker not in slots]
        judged = Kinds(session, reader, agent, living=living, others=others)
        overlaps = Overlaps(session, reader)
        read: dict[str, list[QueuedTask]] = {}
        waiting: dict[str, str] = {}
        for one in turns:
            read[one.limits.id], meeting = _read_tasks(
                reader, one.limits.id, skipped, judged.is_open, overlaps=overlaps
            )
            waiting |= meeting
    found = {task.id: task.kind for tasks in read.values() for task in tasks}
    elsewhere = {task: words for task, kind in found.items() if (words := judged.elsewhere(kind))}
    kinds = {task: kind for task, kind in found.items() if task not in elsewhere}
    running = Counter(one.project for one in living)
    projects = _facts(turns, running, others=Counter(one.project for one in others))
    queues = [
        ProjectQueue(
            one.limits.id, one.weight, one.credit_ms, facts.running,
            tuple(task.id for task in read[one.limits.id] if task.id in kinds),
            places_of(facts, agents=agents),
        )
        for one, facts in zip(turns, projects, strict=True)
    ]  # fmt: skip
    if len(queues) > 1:
        since_ms = max(one.accounted_at_ms for one in turns)
        queues = _account(session, queues, since_ms=since_ms, records=accounts)
    startable = [
        one._replace(ready=tuple(task for task in one.ready if judged.is_open(kinds[task])))
        for one in queues
    ]
    ordered = take_turns(startable, number=READY_AT_ONCE)
    free, meeting = overlaps.first_free(ordered, number=max(agents or READY_AT_ONCE, 1))
    waiting |= meeting
    kind = KindFacts(sum(one.agent_type == agent for one in others), judged.limits.get(agent or ""))
    is_kept = bool(waiting) or sum(len(one.ready) for one in queues) > len(ordered)
    return Queue(
        tuple(free), projects, kind, waiting, is_kept, judged.crew, kinds, judged.places, elsewhere
    )


def _read_tasks(
    reader: Reader,
    project: str,
    skipped: Collection[str],
    is_open: Callable[[str], bool],
    *,
    overlaps: Overlaps,
) -> tuple[list[QueuedTask], dict[str, str]]:
    """Read the first READY tasks of a project, and of each kind for which an agent is free.

    The latter only if others are among the first ones, and as many as a tick reads. Return also the
    tasks that wait for a running one with the same paths, each with that one.
    """
    limit = READY_AT_ONCE + len(skipped)
    found, waiting, has_more = _read_first(reader, project, limit, skipped, overlaps=overlaps)
    if has_more and not all(is_open(task.kind) for task in found):
        further = {
            task
            for kind in ready_kinds_of(reader, project, KINDS_AT_ONCE)
            if is_open(kind)
            for task in ready_tasks_of_kind(reader, project, kind, OF_KIND_AT_ONCE + len(skipped))
            if task.id not in skipped
        }
        waiting |= _meeting(further, overlaps)
        found += [task for task in further.difference(found) if task.id not in waiting]
        found.sort(key=lambda one: one.order)
    return found, waiting


def _read_first(
    reader: Reader, project: str, limit: int, skipped: Collection[str], *, overlaps: Overlaps
) -> tuple[list[QueuedTask], dict[str, str], bool]:
    """Read the first READY tasks of a project that wait for no running one; are there more?

    If all of the first ones wait, those are read that declare other paths.
    """
    waiting: dict[str, str] = {}
    besides: set[str] = set()
    while True:
        rows = ready_tasks_of(reader, project, limit, besides=besides)
        found = [one for one in rows if one.id not in skipped]
        meeting = _meeting(found, overlaps)
        waiting |= meeting
        free = [one for one in found if one.id not in meeting]
        declared = {declared_paths(reader, task) for task in meeting} - {NO_PATHS}
        is_last = len(rows) < limit or len(besides) > KINDS_AT_ONCE
        if free or is_last or declared <= besides:
            return free, waiting, len(rows) == limit
        besides |= declared


def _meeting(tasks: Iterable[QueuedTask], overlaps: Overlaps) -> dict[str, str]:
    """Return the tasks that may change the same paths as a running one, each with that one."""
    return {one.id: other for one in tasks if (other := overlaps.find(one.id)) is not None}


def _facts(
    turns: Sequence[ProjectTurn], running: Mapping[str, int], *, others: Mapping[str, int]
) -> tuple[ProjectFacts, ...]:
    return tuple(
        ProjectFacts(
            row.status, row.agents_at_once, is_set=row.agents is not None,
            has_tokens=row.has_tokens, running=running[row.id], others=others[row.id],
        )
        for row in (one.limits for one in turns)
    )  # fmt: skip


def _account(
    session: Session, queues: list[ProjectQueue], *, since_ms: int, records: bool
) -> list[ProjectQueue]:
    """Charge the agent time since the last tick to the projects; return them with their credits.

    A change would wake this run again, so nothing is recorded for less than a second.
    """
    now = clock.now_ms()
    elapsed_ms = max(0, now - since_ms) if since_ms else 0
    if since_ms and elapsed_ms < ACCOUNT_EVERY_MS:
        return queues
    active = [one for one in queues if one.places != 0 or one.running]
    credits = account(active, elapsed_ms=elapsed_ms)
    found = [one._replace(credit_ms=credits.get(one.project, 0.0)) for one in queues]
    if not records:
        return found
    with session.store.write(durable=False) as writer:
        for one in found:
            record_credit(writer, one.project, one.credit_ms, now=now)
    return found
