"""The bus for agents written in Python.

    from gitworker.bus import open_bus

    with open_bus() as bus:
        bus.publish("status", {"phase": "tests", "progress": 0.5})
        for message in bus.poll():
            ...
            bus.ack(message["seq"])

A message is a dict: `seq`, `id`, `ts` (ISO 8601, milliseconds), `from`, `to` (None: a broadcast),
`type`, `correlation_id` (the task), `in_reply_to`, `payload`, `payload_ref`, and `payload_error`
(`blob_missing`, `decode_failed` or None). Delivery is at least once: a handler must be idempotent
or drop messages whose `id` it knows. Errors are those of `gitworker.errors`.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from gitworker import clock
from gitworker.bus.blobs import INLINE_MAX_BYTES, blob_bytes, save_blob
from gitworker.bus.caller.identity import caller_identity, find_worktree_task
from gitworker.bus.client.handle_messages import Policy, process
from gitworker.bus.client.received_message import Message
from gitworker.bus.consume import POLL_LIMIT, acknowledge, require_position
from gitworker.bus.encode import encode_payload
from gitworker.bus.files.export import export_logs
from gitworker.bus.following.follow_messages import MAX_WAIT_S, MessageFilter, follow
from gitworker.bus.following.message_fields import message_fields
from gitworker.bus.following.notify_followers import FollowerNotifier
from gitworker.bus.limits.back_pressure import Pressure
from gitworker.bus.limits.send_limits import load_limits
from gitworker.bus.message_ids import new_id
from gitworker.bus.request import wait_reply
from gitworker.bus.rules_message import ATTEMPTS, check_addressee, check_type
from gitworker.bus.send import address, check_text, own_task
from gitworker.errors import GitWorkerError, Unavailable
from gitworker.model.ids import HQ, parse_agent_id
from gitworker.paths import StatePaths, require_repository, state_paths
from gitworker.store.backend import open_store
from gitworker.store.messages.mailbox import (
    NewMessage,
    StoredMessage,
    insert_message,
    publish_message,
    unread_messages,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from gitworker.store.api import Store, Waker

# A message to publish: type, payload, to, id, correlation_id, in_reply_to.
Draft = tuple[str, Any, str | None, str | None, str | None, str | None]
POLL_BYTES = 16 * 1024 * 1024  # of large payloads in one batch; a single payload may be as large
POLL_S = 0.2  # how soon a loop notices a stop


def open_bus(path: str | None = None, *, agent: str | None = None, task: str | None = None) -> Bus:
    """Open the bus of the current repository, or the one at `path` (a state directory).

    `path` defaults to GITWORKER_BUS, which `exec` sets. `agent` is the sender, by default
    GITWORKER_ID, the worktree's worker or `hq`. `task` is the default task of messages, by default
    GITWORKER_TASK, the worktree's task or the agent's task. Raises Unavailable if gitworker is not
    set up (`git worker init`), Invalid for a bad agent id.
    """
    is_own_task = agent in (None, os.environ.get("GITWORKER_ID"))
    given_task = os.environ.get("GITWORKER_TASK") if is_own_task else None
    path = path or os.environ.get("GITWORKER_BUS")
    if path:
        paths = StatePaths(os.path.dirname(path) if path.endswith("/bus.db") else path)
        sender: str = parse_agent_id(agent or os.environ.get("GITWORKER_ID") or HQ)
        worktree_task = None
    else:
        repository = require_repository()
        paths = state_paths(repository)
        sender = caller_identity(repository, agent, os.environ)
        worktree_task = find_worktree_task(repository)
    return Bus(paths, sender, task=task or given_task or worktree_task)


class Bus:
    """One agent's connection to the bus. Any thread may use it; each has a SQLite connection.

    A message is on disk when `publish` returns. `close` closes the connections; those of a thread
    that has ended are closed soon after. The child of a fork gets its own.
    """

    def __init__(self, paths: StatePaths, agent: str, *, task: str | None = None) -> None:
        self.paths = paths
        self.agent = agent
        self._own = threading.local()
        self._opened: list[tuple[threading.Thread, Store | Waker]] = []
        # Inherited by a fork: closed before another is opened.
        self._inherited: list[Store | Waker] = []
        # Of the parent's other threads, after a fork: never closed here.
        self._left: list[Store | Waker] = []
        self._inside: Counter[threading.Thread] = Counter()  # threads in a loop or a wait
        self._lock = threading.Lock()
        self._bell = FollowerNotifier(paths.bell)
        self._agents: set[str] = set()  # addressees that are known to be agent ids
        self._types: set[str] = set()  # message types that are known to be valid
        self._has_published = False
        self._limits = load_limits(paths, os.environ)
        self._pressure = Pressure(agent, self._limits)
        _OPEN_BUSES.add(self)
        with self.store.read() as reader:
            self.task = task or own_task(reader, agent)

    def reset_after_fork(self) -> None:
        """Drop the parent's connections, in the child of a fork.

        SQLite's locks belong to the parent. A message that a child published over the parent's
        connection was lost when another program found the bus unlocked. SQLite is not called here:
        a thread of the parent may have been inside it during the fork.
        """
        here = threading.current_thread()
        self._inherited += [one for thread, one in self._opened if thread is here]
        self._left += [one for thread, one in self._opened if thread is not here]
        self._opened = []
        self._own = threading.local()
        self._lock = threading.Lock()

    @property
    def store(self) -> Store:
        """Return this thread's connection."""
        store: Store | None = getattr(self._own, "store", None)
        if store is None:
            while self._inherited:
                self._inherited.pop().close()
            self._close_of(lambda thread: not thread.is_alive())
            store = self._own.store = open_store(self.paths.database)
            self._keep(store)
        return store

    def publish(
        self,
        type: str,
        payload: Any = None,
        *,
        to: str | None = None,
        id: str | None = None,
        correlation_id: str | None = None,
        in_reply_to: str | None = None,
        durable: bool = True,
    ) -> str:
        """Publish one message and return its id; a known `id` is a retry and publishes nothing.

        `to` is a worker or a task; None is a broadcast. `payload` is any value that JSON can hold.
        Without `durable` the message survives every process but not a power cut. Raises Invalid for
        a bad type, id or payload, NotFound for an unknown addressee, BackPressure (a Conflict with
        `wait_ms`) if a limit blocks it: message.max_unread or message.max_rate.
        """
        return self._publish((type, payload, to, id, correlation_id, in_reply_to), durable=durable)

    def publish_many(
        self, messages: Iterable[Mapping[str, Any]], *, durable: bool = True
    ) -> list[str]:
        """Publish all messages or none, in one transaction and in order; return their ids.

        Each is a mapping with `type` and optionally `payload`, `to`, `id`, `correlation_id` and
        `in_reply_to`. Raises as `publish` does.
        """
        drafts = [_draft_of(message) for message in messages]
        new = [self._new_message(draft) for draft in drafts]
        for to, number in Counter(message.to for message in new).items():
            self._pressure.admit(self.store, to, number)
        with self.store.write(durable=durable) as writer:
            for message in new:
                insert_message(writer, message)
        for message, draft in zip(new, drafts, strict=True):
            self._keep_large(message, draft)
        self._has_published = True
        self._bell.ring()
        return [message.id for message in new]

    def poll(self, limit: int = POLL_LIMIT, *, wait_s: float = 0.0) -> list[Message]:
        """Return the oldest unread messages to this agent or to all, without moving the cursor.

        A batch ends at 16 MiB of large payloads, but has at least one message; the rest comes with
        the next poll, once these are acknowledged. If there are no messages, waits up to `wait_s`
        seconds for one. Raises Unavailable if the bus is closed during the wait.
        """
        if wait_s <= 0:
            return self._unread(limit)
        deadline = clock.monotonic_ms() + wait_s * 1000
        with self._stay() as is_closed:
            waker = self.waker()
            while True:
                found = self._unread(limit)
                left_s = (deadline - clock.monotonic_ms()) / 1000
                if found or not left_s > 0:  # also true for a NaN
                    return found
                waker.wait(min(left_s, MAX_WAIT_S))
                _require_open(is_closed)

    def ack(self, seq: int) -> None:
        """Acknowledge every message up to `seq`; the cursor never moves back.

        Raises Invalid for a position after the newest message.
        """
        store = self.store
        if seq > getattr(self._own, "seen", 0):
            require_position(store, seq)
        acknowledge(store, self.agent, seq)

    def follow(
        self,
        *,
        task: str | None = None,
        type: str | None = None,
        sender: str | None = None,
        since: int | None = None,
        stop: threading.Event | Callable[[], bool] | None = None,
    ) -> Iterator[Message]:
        """Yield all new messages that pass the filters, to any addressee; no cursor moves.

        Begins now, or after position `since`. Ends when `stop` is set (an event) or returns true (a
        function), when the database is deleted, and when the bus is closed.
        """
        store, paths = self.store, self.paths
        is_stopped = _stopper(stop)
        with self._stay() as is_closed, store.open_waker() as waker:
            items = follow(
                store,
                paths,
                MessageFilter(task, type, sender),
                since=since,
                waker=waker,
                max_wait_s=POLL_S,
            )
            for item in items:
                if is_stopped() or is_closed():
                    return
                if item is not None:
                    yield item
                    if is_closed():
                        return

    def request(
        self,
        type: str,
        payload: Any = None,
        *,
        to: str,
        timeout_s: float = 30.0,
        id: str | None = None,
        correlation_id: str | None = None,
    ) -> Message:
        """Publish a message and return the answer: the first later message that has its id as
        `in_reply_to` or `correlation_id`, as those of `reply` do.

        The answer stays unread, as every message does. Raises Conflict (`timeout`) if no answer
        comes within `timeout_s` seconds; a call with the same `id` then only waits. Raises
        Unavailable if the bus is closed during the wait.
        """
        with self._stay() as is_closed:
            asked = self.publish(type, payload, to=to, id=id, correlation_id=correlation_id)
            return wait_reply(
                self.store,
                self.paths,
                self.waker(),
                asked,
                agent=self.agent,
                timeout_s=timeout_s,
                check=lambda: _require_open(is_closed),
            )

    def reply(self, message: Mapping[str, Any], type: str, payload: Any = None) -> str:
        """Answer a message's sender under the same correlation id; return the answer's id.

        The limit on unread messages does not apply, since two agents that answer each other would
        both wait.
        """
        to, correlation_id = message["from"], message["correlation_id"] or message["id"]
        self._agents.add(to)  # a sender is a valid addressee
        draft = (type, payload, to, None, correlation_id, message["id"])
        return self._publish(draft, is_answer=True)

    def process_loop(
        self,
        handler: Callable[[Message], object],
        *,
        stop: threading.Event | Callable[[], bool] | None = None,
        attempts: int = ATTEMPTS,
    ) -> None:
        """Pass every message to `handler`, in order; acknowledge each after the handler returned.

        If the handler raises an Exception, the message comes again after a pause (half a second,
        doubling up to a minute), and later messages wait. After `attempts` failures, counted across
        restarts, it becomes a dead letter: a copy stays in the table `dead_letters`, the cursor
        passes it, and its sender gets a message of type `x-dead-letter`. An attempt that killed the
        process counts as a failure; BackPressure counts after five minutes. Sends the agent's
        heartbeats, also while the handler runs. Returns when `stop` is set or returns true, or the
        bus is closed.
        """
        is_stopped = _stopper(stop)
        with self._stay() as is_closed:
            process(self, handler, Policy(lambda: is_stopped() or is_closed(), attempts))
            self.export()

    def waker(self) -> Waker:
        """Return this thread's waker, which notices writes of other connections to the bus."""
        waker: Waker | None = getattr(self._own, "waker", None)
        if waker is None:
            waker = self._own.waker = self.store.open_waker()
            self._keep(waker)
        return waker

    def export(self) -> None:
        """Update the log files if this object has published; commands do so too."""
        if self._has_published:
            self._has_published = False
            try:
                export_logs(self.store, self.paths)
            except (OSError, GitWorkerError):  # the next export writes the missing lines
                return

    def close(self) -> None:
        """Update the log files and close every connection.

        Other threads that wait, follow or process end within two seconds and close their own.
        """
        self.export()
        self._own = threading.local()
        here = threading.current_thread()
        self._close_of(lambda thread: thread is here or not self._inside[thread])
        self._bell.close()

    def __enter__(self) -> Bus:
        """Return the bus for a `with` block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the bus."""
        self.close()

    def unread_rows(self, limit: int) -> list[StoredMessage]:
        """Return the rows behind `poll`, without reading large payloads."""
        rows = unread_messages(self.store, self.agent, limit=limit)
        if rows:
            self._own.seen = max(getattr(self._own, "seen", 0), rows[-1].seq)
        return rows

    def _unread(self, limit: int) -> list[Message]:
        found: list[Message] = []
        size_bytes = 0
        for row in self.unread_rows(limit):
            if row.payload_ref is not None:
                size_bytes += blob_bytes(self.paths.blobs, row.payload_ref)
            if found and size_bytes > POLL_BYTES:
                break
            found.append(message_fields(row, blobs=self.paths.blobs))
        return found

    def _publish(self, draft: Draft, *, durable: bool = True, is_answer: bool = False) -> str:
        message = self._new_message(draft)
        self._pressure.admit(self.store, None if is_answer else message.to)
        publish_message(self.store, message, durable=durable)
        self._keep_large(message, draft)
        self._has_published = True
        self._bell.ring()
        return message.id

    @contextmanager
    def _stay(self) -> Iterator[Callable[[], bool]]:
        """Keep this thread's connections open if another thread closes the bus.

        Gives a function that returns whether the bus was closed.
        """
        own, here = self._own, threading.current_thread()
        with self._lock:
            self._inside[here] += 1
        try:
            yield lambda: self._own is not own
        finally:
            with self._lock:
                self._inside[here] -= 1
                is_out = not self._inside[here]
                if is_out:
                    del self._inside[here]
            if is_out and self._own is not own:
                self._close_of(lambda thread: thread is here)

    def _keep(self, opened: Store | Waker) -> None:
        with self._lock:
            self._opened.append((threading.current_thread(), opened))

    def _close_of(self, is_over: Callable[[threading.Thread], bool]) -> None:
        """Close the connections of the threads that `is_over` selects."""
        with self._lock:
            over = [(thread, opened) for thread, opened in self._opened if is_over(thread)]
            self._opened = [pair for pair in self._opened if pair not in over]
        for _, opened in reversed(over):
            opened.close()

    def _new_message(self, draft: Draft) -> NewMessage:
        """Check a message and return it as it will be stored; save a large payload as a blob."""
        type, payload, to, id, correlation_id, in_reply_to = draft
        if type not in self._types:
            check_type(type)
            self._types.add(type)
        if id is not None:
            check_text(id, "id")
        if in_reply_to is not None:
            check_text(in_reply_to, "in_reply_to")
        if correlation_id is not None:
            check_text(correlation_id, "correlation_id")
        text, ref = None, None
        if payload is not None:
            text, raw = encode_payload(type, payload, max_bytes=self._limits.message_max_bytes)
            if len(raw) > INLINE_MAX_BYTES:
                text, ref = None, save_blob(self.paths.blobs, raw)
        check_addressee(type, to)
        if to is not None and to not in self._agents:
            with self.store.read() as reader:
                name, task = address(reader, to)
            if name == to and task is None:  # the task of a worker changes
                self._agents.add(to)
            to = name
            correlation_id = correlation_id or task
        now = clock.now_ms()
        return NewMessage(
            id or new_id(now),
            type,
            ts_ms=now,
            sender=self.agent,
            to=to,
            correlation_id=correlation_id or self.task,
            in_reply_to=in_reply_to,
            payload=text,
            payload_ref=ref,
        )

    def _keep_large(self, message: NewMessage, draft: Draft) -> None:
        """Save a large payload again if a prune deleted it before the message was inserted."""
        ref = message.payload_ref
        if ref is not None and not os.path.exists(f"{self.paths.blobs}/{ref}"):
            _, raw = encode_payload(draft[0], draft[1], max_bytes=self._limits.message_max_bytes)
            save_blob(self.paths.blobs, raw)


_OPEN_BUSES: WeakSet[Bus] = WeakSet()


def _after_fork() -> None:
    for bus in list(_OPEN_BUSES):
        bus.reset_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _require_open(is_closed: Callable[[], bool]) -> None:
    if is_closed():
        raise Unavailable("the bus was closed while this call waited", code="closed")


def _draft_of(message: Mapping[str, Any]) -> Draft:
    field = message.get
    return (
        message["type"], field("payload"), field("to"), field("id"), field("correlation_id"),
        field("in_reply_to"),
    )  # fmt: skip


def _stopper(stop: threading.Event | Callable[[], bool] | None) -> Callable[[], bool]:
    if stop is None:
        return lambda: False
    return stop.is_set if isinstance(stop, threading.Event) else stop
