"""Join a fleet: move the shared state to PostgreSQL, or take over what the fleet has.

The first machine moves its tasks, workers, reviews and messages there. Another one takes over what
the fleet has, so it must have no open work of its own.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import gitworker
from gitworker import clock
from gitworker.bus.blobs import is_blob_ref
from gitworker.errors import Invalid, Refused, Unavailable
from gitworker.fleet.edit import edit_machine
from gitworker.link.payloads import bring_payloads, read_payloads
from gitworker.liveness.process_origin import is_local, origin_of, this_origin
from gitworker.rules_text import quoted
from gitworker.session import require_person
from gitworker.states.task_machine import has_ended
from gitworker.store.fleet.machines import find_open_task, find_open_worker
from gitworker.store.fleet.membership import copy_path, enter_fleet, keep_copy, location_of
from gitworker.store.postgres.location import parse_location
from gitworker.store.records.runs import open_runs
from gitworker.store.tasks import all_tasks
from gitworker.tasks.agents.rules_registered import parse_capabilities

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.session import Session
    from gitworker.store.api import Store
    from gitworker.store.postgres.location import Location
    from gitworker.store.postgres.server import FleetServer

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_PASSWORD = re.compile(r"//[^/@]*:[^@]+@|[?&](ssl)?password=", re.IGNORECASE)


class Joined(NamedTuple):
    """The machine's name in the fleet, whether it is the first one, and the kept copy of bus.db."""

    machine: str
    is_first: bool
    copy: str


def json_joined(joined: Joined) -> dict[str, Any]:
    """Return the machine that has joined as JSON fields."""
    return joined._asdict()


def join(
    session: Session, location: str, *, name: str | None = None, capabilities: Sequence[str] = ()
) -> Joined:
    """Make this repository a machine of the fleet at a location; safe to repeat.

    `capabilities` are what its agents can use here; those of a machine that has joined change.

    Raises Invalid for a bad name or location, Refused while agents run here, for a name that is
    taken, or if the fleet has state already and this repository has open work; Unavailable without
    the extra `fleet` or a server.
    """
    require_person(session, "the fleet", "ask a person")
    store = session.store
    _require_no_password(location)
    parsed, offered = parse_location(location), parse_capabilities(capabilities)
    machine = default_name() if name is None else name
    if not NAME.fullmatch(machine):
        raise Invalid(
            f"{machine!r} is not a name of a machine: lower case letters, digits, `.`, `_` and `-`",
            f"git worker fleet join {quoted(location)} --name <new-name>",
        )
    if store.fleet_machine is not None:
        before = _joined_before(store, parsed, machine if name else store.fleet_machine)
        if offered:
            edit_machine(session, None, offered)
        return before
    require_quiet(session)
    with closing(open_server(location)) as server:
        from gitworker.store.postgres.membership import NewMachine

        copy = keep_copy(store)
        is_first = enter_fleet(
            store,
            server,
            NewMachine(machine, clock.host_name(), gitworker.__version__, json.dumps(offered)),
            location=location,
            require_fit=partial(_require_fit, store, machine, location),
            require_known=partial(_require_known, store),
            move_payloads=partial(_move_payloads, server, session.paths.blobs),
        )
    return Joined(machine, is_first, copy)


def default_name() -> str:
    """Return the host's name as a name of a machine."""
    plain = re.sub(r"[^a-z0-9._-]+", "-", clock.host_name().lower()).strip("-._")
    return plain[:63] or "machine"


def open_server(location: str) -> FleetServer:
    """Connect to a fleet; raise Unavailable without the extra `fleet`."""
    try:
        from gitworker.store.postgres.errors import FULL
        from gitworker.store.postgres.server import FleetServer  # 100 ms, only for the fleet
    except ImportError as error:
        raise Unavailable(
            f"a fleet needs PostgreSQL's driver: {error}", "pip install 'gitworker[fleet]'",
            code="missing_extra",
        ) from None  # fmt: skip
    try:
        return FleetServer(location)
    except Unavailable as error:
        if error.code != FULL:
            raise
        hint = f"git worker fleet join {quoted(location)}   # again, when a connection is free"
        raise Unavailable(error.message, hint, code=FULL) from error


def _joined_before(store: Store, parsed: Location, machine: str) -> Joined:
    if parse_location(location_of(store)) != parsed or machine != store.fleet_machine:
        raise Refused(
            f"this repository is the machine {store.fleet_machine} of another fleet",
            "git worker fleet leave",
            code="in_a_fleet",
        )
    return Joined(machine, False, copy_path(store))


def _require_no_password(location: str) -> None:
    if _PASSWORD.search(unquote(location)):
        raise Invalid(
            "a location must have no password, since it is kept in the repository's state",
            "put the password into ~/.pgpass, or use postgresql:///?service=<name>",
        )


def require_quiet(session: Session) -> None:
    """Raise Refused while agents run on this machine: they would write past the fleet."""
    here = this_origin()
    running = [run.worker_id for run in open_runs(session.store) if is_local(origin_of(run), here)]
    if running:
        raise Refused(
            f"agents run here: {', '.join(running)}",
            f"git worker stop {running[0]}",
            code="agents_run",
        )


def _move_payloads(server: FleetServer, blobs: str, refs: list[str], sends: bool) -> None:
    """Send the large payloads of messages, or bring those that this machine does not have."""
    known = [ref for ref in refs if is_blob_ref(ref)]
    if sends:
        server.write_payloads(read_payloads(blobs, known))
    else:
        os.makedirs(blobs, mode=0o700, exist_ok=True)
        bring_payloads(server, blobs, known)


def _require_fit(store: Store, machine: str, location: str, present: dict[str, bool]) -> None:
    """Raise Refused for a name that is taken, or for open work beside that of the fleet."""
    if present.get(machine):
        raise Refused(
            f"the fleet has a machine {machine}",
            f"git worker fleet join {quoted(location)} --name <new-name>",
            code="name_taken",
        )  # fmt: skip
    if present:
        _require_no_open_work(store)


def _require_known(store: Store, versions: dict[str, int]) -> None:
    """Raise Refused for an open task that was made or changed here since the join was killed."""
    for task in all_tasks(store):
        if not has_ended(task.status) and versions.get(task.id, -1) < task.version:
            raise Refused(
                f"task {task.id} has changed here since this join was interrupted, and others have"
                " worked in the fleet since",
                f"git worker task cancel {task.id}",
                code="open_work",
            )


def _require_no_open_work(store: Store) -> None:
    worker, task = find_open_worker(store), find_open_task(store)
    if worker is not None:
        raise Refused(
            f"worker {worker} has a task here, and the fleet has its own",
            f"git worker show {worker}   # land or cancel it first",
            code="open_work",
        )
    if task is not None:
        raise Refused(
            f"task {task} is open here, and the fleet has its own",
            f"git worker task cancel {task}",
            code="open_work",
        )
