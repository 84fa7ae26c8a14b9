"""Check a message of an agent or user and publish it durably. On the hot path."""

from __future__ import annotations

from gitworker import clock
from gitworker.bus.blobs import INLINE_MAX_BYTES, save_blob
from gitworker.bus.limits.back_pressure import check_pressure
from gitworker.bus.message_ids import new_id
from gitworker.bus.rules_message import (
    EXAMPLE,
    KEYS,
    WORDS,
    check_addressee,
    check_payload,
    check_type,
    check_verdict,
    may_be_deep,
    may_be_infinite,
)
from gitworker.errors import Invalid, NotFound
from gitworker.model.ids import RESERVED
from gitworker.store.messages.mailbox import (
    NewMessage,
    find_agent_id,
    is_json,
    is_task,
    is_worker,
    payload_kinds,
    payload_words,
    publish_message,
    task_of_worker,
)

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from gitworker.bus.limits.send_limits import Limits
    from gitworker.store.api import Reader, Store

ID_MAX = 200


class MessageDraft:
    """A message to send; `to` is a worker or a task, None a broadcast."""

    __slots__ = ("correlation_id", "id", "in_reply_to", "payload", "to", "type")

    def __init__(
        self,
        type: str,
        payload: str | None = None,
        *,
        to: str | None = None,
        id: str | None = None,
        correlation_id: str | None = None,
        in_reply_to: str | None = None,
    ) -> None:
        self.type = type
        self.payload = payload
        self.to = to
        self.id = id
        self.correlation_id = correlation_id
        self.in_reply_to = in_reply_to


def send(
    store: Store, draft: MessageDraft, *, sender: str, task: str | None, blobs: str, limits: Limits
) -> str:
    """Publish a message and return its id; it is on disk on return.

    `task` is the worktree's task; the draft's correlation id, the addressed task and the addressed
    worker's task come first. A known id publishes nothing. Raises Invalid for a bad type, id or
    payload, Refused for a verdict on the sender's own work, NotFound for an unknown addressee,
    BackPressure if the sender or the addressee is over a limit. Nothing is written then.
    """
    check_type(draft.type)
    for name in ("id", "correlation_id", "in_reply_to"):
        check_text(getattr(draft, name), name)
    raw = None if draft.payload is None else _payload_bytes(draft.payload, limits.message_max_bytes)
    with store.read() as reader:
        if draft.payload is not None:
            _check_json(reader, draft.type, draft.payload)
        check_addressee(draft.type, draft.to)
        to, addressed = (None, None) if draft.to is None else address(reader, draft.to)
        mine = own_task(reader, sender)
        correlation_id = draft.correlation_id or addressed or task or mine
        is_own_work = mine is not None and (to == sender or correlation_id == mine)
        check_verdict(draft.type, is_own_work=is_own_work)
    check_pressure(store, sender, to, limits)
    is_large = raw is not None and len(raw) > INLINE_MAX_BYTES
    message_id = draft.id or new_id()
    message = NewMessage(
        message_id,
        draft.type,
        ts_ms=clock.now_ms(),
        sender=sender,
        to=to,
        correlation_id=correlation_id,
        in_reply_to=draft.in_reply_to,
        payload=None if is_large else draft.payload,
    )
    if not is_large or raw is None:
        publish_message(store, message)
        return message_id
    message.payload_ref = save_blob(blobs, raw)
    publish_message(store, message)
    save_blob(blobs, raw)  # again, in case a prune deleted it before the message was inserted
    return message_id


def address(reader: Reader, to: str) -> tuple[str, str | None]:
    """Return the agent that a name means and its task, if there is one; else raise NotFound."""
    return require_addressee(reader, to), _task_named(reader, to)


def require_addressee(reader: Reader, name: str) -> str:
    """Return the agent that a worker id, a task id or a reserved name means.

    A worker id wins over an equal task id. An agent that has a heartbeat or a cursor, or has
    published a message, is known too.
    """
    if not name.isprintable():  # such as lone surrogates, which SQLite refuses
        raise NotFound(f"no worker and no task is called {ascii(name)[:80]}", "git worker list")
    agent = name if name in RESERVED else find_agent_id(reader, name)
    if agent is not None:
        return agent
    if is_task(reader, name):
        raise _without_worker(reader, name)
    raise NotFound(f"no worker and no task is called {ascii(name)[:80]}", "git worker list")


def _without_worker(reader: Reader, task: str) -> NotFound:
    from gitworker.states.task_machine import without_worker  # 5 ms, for a refusal only
    from gitworker.store.tasks import find_task

    found = find_task(reader, task)
    assert found is not None, task
    hint = "git worker task edit {} --context <text>   # for its next agent"
    return without_worker(task, found.status, hint=hint)


def _task_named(reader: Reader, to: str) -> str | None:
    """Return the task that an addressee names, or that the worker of this name holds."""
    if to in RESERVED:
        return None
    if is_worker(reader, to):
        return task_of_worker(reader, to)
    return to if is_task(reader, to) else None


def own_task(reader: Reader, sender: str) -> str | None:
    """Return the task that a worker holds; None for any other sender."""
    return None if sender in RESERVED else task_of_worker(reader, sender)


def _payload_bytes(payload: str, max_bytes: int) -> bytes:
    try:
        raw = payload.encode()
    except UnicodeEncodeError:
        raise Invalid("the payload is not valid UTF-8") from None
    if len(raw) > max_bytes:
        raise Invalid(
            f"the payload has {len(raw)} bytes; {max_bytes} are allowed (message.max_bytes)",
            "put it into a file in the worktree and send its path",
        )
    return raw


def _check_json(reader: Reader, type: str, payload: str) -> None:
    if "\0" in payload or not is_json(reader, payload):
        raise Invalid(
            f"the payload is not valid JSON: {ascii(payload[:60])}",
            f"{EXAMPLE}   # or @FILE, or - for stdin",
        )
    if may_be_deep(payload) or may_be_infinite(payload):
        from gitworker.bus.encode import require_readable  # json: 8 ms, only for such payloads

        require_readable(payload)
    if type in KEYS:
        kinds = payload_kinds(reader, payload)
        values = payload_words(reader, payload) if type in WORDS else {}
        check_payload(type, kinds["kind"], kinds, values)


def check_text(text: str | None, name: str) -> None:
    """Raise Invalid unless the id has 1 to 200 printable characters."""
    if text is None:
        return
    if not text or len(text) > ID_MAX or not text.isprintable():
        raise Invalid(
            f"{name.replace('_', '-')} must be 1 to {ID_MAX} printable characters:"
            f" {ascii(text[:60])}"
        )
