"""The facts that an agent's hook decides by, and its memory between two calls.

On the hot path: nothing heavy is imported here.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from gitworker.store.api import Reader, Row, Store


class HookFacts:
    """A worker as its agent's hooks see it.

    `status` and `beat_ms` are those of its last heartbeat. `cursor` and `newest` are positions on
    the bus. `is_interrupted`: a sign of work brings it back to work. The others are the hooks'
    memory: the status that they set last, how often in a row they kept the agent at work, the last
    reason, and the lost claims that they reported.
    """

    __slots__ = (
        "base_oid", "beat_ms", "boot_id", "branch", "cursor", "host", "is_interrupted", "is_paused",
        "lost", "newest", "pid", "pid_ns", "pid_start", "reason", "returned_by", "returned_tip",
        "set_status", "stale_from", "state", "status", "stops", "task_id", "version",
        "waits_for_author",
    )  # fmt: skip
    state: str
    version: int
    stale_from: str | None
    task_id: str | None
    branch: str | None
    base_oid: str | None
    waits_for_author: int
    returned_by: str | None
    returned_tip: str | None
    status: str | None
    beat_ms: int | None
    pid: int | None
    pid_start: str | None
    host: str | None
    boot_id: str | None
    pid_ns: str | None
    is_interrupted: bool
    is_paused: int
    cursor: int
    newest: int
    set_status: str | None
    stops: int
    reason: str | None
    lost: str

    def __init__(self, row: Row) -> None:
        for name in self.__slots__:
            setattr(self, name, row[name])

    @property
    def memory(self) -> tuple[str | None, int, str | None, str]:
        """Return the part that `remember` writes."""
        return self.set_status, self.stops, self.reason, self.lost


def find_hook_facts(reader: Reader, worker: str) -> HookFacts | None:
    """Return the facts of a worker, or None if it does not exist."""
    row = reader.row("hooks.facts", worker=worker)
    return None if row is None else HookFacts(row)


def remember(store: Store, worker: str, facts: HookFacts) -> None:
    """Store the memory of a worker's hooks in a transaction of its own, not synced to disk."""
    store.write_one(
        "hooks.remember", durable=False, worker=worker, status=facts.set_status,
        stops=facts.stops, reason=facts.reason, lost=facts.lost,
    )  # fmt: skip
