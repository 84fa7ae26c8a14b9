"""Handing messages to a handler: at least once, in order, never one skipped.

A message on which the handler fails is handed out again after a while; after some attempts it
becomes a dead letter (a copy in `dead_letters`, the cursor passes it, its sender is told), so that
one bad message stops nobody for ever. Each agent has a cursor of its own: none waits for another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.bus.consume import acknowledge
from gitworker.bus.ids import derived_id
from gitworker.bus.publish import Outgoing, publish
from gitworker.bus.rules import BACKOFF_LAST_MS, backoff_ms
from gitworker.model.message import MessageType

if TYPE_CHECKING:
    from collections.abc import Callable

    from gitworker.bus.library import Bus, Message

ERROR_SHOWN = 500
LOOK_S = 0.2  # how soon the loop notices that it is to stop
BATCH = 100


class Policy(NamedTuple):
    """When to stop, and after how many failed attempts a message is given up."""

    is_stopped: Callable[[], bool]
    attempts: int


def process(bus: Bus, handler: Callable[[Message], object], policy: Policy) -> None:
    """Hand unread messages to `handler` until the policy says stop (see Bus.process_loop)."""
    waker = bus.waker()
    has_begun = False  # a killed process can have been at work on its oldest message only
    while not policy.is_stopped():
        messages = bus.poll(BATCH)
        if not messages:
            bus.export()
            waker.wait(LOOK_S)
        for message in messages:
            if policy.is_stopped():
                return
            delivery = Delivery(bus, message, policy)
            if not has_begun:
                delivery.load()
            if not (delivery.may_begin() and delivery.hand_to(handler)):
                break
            has_begun = True
        else:
            continue
        has_begun = False  # what failed comes again, with what was counted


class Delivery:
    """One message on its way to a handler, with the attempts made at it."""

    def __init__(self, bus: Bus, message: Message, policy: Policy) -> None:
        self._bus = bus
        self._message = message
        self._policy = policy
        self._attempts = 0
        self._retry_at_ms = 0
        self._is_stored = False

    def load(self) -> None:
        """Read what earlier attempts left, and count this one before it begins.

        A handler that takes the process with it would otherwise be called for ever.
        """
        with self._bus.store.read() as reader:
            row = reader.row("deliveries.of_message", **self._key())
        if row is not None:
            self._attempts, self._retry_at_ms = row["attempts"], row["retry_at_ms"]
        self._is_stored = True

    def may_begin(self) -> bool:
        """Wait until the message may be tried again; tell whether it is to be tried now."""
        wait_ms = min(self._retry_at_ms - clock.now_ms(), BACKOFF_LAST_MS)
        deadline = clock.monotonic_ms() + wait_ms
        while clock.monotonic_ms() < deadline:
            if self._policy.is_stopped():
                return False
            clock.sleep(min(LOOK_S, max(0, deadline - clock.monotonic_ms()) / 1000))
        if self._attempts >= self._policy.attempts:  # by processes that died of it
            self._bury("the process ended while it was handled")
            return False
        return True

    def hand_to(self, handler: Callable[[Message], object]) -> bool:
        """Call the handler and acknowledge; tell whether it went well."""
        if self._is_stored:
            self._count(self._attempts + 1, "")
        try:
            handler(self._message)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is its failure
            self._fail(error)
            return False
        except BaseException:  # an interrupt is nobody's failure
            if self._is_stored:
                self._count(self._attempts, "")
            raise
        self._done()
        return True

    def _done(self) -> None:
        bus, seq = self._bus, self._message["seq"]
        if not self._is_stored:
            acknowledge(bus.store, bus.agent, seq)
            return
        with bus.store.write(durable=False) as writer:
            writer.run("messages.ack", agent=bus.agent, seq=seq, now=clock.now_ms())
            writer.run("deliveries.forget", **self._key())

    def _fail(self, error: Exception) -> None:
        import logging  # 20 ms, only where something fails

        self._attempts += 1
        text = f"{type(error).__name__}: {error}"[:ERROR_SHOWN]
        log = logging.getLogger("gitworker.bus")
        log.warning(
            "attempt %d at message %s failed: %s", self._attempts, self._message["id"], text
        )
        if self._attempts >= self._policy.attempts:
            self._bury(text)
        else:
            self._count(self._attempts, text)

    def _count(self, attempts: int, error: str) -> None:
        is_failed = attempts > 0 and error != ""
        pause_ms = backoff_ms(attempts) if is_failed else 0
        self._bus.store.write_one(
            "deliveries.count",
            durable=False,
            attempts=attempts,
            error=error,
            retry_at_ms=clock.now_ms() + pause_ms,
            **self._key(),
        )

    def _bury(self, error: str) -> None:
        """Keep a copy, tell the sender, and let the cursor pass, in one transaction."""
        bus, message, now = self._bus, self._message, clock.now_ms()
        with bus.store.write() as writer:
            writer.run(
                "deliveries.bury", attempts=self._attempts, error=error, now=now, **self._key()
            )
            writer.run("messages.ack", agent=bus.agent, seq=message["seq"], now=now)
            writer.run("deliveries.forget", **self._key())
            if message["type"] != MessageType.DEAD_LETTER:  # or two bad handlers would never end
                publish(writer, self._notice(error), now=now)

    def _notice(self, error: str) -> Outgoing:
        bus, message = self._bus, self._message
        return Outgoing(
            MessageType.DEAD_LETTER,
            sender=bus.agent,
            to=message["from"],
            correlation_id=message["correlation_id"],
            in_reply_to=message["id"],
            payload={
                "agent": bus.agent,
                "seq": message["seq"],
                "type": message["type"],
                "attempts": self._attempts,
                "error": error,
            },
            id=derived_id("dead-letter", bus.agent, message["id"]),
        )

    def _key(self) -> dict[str, Any]:
        return {"agent": self._bus.agent, "seq": self._message["seq"]}
