"""Wait for the answer to a message."""

from collections.abc import Callable
from typing import Any

from gitworker import clock
from gitworker.bus.following.follow_messages import MAX_WAIT_S
from gitworker.bus.following.message_fields import message_fields
from gitworker.errors import Conflict
from gitworker.paths import StatePaths
from gitworker.rules_text import quoted
from gitworker.store.api import Store, Waker
from gitworker.store.messages.mailbox import StoredMessage, find_message, find_reply, newest_seq


def wait_reply(
    store: Store,
    paths: StatePaths,
    waker: Waker,
    asked: str,
    *,
    agent: str,
    timeout_s: float,
    check: Callable[[], object] = lambda: None,
) -> dict[str, Any]:
    """Return the first answer to the message with the id `asked`, which `agent` has sent.

    An answer has that id as `in_reply_to` or, if it is addressed to the agent, as `correlation_id`.
    Raises Conflict (`timeout`) if no answer comes within `timeout_s` seconds. Calls `check` after
    each wait, which may raise to end the wait. Writes nothing.
    """
    deadline = clock.monotonic_ms() + timeout_s * 1000
    with store.read() as reader:
        own = find_message(reader, asked)
    after = own.seq if own else 0
    while True:
        with store.read() as reader:
            reply = find_reply(reader, asked, agent=agent, after=after)
            after = newest_seq(reader)
        if reply is not None:
            return message_fields(reply, blobs=paths.blobs)
        left_s = (deadline - clock.monotonic_ms()) / 1000
        if not left_s > 0:  # also true for a NaN
            raise _timeout(asked, own, timeout_s)
        waker.wait(min(left_s, MAX_WAIT_S))
        check()


def _timeout(asked: str, own: StoredMessage | None, timeout_s: float) -> Conflict:
    to = (own.to_agent if own else None) or "the addressee"
    kept = f"{quoted(own.type)} --to {to} --id {asked}" if own else f"<type> --id {asked}"
    return Conflict(
        f"{to} did not answer within {timeout_s:g} s",
        f"git worker msg request {kept} --timeout 600   # waits, sends nothing",
        code="timeout",
    )
