"""Leave a fleet: the replica becomes the store of the repository again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.crashpoint import crash_point
from gitworker.errors import HAS_LEFT, LOST, Conflict, Refused, Unavailable
from gitworker.fleet.hand_ins import make_hand_ins
from gitworker.fleet.join import require_quiet
from gitworker.session import require_person
from gitworker.store.fleet.machines import (
    all_machines,
    find_open_worker,
    publish_outgoing,
    put_off_hand_ins,
    record_leave,
)
from gitworker.store.fleet.membership import end_membership
from gitworker.tasks.agents.places import no_fleet

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.api import Store


ALL = -1  # no limit, for SQLite


class Left(NamedTuple):
    """The machine that has left, and whether others stay in the fleet."""

    machine: str
    others_stay: bool


def json_left(left: Left) -> dict[str, Any]:
    """Return the machine that has left as JSON fields."""
    return left._asdict()


def leave(session: Session) -> Left:
    """Make the store one of its own again, with all that the fleet has.

    If other machines stay, the open tasks are held here, so that no task is done twice. Raises
    Refused while agents run here, or while others stay and a worker of this machine has a task;
    Conflict if the fleet is lost before a hand-in that was put off.
    """
    require_person(session, "the fleet", "ask a person")
    store = session.store
    machine = store.fleet_machine
    if machine is None:
        raise no_fleet()
    require_quiet(session)
    _hand_in(session)
    try:
        others = _record(store, machine)
    except Unavailable as error:
        if error.code != HAS_LEFT:
            raise
        with store.read() as reader:
            others = any(one.left_at_ms is None for one in all_machines(reader))
    crash_point("fleet-leave-after-write")
    end_membership(store, others_stay=others)
    return Left(machine, others)


def _hand_in(session: Session) -> None:
    """Make the hand-ins that were put off, which nobody would do later."""
    make_hand_ins(session)
    with session.store.read() as reader:
        left = put_off_hand_ins(reader)
    if left:
        raise Conflict(
            f"the connection to the fleet was lost before the work of {left[0].worker_id} was"
            " handed in",
            "run the command again",
            code=LOST,
        )


def _record(store: Store, machine: str) -> bool:
    """Record that a machine has left; return whether others stay in the fleet."""
    with store.write() as writer:
        others = any(one.left_at_ms is None and one.id != machine for one in all_machines(writer))
        worker = find_open_worker(writer, machine) if others else None
        if worker is not None:
            raise Refused(
                f"worker {worker} of this machine has a task",
                f"git worker show {worker}   # land or cancel it first",
                code="open_work",
            )
        publish_outgoing(writer, limit=ALL)
        record_leave(writer, machine, now=clock.now_ms())
        crash_point("fleet-leave-before-write")
    return others
