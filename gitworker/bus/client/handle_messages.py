"""Pass messages to a handler: at least once, in order, without skipping one.

If the handler fails, the message is tried again after a pause. After some attempts it becomes a
dead letter: a copy is stored in `dead_letters`, the cursor passes it, and its sender gets a
message. So one bad message does not block the agent for ever. Each agent has its own cursor and
waits for no other. A handler that waits for a slow reader has not failed, but after five minutes
the wait counts as an attempt; otherwise two agents could wait for each other for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from gitworker import clock
from gitworker.bus.client.loop_heartbeat import LoopHeartbeat
from gitworker.bus.consume import acknowledge
from gitworker.bus.following.message_fields import message_fields
from gitworker.bus.limits.back_pressure import BackPressure
from gitworker.bus.message_ids import derived_id
from gitworker.bus.publish import Outgoing, publish
from gitworker.bus.rules_message import BACKOFF_LAST_MS, backoff_ms
from gitworker.errors import Conflict
from gitworker.model.message import MessageType
from gitworker.store.messages.deliveries import (
    Attempts,
    Delivery,
    bury_message,
    find_attempts,
    forget_attempts,
    record_attempts,
)
from gitworker.store.messages.mailbox import move_cursor

if TYPE_CHECKING:
    from collections.abc import Callable

    from gitworker.bus.client.received_message import Message
    from gitworker.paths import StatePaths
    from gitworker.store.api import Store, Waker
    from gitworker.store.messages.mailbox import StoredMessage

ERROR_SHOWN = 500
POLL_S = 0.2  # how soon the loop notices a stop
BATCH = 100
PRESSED_MAX_MS = 5 * 60 * 1000  # back-pressure counts as a failed attempt after this time


class Inbox(Protocol):
    """The part of `Bus` that the loop uses."""

    agent: str
    paths: StatePaths
    task: str | None

    @property
    def store(self) -> Store:
        """Return this thread's connection."""
        ...

    def unread_rows(self, limit: int) -> list[StoredMessage]:
        """Return the oldest unread messages."""
        ...

    def waker(self) -> Waker:
        """Return this thread's waker."""
        ...

    def export(self) -> None:
        """Update the log files."""
        ...


class Policy(NamedTuple):
    """When the loop stops, and after how many failed attempts a message becomes a dead letter."""

    is_stopped: Callable[[], bool]
    attempts: int


def process(bus: Inbox, handler: Callable[[Message], object], policy: Policy) -> None:
    """Pass unread messages to `handler` until the policy stops it (see Bus.process_loop)."""
    progress = LoopState()
    with LoopHeartbeat(bus.paths.database, agent=bus.agent, task=bus.task):
        while not policy.is_stopped():
            try:
                _deliver_batch(bus, handler, policy, progress)
            except Conflict:  # another program keeps the database locked
                progress.has_begun = False
                bus.waker().wait(POLL_S)


def _deliver_batch(
    bus: Inbox, handler: Callable[[Message], object], policy: Policy, progress: LoopState
) -> None:
    """Deliver the next batch, or wait a short time for one."""
    rows = bus.unread_rows(BATCH)
    if not rows:
        bus.export()
        bus.waker().wait(POLL_S)
    for row in rows:
        if policy.is_stopped():
            break
        delivery = Handling(bus, message_fields(row, blobs=bus.paths.blobs), policy)
        if not progress.has_begun:
            delivery.load()
        progress.has_begun = delivery.may_begin() and delivery.deliver_to(handler, progress)
        if not progress.has_begun:  # the failed message comes again, with its stored attempts
            break


class LoopState:
    """The state that a loop keeps from one batch to the next.

    `has_begun` is False if the next message may have been in work when an earlier process died.
    """

    def __init__(self) -> None:
        self.has_begun = False
        self._pressed_seq = 0
        self._pressed_since_ms = 0

    def is_pressed_long(self, seq: int) -> bool:
        """Note that a message waits for a slow reader; return whether it has waited too long."""
        now = clock.monotonic_ms()
        if seq != self._pressed_seq:
            self._pressed_seq, self._pressed_since_ms = seq, now
        return now - self._pressed_since_ms >= PRESSED_MAX_MS


class Handling:
    """One message on its way to a handler, with the number of attempts."""

    def __init__(self, bus: Inbox, message: Message, policy: Policy) -> None:
        self._bus = bus
        self._message = message
        self._policy = policy
        self._delivery = Delivery(bus.agent, message["seq"])
        self._attempts = 0
        self._retry_at_ms = 0
        self._is_stored = False

    def load(self) -> None:
        """Read the number of earlier attempts; from now on, store each attempt before it begins.

        Otherwise a handler that kills its process would be called for ever.
        """
        with self._bus.store.read() as reader:
            self._attempts, self._retry_at_ms = find_attempts(reader, self._delivery)
        self._is_stored = True

    def may_begin(self) -> bool:
        """Wait until the next attempt is due; return False if the loop must not try now."""
        wait_ms = min(self._retry_at_ms - clock.now_ms(), BACKOFF_LAST_MS)
        deadline = clock.monotonic_ms() + wait_ms
        while clock.monotonic_ms() < deadline:
            if self._policy.is_stopped():
                return False
            clock.sleep(min(POLL_S, max(0, deadline - clock.monotonic_ms()) / 1000))
        if self._attempts >= self._policy.attempts:  # each killed its process
            self._bury("the process ended while it was handled")
            return False
        return True

    def deliver_to(self, handler: Callable[[Message], object], progress: LoopState) -> bool:
        """Call the handler and acknowledge the message; return whether the handler succeeded."""
        if self._is_stored:
            self._count(self._attempts + 1)
        try:
            handler(self._message)
        except BackPressure as error:  # the addressee is behind, which is not a failure yet
            if progress.is_pressed_long(self._message["seq"]):
                self._fail(error)
            else:
                self._count(self._attempts, pause_ms=error.wait_ms)
            return False
        except Exception as error:  # noqa: BLE001 - any exception is a failed attempt
            self._fail(error)
            return False
        except BaseException:  # an interrupt does not count as a failure
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
            move_cursor(writer, bus.agent, seq, now=clock.now_ms())
            forget_attempts(writer, self._delivery)

    def _fail(self, error: Exception) -> None:
        import logging  # 20 ms, only after a failure

        self._attempts += 1
        text = f"{type(error).__name__}: {error}"[:ERROR_SHOWN]
        text = text.encode("utf-8", "replace").decode()  # SQLite stores no lone surrogates
        log = logging.getLogger("gitworker.bus")
        log.warning(
            "attempt %d at message %s failed: %s", self._attempts, self._message["id"], text
        )
        if self._attempts >= self._policy.attempts:
            self._bury(text)
        else:
            self._count(self._attempts, text, pause_ms=backoff_ms(self._attempts))

    def _count(self, attempts: int, error: str = "", *, pause_ms: int = 0) -> None:
        counted = Attempts(attempts, clock.now_ms() + pause_ms)
        record_attempts(self._bus.store, self._delivery, counted, error=error)

    def _bury(self, error: str) -> None:
        """Store a copy, notify the sender and move the cursor on, in one transaction."""
        bus, message, now = self._bus, self._message, clock.now_ms()
        with bus.store.write() as writer:
            bury_message(writer, self._delivery, attempts=self._attempts, error=error, now=now)
            move_cursor(writer, bus.agent, message["seq"], now=now)
            forget_attempts(writer, self._delivery)
            # Without this condition two failing handlers would notify each other for ever.
            if message["type"] != MessageType.DEAD_LETTER:
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
