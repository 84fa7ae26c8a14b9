"""Back-pressure: a sender waits if its addressee reads too slowly or it sends too fast.

Limits are soft: they are checked before a message is published, but far below a limit not for
every message. As long as all agents together send less in a second than one agent may, a check
reads one row and writes nothing; above that each sender has a token bucket in `send_budgets`.
Messages of commands (state changes, the drain's reports) are never limited. On the hot path.
"""

from __future__ import annotations

from gitworker import clock
from gitworker.bus.limits.rules_pressure import (
    BURST_S,
    grant,
    is_calm,
    is_slow,
    refilled,
    unchecked,
    wait_ms,
)
from gitworker.errors import Conflict
from gitworker.store.messages.pressure import (
    addressees,
    count_unread,
    find_budget,
    find_nth_newest,
    record_budget,
)

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from gitworker.bus.limits.send_limits import Limits
    from gitworker.store.api import Reader, Store

UNREAD_WAIT_MS = 500  # until the next check, since the time of an agent's next read is unknown


class BackPressure(Conflict):
    """A sender is over a limit; `wait_ms` is the time until the next try."""

    code = "back_pressure"

    def __init__(self, message: str, *, wait_ms: int) -> None:
        wait_s = max(1, -(-wait_ms // 1000))
        super().__init__(message, f"try again in {wait_s} s, or send with --wait 60")
        self.wait_ms = wait_ms


class Pressure:
    """Checks the messages of one sender, and counts how many may pass without a check."""

    __slots__ = ("_granted", "_max_rate", "_max_unread", "_sender", "_unread_left")

    def __init__(self, sender: str, limits: Limits) -> None:
        self._sender = sender
        self._max_unread = limits.message_max_unread
        self._max_rate = limits.message_max_rate
        self._granted = 0
        self._unread_left: dict[str, int] = {}

    def admit(self, store: Store, to: str | None, number: int = 1) -> None:
        """Count messages that are about to be published to an agent, or to all if `to` is None.

        Raises BackPressure if they have to wait. Call it outside any transaction.
        """
        if to is not None and self._max_unread:
            left = self._unread_left.get(to, 0)
            self._unread_left[to] = (
                left if left >= number else self._check_unread(store, to, number)
            ) - number
        if self._max_rate:
            left = self._granted
            self._granted = (left if left >= number else self._check_rate(store, number)) - number

    def _check_unread(self, store: Store, to: str, number: int) -> int:
        with store.read() as reader:
            unread = count_unread(reader, to, limit=self._max_unread)
        if unread and unread + number > self._max_unread:  # a large batch needs an empty inbox
            raise BackPressure(
                f"{to} has {unread} unread messages; {self._max_unread} are allowed"
                " (message.max_unread)",
                wait_ms=UNREAD_WAIT_MS,
            )
        return unchecked(self._max_unread - unread, number)

    def _check_rate(self, store: Store, number: int) -> int:
        rate = self._max_rate
        now = clock.now_ms()
        with store.read() as reader:
            nth_newest_ms = find_nth_newest(reader, rate)
        if is_calm(nth_newest_ms, now):
            return unchecked(rate, number)
        with store.write(durable=False) as writer:
            tokens, at_ms = find_budget(writer, self._sender) or (float(rate * BURST_S), now)
            tokens = refilled(tokens, now - at_ms, rate=rate)
            granted = grant(tokens, number, rate=rate)
            record_budget(writer, self._sender, tokens - granted, now=now)
        if not granted:
            raise BackPressure(
                f"{self._sender} sends faster than {rate} messages a second (message.max_rate)",
                wait_ms=wait_ms(tokens, number, rate=rate),
            )
        return granted


def check_pressure(store: Store, sender: str, to: str | None, limits: Limits) -> None:
    """Raise BackPressure if one more message of a sender has to wait."""
    Pressure(sender, limits).admit(store, to)


def slow_consumers(reader: Reader, *, max_unread: int) -> list[tuple[str, int]]:
    """Return the agents with more than half of the allowed unread messages, the slowest first.

    Each comes with its number of unread messages, counted up to the limit.
    """
    if not max_unread:
        return []
    found = []
    for agent in addressees(reader):
        number = count_unread(reader, agent, limit=max_unread)
        if is_slow(number, max_unread=max_unread):
            found.append((agent, number))
    return sorted(found, key=lambda one: (-one[1], one[0]))
