"""Check the fleet: whether it answers, how fast, its clock, and the versions of its machines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import gitworker
from gitworker import clock
from gitworker.branches.remote import known_remotes
from gitworker.errors import GitWorkerError
from gitworker.fsck.finding import Finding, fail, ok, warn
from gitworker.observe.machines import CONNECTED, POLLS, fleet_status
from gitworker.rules_text import quoted
from gitworker.store.fleet.replica import BEFORE_RESTART

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitworker.observe.machines import FleetStatus
    from gitworker.session import Session

NAME = "fleet"
CLOCK_MS = 60_000
STATUS = "git worker fleet status"
REMOTE = "git config worker.merge.remote <name>"


def check_fleet(session: Session) -> Iterator[Finding]:
    """Check the fleet of this machine; nothing in a repository of its own."""
    if session.store.fleet_machine is None:
        return
    began_ms = clock.monotonic_ms()
    found = fleet_status(session)
    took_ms = clock.monotonic_ms() - began_ms
    denied = [*_rights(session)]
    yield from _lost(session)
    if found.offline:
        yield from denied or [fail(NAME, found.offline, STATUS)]
        return
    problems = [
        *denied, *_remote(session), *_clock(found), *_versions(found), *_pushes(found),
    ]  # fmt: skip
    connected = sum(one.state == CONNECTED for one in found.machines)
    words = f"{connected} of {len(found.machines)} machines connected; answered in {took_ms} ms"
    yield from problems or [ok(NAME, words)]
    if found.polls:
        yield ok(NAME, POLLS)


def _lost(session: Session) -> Iterator[Finding]:
    start = f"{os.path.basename(session.paths.database)}{BEFORE_RESTART}-"
    for name in sorted(os.listdir(session.paths.root)):
        if name.startswith(start):
            path = f"{session.paths.root}/{name}"
            words = f"PostgreSQL came back without its newest rows; {path} has them"
            yield warn(NAME, words, f"rm {quoted(path)}   # when it is not needed any more")


def _rights(session: Session) -> Iterator[Finding]:
    from gitworker.store.fleet.fleet_database import ask_rights  # in a fleet only

    try:
        found = ask_rights(session.store)
    except GitWorkerError:  # it is offline, which is a finding of its own
        return
    if tables := found["tables"]:
        more = f" and {len(tables) - 1} more tables" if len(tables) > 1 else ""
        words = f"the role {found['role']} may not read and change {tables[0]}{more}"
        yield fail(NAME, words, found["grant"])


def _remote(session: Session) -> Iterator[Finding]:
    name = session.settings.merge_remote
    try:
        known = known_remotes(session)
    except GitWorkerError as error:
        yield fail(NAME, error.message, error.hint)
        return
    if name not in known:
        yield fail(NAME, "no remote is set, by which work reaches other machines", REMOTE)


def _pushes(found: FleetStatus) -> Iterator[Finding]:
    if found.push_failure:
        yield warn(NAME, f"commits are not pushed: {found.push_failure}", STATUS)


def _clock(found: FleetStatus) -> Iterator[Finding]:
    if abs(found.clock_ms) >= CLOCK_MS:
        words = f"the clock here differs from PostgreSQL's by {found.clock_ms // 1000} s"
        yield warn(NAME, f"{words}; times on the screens are wrong by that", "timedatectl")


def _versions(found: FleetStatus) -> Iterator[Finding]:
    others = {
        one.version
        for one in found.machines
        if one.state == CONNECTED and one.version != gitworker.__version__
    }
    if others:
        listed = ", ".join(sorted(others))
        yield warn(
            NAME, f"this is gitworker {gitworker.__version__}; other machines have {listed}",
            "pip install --upgrade gitworker",
        )  # fmt: skip
