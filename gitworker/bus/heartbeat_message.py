"""One heartbeat: the row, the claims that it renews, and `task_blocked` if the agent is blocked.

On the hot path: nothing heavy is imported here.
"""

from __future__ import annotations

from gitworker.bus.caller.identity import ambiguous_caller
from gitworker.bus.files.state_file_heartbeat import update_state_file_heartbeat
from gitworker.errors import Conflict, NotFound
from gitworker.model.ids import HQ
from gitworker.store.claims import forget_grant, lost_claims, renew_claims
from gitworker.store.heartbeats import find_heartbeat, record_heartbeat, renew_heartbeat
from gitworker.store.messages.mailbox import (
    NewMessage,
    find_worker_id,
    insert_message,
    task_of_worker,
)

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from gitworker.paths import StatePaths
    from gitworker.store.api import Reader, Store, Writer
    from gitworker.store.heartbeats import StoredHeartbeat

    # The last heartbeat, if there is one, and the worker's task.
    Known = tuple[StoredHeartbeat | None, str | None]

BLOCKED = "blocked"


class HeartbeatReport:
    """The values that an agent reports with a heartbeat; None keeps the last reported value."""

    __slots__ = ("progress", "status", "task")

    def __init__(
        self, status: str | None = None, task: str | None = None, progress: float | None = None
    ) -> None:
        self.status = status
        self.task = task
        self.progress = progress

    @property
    def is_silent(self) -> bool:
        """Return whether the heartbeat reports no value."""
        return self.status is None and self.task is None and self.progress is None


def send_heartbeat(
    store: Store, paths: StatePaths, *, worker: str, sign: HeartbeatReport, lease_ms: int
) -> bool:
    """Record a heartbeat, also in the worker's state file, and renew the worker's claims.

    If the agent has just become blocked, publishes `task_blocked` and returns True. That message is
    synced to disk; a heartbeat is not.
    """
    with store.read() as reader:
        before = find_heartbeat(reader, worker)
        task = task_of_worker(reader, worker)
    blocks = sign.status == BLOCKED and (before is None or before.status != BLOCKED)
    with store.write(durable=blocks) as writer:
        now = _record(writer, worker, sign, (before, task))
        renew_claims(writer, worker, setting_ms=lease_ms)
        if blocks:
            from gitworker.bus.message_ids import new_id  # 0.5 ms, not for every heartbeat
            from gitworker.model.message import MessageType

            message = NewMessage(
                new_id(),
                MessageType.TASK_BLOCKED,
                ts_ms=now,
                sender=worker,
                correlation_id=sign.task or task,
            )
            insert_message(writer, message)
    update_state_file_heartbeat(paths, worker, now)
    return blocks


def require_claims_kept(store: Store, worker: str) -> None:
    """Raise Conflict, naming the present holders, if a worker has lost a claim.

    The loss of its task is reported until it takes the task again or gives it up, the loss of
    another claim only once.
    """
    with store.read() as reader:
        lost = lost_claims(reader, worker)
        task = task_of_worker(reader, worker) if lost else None
    if not lost:
        return
    reported_once = [name for name, _ in lost if name != task]
    if reported_once:
        with store.write(durable=False) as writer:
            for name in reported_once:
                forget_grant(writer, name, worker)
    shown = ", ".join(
        f"{name} ({'held by ' + holder if holder else 'free'} now)" for name, holder in lost
    )
    raise Conflict(
        f"worker {worker} lost its claim on {shown}",
        f"git worker claim take '{lost[0][0]}'   # when it is free",
        code="claim_lost",
    )


def require_heartbeat_worker(
    reader: Reader, name: str | None, actor: str, *, other: str | None = None
) -> str:
    """Return the id of a worker that is named by id, task or branch, by default the caller.

    Raises NotFound if there is no such worker, and Refused without a name if the worktree belongs
    to `other` than GITWORKER_ID.
    """
    if name is None and actor == HQ:
        raise NotFound(
            "no worker was named, and this directory is not in a worker's worktree",
            "git worker list",
        )
    if name is None and other is not None:
        raise ambiguous_caller(actor, other)
    wanted = name or actor
    worker = find_worker_id(reader, wanted)
    if worker is None:
        raise _unknown(reader, wanted)
    return worker


def _unknown(reader: Reader, name: str) -> NotFound:
    from gitworker.states.task_machine import without_worker  # 5 ms, for a refusal only
    from gitworker.store.tasks import find_task

    task = find_task(reader, name)
    if task is not None:
        return without_worker(task.id, task.status)
    return NotFound(f"no worker, task or branch is called {ascii(name)[:80]}", "git worker list")


def _record(
    writer: Writer,
    worker: str,
    sign: HeartbeatReport,
    known: Known,
) -> int:
    before, task = known
    if sign.is_silent:
        return renew_heartbeat(writer, worker, task=task)
    last_progress = before.progress if before else None
    return record_heartbeat(
        writer,
        worker,
        status=sign.status or (before.status if before else "working"),
        task=sign.task or task,
        progress=last_progress if sign.progress is None else sign.progress,
    )
