"""Upkeep once a day: prune old messages, delete items that are not needed; prune on request."""

import os
from collections.abc import Callable

from gitworker import clock
from gitworker.bus.files.retention import (
    PrunePlan,
    PruneRequest,
    PruneResult,
    own_floor,
    plan_prune,
    prune,
)
from gitworker.bus.files.rules_retention import cutoff_ms
from gitworker.errors import Refused
from gitworker.journal.gc.gc import gc_daily
from gitworker.liveness.readings import clock_has_jumped, process_runs, read_heartbeats, this_moment
from gitworker.liveness.rules_stale import Liveness, heartbeat_age_ms, liveness_of
from gitworker.session import Session
from gitworker.store.workers import all_workers


def run_upkeep(session: Session) -> None:
    """Do the daily work by the settings; a failed part does not stop the others.

    Nothing is deleted while the wall clock has jumped (see `prune_request`).
    """
    if _has_jumped(session):
        return
    try:
        days = session.settings.retention_days
        if days:
            request = prune_request(
                session, days=days, archiving=session.settings.retention_archive
            )
            prune_bus(session, request)
        else:
            record_need(session)
    finally:
        if session.settings.gc_daily:
            gc_daily(session)


def prune_request(session: Session, *, days: int, archiving: bool) -> PruneRequest:
    """Return the request to prune messages older than `days`, with the agents that are alive.

    Raises Refused while the wall clock has moved by a day against the newest heartbeat: after a
    clock was set forward by a month, all messages would be old and all cursors deleted.
    """
    if _has_jumped(session):
        raise Refused(
            "the wall clock has moved by a day or more since the last heartbeat, so ages"
            " cannot be trusted",
            "git worker heartbeat <worker>   # if the clock is right: then prune again",
            code="clock_jumped",
        )
    now = clock.now_ms()
    return PruneRequest(
        cutoff_ms(now, days),
        living_agents(session),
        since_ms=cutoff_ms(now, max(days, 1)),
        archiving=archiving,
        reported_since_ms=_retention_began_ms(session),
    )


def _retention_began_ms(session: Session) -> int:
    """Return the time `retention.days` ago; the epoch if all messages are kept."""
    days = session.settings.retention_days
    return cutoff_ms(clock.now_ms(), days) if days else 0


def record_need(session: Session) -> None:
    """Record for the other machines of a fleet which messages agents of this one may still read.

    It follows `retention.days`, even before a prune of younger messages that a person asked for.
    """
    machine = session.store.fleet_machine
    if machine is None:
        return
    from gitworker.store.fleet.machines import set_need  # only in a fleet

    living, since_ms = living_agents(session), _retention_began_ms(session)
    with session.store.read() as reader:
        floor = own_floor(reader, living=living, since_ms=since_ms)
    set_need(session.store, machine, floor.seq)


def preview_prune(session: Session, request: PruneRequest) -> PrunePlan:
    """Return the messages that a prune would delete; change nothing."""
    return plan_prune(session.store, request)


def prune_bus(
    session: Session,
    request: PruneRequest,
    *,
    announce: Callable[[PrunePlan], None] = lambda _: None,
) -> PruneResult:
    """Prune messages and their search index entries; raise Conflict while another prune runs."""
    record_need(session)
    done = prune(session.store, session.paths, request, announce=announce)
    may_have_gone = done.plan.messages or session.store.fleet_machine is not None
    if may_have_gone and os.path.exists(session.paths.search):
        from gitworker.bus.search.search_messages import (
            forget_pruned,  # only if there is a search index
        )

        forget_pruned(session.store, session.paths)
    return done


def living_agents(session: Session) -> frozenset[str]:
    """Return the agents of this machine that are not DEAD.

    They have a heartbeat or a running process; in a fleet the heartbeats of all workers are known.
    """
    moment = this_moment()
    with session.store.read() as reader:
        heartbeats = read_heartbeats(reader)
        workers = all_workers(reader)
    living = {
        agent
        for agent, heartbeat in heartbeats.items()
        if liveness_of(heartbeat_age_ms(heartbeat, moment), session.settings) is not Liveness.DEAD
    }
    living |= {
        worker.worker_id for worker in workers if process_runs(worker, moment, session.paths)
    }
    return frozenset(living - {one.worker_id for one in workers if one.elsewhere is not None})


def _has_jumped(session: Session) -> bool:
    with session.store.read() as reader:
        return clock_has_jumped(reader)
