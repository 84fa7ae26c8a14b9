"""The messages that one reader has to act on, as stored.

On the hot path: nothing heavy is imported here.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitworker.model.ids import Oid
    from gitworker.store.api import Reader, Row
    from gitworker.store.messages.mailbox import StoredMessage


def inbox_messages(
    reader: Reader, agent: str, *, task: str | None, automatic: Iterable[str], limit: int
) -> list[StoredMessage]:
    """Return the oldest unread messages to an agent, and those of others to all about its task.

    The types in `automatic` are left out of the latter. Commands that the agent's supervisor has
    carried out are left out too.
    """
    left_out = ",".join(f'"{type}"' for type in automatic)  # types are plain words
    rows = reader.rows(
        "messages.inbox", agent=agent, task=task, automatic=f"[{left_out}]", limit=limit
    )
    return _messages(rows)


def unanswered_messages(reader: Reader, agent: str, *, limit: int) -> list[StoredMessage]:
    """Return the oldest unanswered messages to an agent: the unread ones, and all questions."""
    rows = reader.rows("messages.unanswered", agent=agent, limit=limit)
    return _messages(rows)


def last_hand_in(reader: Reader, worker: str, task: str | None) -> int:
    """Return the position of a worker's last hand-in of a task, 0 without one."""
    row = reader.row("messages.last_hand_in", worker=worker, task=task)
    return int(row["seq"] or 0) if row else 0


def newest_commit(reader: Reader, worker: str, task: str | None) -> Oid | None:
    """Return the commit of a task that a worker has published last, or None."""
    row = reader.row("messages.newest_progress", worker=worker, task=task)
    if row is None:
        return None
    import json  # 3 ms, on no hot path

    from gitworker.model.ids import Oid, is_oid

    try:
        commit = json.loads(row["payload"])["commit"]
    except (ValueError, TypeError, KeyError):  # a foreign message
        return None
    return Oid(commit) if isinstance(commit, str) and is_oid(commit) else None


def newest_verdict(reader: Reader, worker: str, task: str | None) -> StoredMessage | None:
    """Return the verdict on a worker's last hand-in of a task; None if it is still open."""
    row = reader.row("messages.newest_verdict", worker=worker, task=task)
    return _messages([row])[0] if row is not None and row["to_agent"] == worker else None


def newest_log(reader: Reader, worker: str, task: str | None, event: str, *, since_ms: int) -> str:
    """Return the text of a worker's newest log message about an event; empty without one."""
    row = reader.row(
        "messages.newest_log", worker=worker, task=task, event=event, since_ms=since_ms
    )
    if row is None:
        return ""
    import json  # 3 ms, on no hot path

    return str(json.loads(row["payload"]).get("message") or "")


def _messages(rows: list[Row]) -> list[StoredMessage]:
    if not rows:
        return []
    from gitworker.store.messages.mailbox import StoredMessage  # 0.5 ms, for most hooks in vain

    return [StoredMessage(row) for row in rows]
