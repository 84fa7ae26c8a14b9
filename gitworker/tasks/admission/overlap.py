"""The paths of tasks: those that a task declares, or else those of the work that it builds on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gitworker.claims.rules_globs import WILD
from gitworker.model.ref_names import ref_of
from gitworker.repo.history.walk import list_changed_files
from gitworker.store.records.task_needs import stacked_needs_of
from gitworker.store.scheduling.starts import declared_paths, running_tasks
from gitworker.store.workers import find_worker_of_task
from gitworker.tasks.admission.rules_overlap import Area, find_overlap, without_overlaps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.session import Session
    from gitworker.store.api import Reader


class Overlaps:
    """Which READY tasks would change the same paths as running ones, as read at one time.

    Until it is asked about a task that declares paths or builds on handed-in work, it reads no
    commits. With `orchestrator.avoid-overlap` off, no task waits.
    """

    __slots__ = ("_areas", "_is_on", "_reader", "_running", "_session")

    def __init__(self, session: Session, reader: Reader) -> None:
        self._session = session
        self._reader = reader
        self._is_on = session.settings.orchestrator_avoid_overlap
        self._areas: dict[str, Area] = {}
        self._running: list[Area] | None = None

    def find(self, task: str) -> str | None:
        """Return the running task whose paths a READY one may meet, or None."""
        area = self._area(task)
        return find_overlap(area, self._at_work()) if area.paths else None

    def first_free(self, ready: Sequence[str], *, number: int) -> tuple[list[str], dict[str, str]]:
        """Return the first `number` tasks that meet no other, and the other one of each that waits.

        If no task has paths these are all tasks.
        """
        areas = [self._area(task) for task in ready]
        if not any(area.paths for area in areas):
            return list(ready), {}
        return without_overlaps(areas, self._at_work(), number=number)

    def _area(self, task: str) -> Area:
        if task not in self._areas:
            area = _expected(self._session, self._reader, task) if self._is_on else Area(task, ())
            self._areas[task] = area
        return self._areas[task]

    def _at_work(self) -> list[Area]:
        if self._running is None:
            self._running = _running(self._session, self._reader)
        return self._running


def _expected(session: Session, reader: Reader, task: str) -> Area:
    """Return the paths that a task declares, or else those of the work on which it is stacked."""
    paths = tuple(json.loads(declared_paths(reader, task)))
    if not paths and (needed := stacked_needs_of(reader, task)):
        paths = _changed(session, reader, needed[0])
    return Area(task, paths)


def _running(session: Session, reader: Reader) -> list[Area]:
    """Return the paths of the tasks at work: declared, or else changed so far."""
    return [
        Area(task, tuple(json.loads(paths)) or _changed(session, reader, task))
        for task, paths in running_tasks(reader)
    ]


def _changed(session: Session, reader: Reader, task: str) -> tuple[str, ...]:
    """Return the paths that the commits of a task's branch change, as patterns of themselves."""
    worker = find_worker_of_task(reader, task)
    if worker is None or worker.branch is None or worker.base_oid is None:
        return ()
    ref = ref_of(worker.branch)
    if session.git.find_oid(ref) is None:
        return ()
    files = list_changed_files(session.git, base=worker.base_oid, tip=ref)
    return tuple(WILD.sub(r"\\\g<0>", one) for one in files)
