"""Read the READY tasks that may start, in the order in which projects take turns."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from gitworker import clock
from gitworker.bus.limits.send_limits import limits_of as limits_of_kinds
from gitworker.orchestrator.turns.rules_places import KindFacts, ProjectFacts, places_of
from gitworker.orchestrator.turns.rules_turns import ProjectQueue, account, take_turns
from gitworker.store.records.task_queue import ready_tasks_of
from gitworker.store.scheduling.starts import projects_in_turn, record_credit
from gitworker.tasks.admission.admit import living_starts
from gitworker.tasks.admission.overlap import avoid_overlaps

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from gitworker.session import Session
    from gitworker.store.scheduling.starts import ProjectTurn
    from gitworker.tasks.admission.rules_admission import Running

READY_AT_ONCE = 200  # more than the agents of a machine
ACCOUNT_EVERY_MS = 1000


class Queue(NamedTuple):
    """The READY tasks that may start, and the limits; `waiting` names the task that each waits for.

    `is_kept`: others are READY and wait for a place of their project or for a running task.
    `others` are the living agents that the run has not started.
    """

    ready: tuple[str, ...]
    projects: tuple[ProjectFacts, ...]
    kind: KindFacts
    waiting: Mapping[str, str]
    is_kept: bool
    others: tuple[Running, ...] = ()


def read_queue(
    session: Session,
    kind: str,
    *,
    slots: Collection[str],
    skipped: Collection[str],
    agents: int | None,
    accounts: bool = True,
) -> Queue:
    """Read the queue for a run of a kind of agent, with the workers `slots` and `agents` at once.

    With several projects their agent time is accounted up to now; without `accounts` that is not
    recorded.
    """
    with session.store.read() as reader:
        turns = projects_in_turn(reader)
        living = living_starts(reader, session.paths)
        ready = {
            one.limits.id: ready_tasks_of(reader, one.limits.id, READY_AT_ONCE + len(skipped))
            for one in turns
        }
    others = [one for one in living if one.worker not in slots]
    running = Counter(one.project for one in living)
    projects = _facts(turns, running, others=Counter(one.project for one in others))
    queues = [
        ProjectQueue(
            one.limits.id, one.weight, one.credit_ms, facts.running,
            tuple(task.id for task in ready[one.limits.id] if task.id not in skipped),
            places_of(facts, agents=agents),
        )
        for one, facts in zip(turns, projects, strict=True)
    ]  # fmt: skip
    if len(queues) > 1:
        since_ms = max(one.accounted_at_ms for one in turns)
        queues = _account(session, queues, since_ms=since_ms, records=accounts)
    ordered = take_turns(queues, number=READY_AT_ONCE)
    free, waiting = avoid_overlaps(session, ordered, number=max(agents or READY_AT_ONCE, 1))
    of_kind = sum(one.agent_type == kind for one in others)
    at_once = limits_of_kinds(session.settings).agent_limits.get(kind)
    is_kept = bool(waiting) or sum(len(one.ready) for one in queues) > len(ordered)
    return Queue(
        tuple(free), projects, KindFacts(of_kind, at_once), waiting, is_kept, tuple(others)
    )


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
