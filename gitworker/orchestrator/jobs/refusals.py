"""The workers of a run whose work could not land or be tested, until something has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.orchestrator.facts import Picture
    from gitworker.store.workers import Worker


class Refusals:
    """The reason for each worker, and the version of its row at that time.

    A worker whose row has changed since is tried again.
    """

    __slots__ = ("reasons", "versions")

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}
        self.versions: dict[str, int] = {}

    def add(self, worker: Worker, reason: str) -> None:
        """Note that a worker's present work was refused."""
        self.reasons[worker.worker_id] = reason
        self.versions[worker.worker_id] = worker.version

    def replace(self, reasons: Mapping[str, str], *, keeps: bool = False) -> None:
        """Note the refusals of a landing alone; their versions follow from the next picture.

        `keeps`: the former ones remain.
        """
        if not keeps:
            self.reasons, self.versions = {}, {}
        self.reasons |= reasons

    def mark(self, picture: Picture) -> Picture:
        """Return the picture with the workers that were refused; forget those that have changed."""
        for worker in list(self.reasons):
            slot = picture.slots.get(worker)
            version = self.versions.get(worker)
            if slot is None or version not in (None, slot.worker.version):
                self.reasons.pop(worker)
                self.versions.pop(worker, None)
            elif version is None:
                self.versions[worker] = slot.worker.version
                picture = picture.refusing(worker)
        return picture
