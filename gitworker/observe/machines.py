"""What `fleet status` shows: the machines with their leases, and how far this one is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.errors import Unavailable
from gitworker.observe.text import NOTHING, table
from gitworker.store.fleet.machines import (
    StoredMachine,
    all_machines,
    count_waiting,
    find_push_failure,
)
from gitworker.store.fleet.membership import location_of, position_of

if TYPE_CHECKING:
    from gitworker.session import Session

HEAD = ("MACHINE", "STATE", "SEEN", "WORKERS", "HOST", "VERSION", "CAPABILITIES")
SILENT, CONNECTED, LEFT = "silent", "connected", "left"
POLLS = "no notifications arrive through the pooler: this machine asks once a second"


class Machine(NamedTuple):
    """A machine of the fleet: `state` is connected, silent or left."""

    id: str
    host: str
    version: str
    state: str
    seen_ms_ago: int
    workers: int
    is_this: bool
    capabilities: tuple[str, ...] = ()


class FleetStatus(NamedTuple):
    """This machine and the others; `offline` says why the fleet cannot be reached, if so.

    `clock_ms` is the time here less the server's. `push_failure` says why commits of this machine
    are not pushed, with `fleet.push_commits`; `polls` says that no notifications arrive.
    """

    machine: str | None
    location: str
    position: int
    waiting: int
    offline: str
    machines: list[Machine]
    clock_ms: int = 0
    push_failure: str = ""
    polls: bool = False


def fleet_status(session: Session) -> FleetStatus:
    """Return the machines of the fleet; `machine` is None in a repository of its own."""
    store = session.store
    if store.fleet_machine is None:
        return FleetStatus(None, "", 0, 0, "", [])
    from gitworker.store.fleet.fleet_database import ask_link  # in a fleet only

    offline, server_ms, polls = "", 0, False
    try:
        state = ask_link(store)
        server_ms, polls = int(state["now_ms"]), bool(state["polls"])
    except Unavailable as error:
        offline = error.message
    rows = all_machines(store)
    now = server_ms or max((one.seen_at_ms for one in rows), default=clock.now_ms())
    return FleetStatus(
        store.fleet_machine,
        location_of(store),
        position_of(store),
        count_waiting(store),
        offline,
        [_machine(one, now, store.fleet_machine) for one in rows],
        clock.now_ms() - server_ms if server_ms else 0,
        find_push_failure(store) if session.settings.fleet_push_commits else "",
        polls,
    )


def _machine(one: StoredMachine, now: int, this: str) -> Machine:
    state = CONNECTED if one.lease_until_ms > now else SILENT
    if one.left_at_ms is not None:
        state = LEFT
    return Machine(
        one.id, one.host, one.version, state, max(0, now - one.seen_at_ms), one.workers,
        one.id == this, one.capabilities,
    )  # fmt: skip


def render_fleet(found: FleetStatus, *, width: int | None, color: bool) -> str:
    """Return the screen."""
    del color
    if found.machine is None:
        return "this repository is in no fleet: git worker fleet join postgresql://…"
    rows = [
        (
            f"{one.id}{' (this one)' if one.is_this else ''}", one.state,
            f"{one.seen_ms_ago // 1000} s ago", str(one.workers), one.host, one.version,
            ", ".join(one.capabilities) or NOTHING,
        )
        for one in found.machines
    ]  # fmt: skip
    lines = table(HEAD, rows, width=width)
    lines += [f"fleet: {found.location}, position {found.position}"]
    if found.waiting:
        lines.append(f"{found.waiting} messages wait to be published")
    if found.push_failure:
        lines.append(f"commits are not pushed: {found.push_failure}")
    if found.polls:
        lines.append(POLLS)
    if found.offline:
        lines.append(found.offline)
    return "\n".join(lines)


def json_fleet(found: FleetStatus) -> dict[str, Any]:
    """Return the same as JSON fields."""
    fields = found._asdict()
    fields["machines"] = [
        {**one._asdict(), "capabilities": list(one.capabilities)} for one in found.machines
    ]
    return fields
