"""The inbox of a worker: its unread messages, and what others say to all about its task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.model.message import AUTOMATIC
from gitworker.model.ref_names import short_name
from gitworker.observe.inbox.inbox import Inbox, InboxItem
from gitworker.observe.inbox.read_messages import ReadMessage, open_messages, read_message
from gitworker.observe.inbox.rules_needs import STATE
from gitworker.store.messages.inboxes import inbox_messages, last_hand_in
from gitworker.store.messages.mailbox import cursor_of, newest_seq, task_of_worker
from gitworker.store.records.tips import all_tips
from gitworker.store.workers import find_worker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitworker.session import Session
    from gitworker.store.messages.mailbox import StoredMessage


def read_mail(session: Session, *, limit: int) -> Inbox:
    """Read the unread messages to the caller, and those of others to all about its task.

    The broadcasts that are left out count as read, so the whole bus up to this moment may be
    acknowledged afterwards; with more than `limit` messages, the bus up to the last one.
    """
    agent = session.actor
    with session.store.read() as reader:
        task = task_of_worker(reader, agent)
        found = inbox_messages(reader, agent, task=task, automatic=AUTOMATIC, limit=limit + 1)
        newest, cursor = newest_seq(reader), cursor_of(reader, agent)
        handed_in = last_hand_in(reader, agent, task)
        branches = {short_name(ref) for ref in all_tips(reader)}
    shown, has_more = found[:limit], len(found) > limit
    upto = shown[-1].seq if has_more else newest
    mail = open_messages(shown, blobs=session.paths.blobs, handed_in=handed_in, branches=branches)
    items = [*map(_item, mail), *_state(session)]
    return Inbox(
        agent,
        clock.now_ms(),
        tuple(items),
        has_more=has_more,
        upto=upto if upto > cursor else None,
    )


def _state(session: Session) -> Iterator[InboxItem]:
    """Yield the state of the worker's branch or worktree that it has to change, if there is any."""
    from gitworker.observe.next_step.trouble import read_trouble
    from gitworker.observe.next_step.unsubmitted import read_unsubmitted

    with session.store.read() as reader:
        worker = find_worker(reader, session.actor)
    if worker is None or worker.branch is None:
        return
    trouble = read_trouble(session, worker) or read_unsubmitted(session, worker)
    if trouble is not None:
        yield InboxItem(
            STATE, worker.worker_id, trouble.words, worker.state_changed_at_ms,
            command=trouble.command, task=worker.task_id,
        )  # fmt: skip


def message_item(message: StoredMessage, *, blobs: str) -> InboxItem:
    """Return a message as an item of the inbox."""
    return _item(read_message(message, blobs=blobs))


def _item(found: ReadMessage) -> InboxItem:
    message = found.message
    return InboxItem(
        message.type,
        message.from_agent,
        found.text,
        message.ts_ms,
        command=found.command,
        task=message.correlation_id,
        seq=message.seq,
        id=message.id,
        payload=found.payload,
    )
