"""A case of a hint: a state, a command that is refused or warns in it, and the hint that it prints.

`check` runs the command, then the hint in the same state, and the command again.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest

from gitworker.errors import GitWorkerError
from tests.hints.following import Printed, fill, follow, hints_of, note, perform
from tests.hints.templates import READS, REMARK, Template
from tests.workers.world import World

FINDS = re.compile(r"^git worker (doctor|fsck)$")  # they print each finding until it is repaired


@dataclass(frozen=True, slots=True)
class Case:
    """The command that prints the hint, the hint's template, and the state before both.

    `at` is the worker in whose worktree the user is, or a path below the main checkout; without it,
    the user is there. `meets` does the work that the remark behind the hint asks for. `instead`:
    the hint takes the place of the command, which would be refused again. `env` is added to the
    environment. `within` returns the words before each command, which runs with other rights or
    with other mounts then; the test is skipped if the system does not allow that.
    """

    build: Callable[[World], None]
    command: str
    hint: str
    at: str = ""
    meets: Callable[[World], None] | None = None
    instead: bool = False
    env: Mapping[str, str] | None = None
    within: Callable[[World], tuple[str, ...]] | None = None


def check(world: World, case: Case) -> None:
    """Fail unless the command prints the hint, and the hint helps."""
    case.build(world)
    place = world.path(case.at) if case.at and "/" not in case.at else world.root / case.at
    printed = Printed([], str(place), None if case.env is None else {**os.environ, **case.env})
    if case.within is not None:
        printed.within = case.within(world)
        tried = perform("true", printed)
        if tried.status != 0:
            pytest.skip(tried.err)
    done = perform(fill(case.command), printed)
    found = list(hints_of(done.out, done.err))
    pattern = Template("", case.hint).pattern()
    chosen = [one for one in found if pattern.fullmatch(one)]
    assert chosen, f"{case.command} does not print {case.hint}: {found}\n{done.err}{done.out}"
    if case.meets is not None:
        case.meets(world)
    printed.said = f"{done.status}{done.err}"
    finds = FINDS.search(case.command) is not None
    printed.again = None if case.instead or finds else fill(case.command)
    why = follow(printed, chosen[0])
    assert why is None, why
    if finds and not READS.match(chosen[0]) and case.env is None:
        again = perform(case.command, printed)
        assert chosen[0] not in hints_of(again.out, again.err), f"it is found again: {again}"
    note(chosen[0], done.err + done.out)


def check_error(world: World, error: GitWorkerError, hint: str) -> None:
    """Fail unless an error of a use case, raised in a race, has the hint, and the hint helps."""
    command = (error.hint or "").partition(REMARK)[0]
    assert Template("", hint).pattern().fullmatch(command), f"{error}: {command}"
    why = follow(Printed([], str(world.root), None, None, error.message), command)
    assert why is None, why
    note(command, error.message)


def by(*commands: str) -> Callable[[World], None]:
    """Return the builder of the state after some commands, each run in the main checkout."""

    def build(world: World) -> None:
        for command in commands:
            done = perform(command, Printed([], str(world.root)))
            assert done.status == 0, f"{command}: {done}"

    return build


def commit_readme(world: World, worker: str = "auth") -> None:
    """Commit a change in a worker's worktree, as its author."""
    world.commit(worker, {"README": "changed\n"})


def two_workers(world: World) -> None:
    """Let auth work on login, and docs wait for the review of its guide."""
    world.in_review("docs", "guide", {"guide": "1\n"})
    world.working("auth", "login", {"a": "1\n"})
