"""Handing messages to a handler: at least once, in order, never one skipped.

A message on which the handler fails is handed out again after a while; after some attempts it
becomes a dead letter (a copy in `dead_letters`, the cursor passes it, its sender is told), so that
one bad message stops nobody for ever. Each agent has a cursor of its own: none waits for another.
A handler that has to wait for a slow reader has not failed, but after some minutes that counts as
an attempt: two agents that wait for each other would otherwise do so for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.bus.client.loop_heartbeat import SignOfLife
from gitworker.bus.consume import acknowledge
from gitworker.bus.following.follow_messages import message_fields
from gitworker.bus.limits.back_pressure import BackPressure
from gitworker.bus.message_ids import derived_id
from gitworker.bus.publish import Outgoing, publish
from gitworker.bus.rules import BACKOFF_LAST_MS, backoff_ms
from gitworker.errors import Conflict
from gitworker.model.message import MessageType

if TYPE_CHECKING:
    from collections.abc import Callable

    from gitworker.bus.client.library import Bus, Message

ERROR_SHOWN = 500
LOOK_S = 0.2  # how soon the loop notices that it is to stop
BATCH = 100
PRESSED_MAX_MS = 5 * 60 * 1000  # so long back-pressure is nobody's failure


class Policy(NamedTuple):
    """When to stop, and after how many failed attempts a message is given up."""

    is_stopped: Callable[[], bool]
    attempts: int


def process(bus: Bus, handler: Callable[[Message], object], policy: Policy) -> None:
    """Hand unread messages to `handler` until the policy says stop (see Bus.process_loop)."""
    course = Course()
    with SignOfLife(bus):
        while not policy.is_stopped():
            try:
                _hand_out(bus, handler, policy, course)
            except Conflict:  # some program keeps the database locked: what is unread waits
                course.has_begun = False
                bus.waker().wait(LOOK_S)


def _hand_out(
    bus: Bus, handler: Callable[[Message], object], policy: Policy, course: Course
) -> None:
    """Hand out the next batch, or wait a little for one."""
    rows = bus.unread_rows(BATCH)
    if not rows:
        bus.export()
        bus.waker().wait(LOOK_S)
    for row in rows:
        if policy.is_stopped():
            break
        delivery = Delivery(bus, message_fields(row, blobs=bus.paths.blobs), policy)
        if not course.has_begun:
            delivery.load()
        course.has_begun = delivery.may_begin() and delivery.hand_to(handler, course)
        if not course.has_begun:  # what failed comes again, with what was counted
            break


class Course:
    """What a loop remembers from one batch to the next.

    `has_begun` is False where a killed process may have been at work on the next message: on its
    oldest only.
    """

    def __init__(self) -> None:
        self.has_begun = False
        self._pressed_seq = 0
        self._pressed_since_ms = 0

    def is_pressed_long(self, seq: int) -> bool:
        """Note that a message has to wait for a slow reader; tell whether it has for minutes."""
        now = clock.monotonic_ms()
        if seq != self._pressed_seq:
            self._pressed_seq, self._pressed_since_ms = seq, now
        return now - self._pressed_since_ms >= PRESSED_MAX_MS


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

    def hand_to(self, handler: Callable[[Message], object], course: Course) -> bool:
        """Call the handler and acknowledge; tell whether it went well."""
        if self._is_stored:
            self._count(self._attempts + 1)
        try:
            handler(self._message)
        except BackPressure as error:  # whom it writes to is behind: that is no failure yet
            if course.is_pressed_long(self._message["seq"]):
                self._fail(error)
            else:
                self._count(self._attempts, pause_ms=error.wait_ms)
            return False
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is its failure
            self._fail(error)
            return False
        except BaseException:  # an interrupt is nobody's failure
            if self._is_stored:
                self._count(self._attempts)
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
        text = text.encode("utf-8", "replace").decode()  # what no database could keep
        log = logging.getLogger("gitworker.bus")
        log.warning(
            "attempt %d at message %s failed: %s", self._attempts, self._message["id"], text
        )
        if self._attempts >= self._policy.attempts:
            self._bury(text)
        else:
            self._count(self._attempts, text, pause_ms=backoff_ms(self._attempts))

    def _count(self, attempts: int, error: str = "", *, pause_ms: int = 0) -> None:
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
