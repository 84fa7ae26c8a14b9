"""The engine of all machines: a machine is a table `(state, event) -> state`.

Every state change uses `next_state`. The tables are read-only, so that the program and the copy in
the database cannot differ while it runs.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import partial
from types import MappingProxyType
from typing import Generic, TypeVar

from gitworker.errors import Refused

S = TypeVar("S", bound=StrEnum)
E = TypeVar("E", bound=StrEnum)


class InvalidTransition(Refused):
    """The machine has no row for this state and event, or the row's guard refuses."""

    code = "invalid_transition"

    def __init__(
        self,
        state: StrEnum,
        event: StrEnum,
        hint: str | None = None,
        *,
        message: str | None = None,
    ) -> None:
        super().__init__(message or f"Invalid transition: ({state}, {event})", hint)
        self.state = state
        self.event = event

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the constructor's arguments, so that another process can raise it."""
        return partial(type(self), message=self.message), (self.state, self.event, self.hint)


class Machine(Generic[S, E]):
    """One state machine: its name in the database, its initial state, and its table."""

    __slots__ = ("initial", "name", "table")

    def __init__(self, name: str, initial: S, table: Mapping[tuple[S, E], S]) -> None:
        self.name = name
        self.initial = initial
        self.table = MappingProxyType(dict(table))


def next_state(machine: Machine[S, E], state: S, event: E) -> S:
    """Return the state that `event` leads to; raise InvalidTransition if there is no row."""
    try:
        return machine.table[state, event]
    except KeyError:
        raise InvalidTransition(state, event, hint_for(machine, state)) from None


def legal_events(machine: Machine[S, E], state: S) -> tuple[E, ...]:
    """Return the events that lead out of `state`, in the table's order."""
    return tuple(event for (origin, event) in machine.table if origin == state)


def legal_rows(machine: Machine[S, E]) -> Iterator[tuple[str, str, str, str]]:
    """Yield (machine name, from, event, to) as plain text, for loading into the database."""
    for (origin, event), target in machine.table.items():
        yield machine.name, origin.value, event.value, target.value


def legal_pairs(machine: Machine[S, E]) -> frozenset[tuple[S, S]]:
    """Return every pair (from, to) of the table."""
    return frozenset((origin, target) for (origin, _), target in machine.table.items())


def hint_for(machine: Machine[S, E], state: S) -> str:
    """Return the hint after a refusal: the events that the table allows in `state`."""
    events = ", ".join(legal_events(machine, state))
    allowed = f"events allowed in {state}: {events}" if events else f"{state} is final"
    return f"{allowed}; to see every state: git worker status"
