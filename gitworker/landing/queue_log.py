"""The records of the queue: a row for each window, and messages on the bus."""

from typing import Any

from gitworker import clock
from gitworker.bus.publish import Outgoing, publish
from gitworker.crashpoint import crash_point
from gitworker.landing.prepare import Prepared
from gitworker.landing.search.verify_window import Record, label_of
from gitworker.model.message import MessageType
from gitworker.model.ref_names import QUEUE
from gitworker.repo.plumbing.refs import change_refs, require_refs
from gitworker.session import Session
from gitworker.store.api import Writer
from gitworker.store.windows import close_window, open_window, record_verdicts


def open_record(session: Session, window: list[Prepared], *, size: int) -> int:
    """Record a window that is to be verified, and protect its commits from `git gc`."""
    tip = window[-1].rewrite.new
    require_refs(session.git, [f"update {QUEUE} {tip}"], reason="gitworker: window")
    workers: list[dict[str, Any]] = [
        {"worker": one.worker.worker_id, "task": one.worker.task_id, "commit": one.rewrite.new}
        for one in window
    ]
    with session.store.write() as writer:
        number = open_window(
            writer, base=window[0].base, workers=workers, size=size, actor=session.actor,
            machine=session.store.fleet_machine, now=clock.now_ms(),
        )  # fmt: skip
        names = " ".join(one.worker.worker_id for one in window)
        payload = {"base": window[0].base, "workers": workers, "text": names}
        _publish(session, writer, MessageType.WINDOW, {"window": number, **payload})
    crash_point("queue.opened")
    return number


def recorder(session: Session, number: int, window: list[Prepared]) -> Record:
    """Return a function that records the verdicts on a window so far, and publishes the last."""

    def record(writer: Writer, verdicts: list[dict[str, Any]]) -> None:
        last = verdicts[-1]
        result = "passed" if last["passed"] else "failed"
        text = f"{label_of(window, last['prefix'])} {result}"
        record_verdicts(writer, number, verdicts)
        _publish(session, writer, MessageType.VERIFY, {"window": number, **last, "text": text})

    return record


class WindowEnd:
    """The end of a window, which is recorded alone or in the transaction of its landings.

    The ref of its commits goes first: if a kill leaves the row open, the next window closes it.
    Without `verdicts` the recorded ones remain.
    """

    def __init__(
        self,
        session: Session,
        number: int,
        outcome: str,
        *,
        verdicts: list[dict[str, Any]] | None = None,
        landed: int = 0,
    ) -> None:
        self.is_recorded = False
        self._session = session
        self._number = number
        self._outcome = outcome
        self._verdicts = verdicts
        self._landed = landed

    def release(self) -> None:
        """Let `git gc` have the commits that the target does not have."""
        change_refs(self._session.git, [f"delete {QUEUE}"], reason="gitworker: window")

    def record(self, writer: Writer) -> None:
        """Record and publish the end."""
        close_window(
            writer, self._number, self._outcome, landed=self._landed, verdicts=self._verdicts,
            now=clock.now_ms(),
        )  # fmt: skip
        payload = {
            "window": self._number, "outcome": self._outcome, "landed": self._landed,
            "text": self._outcome,
        }  # fmt: skip
        _publish(self._session, writer, MessageType.WINDOW, payload)

    def close(self) -> None:
        """Record the end alone."""
        self.release()
        with self._session.store.write() as writer:
            self.record(writer)
        crash_point("queue.closed")


def _publish(session: Session, writer: Writer, kind: str, payload: dict[str, Any]) -> None:
    publish(writer, Outgoing(kind, sender=session.actor, payload=payload), now=clock.now_ms())
