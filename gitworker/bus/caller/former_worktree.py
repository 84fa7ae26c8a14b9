"""Refuse a directory that was a worker's worktree: its caller is an agent and never `hq`.

git finds the main checkout from there. Data owned: none.
"""

from __future__ import annotations

import os
from types import MappingProxyType
from typing import TYPE_CHECKING

from gitworker.errors import GitWorkerError, Refused
from gitworker.paths import Repository, leads_elsewhere, open_regular, state_paths
from gitworker.repo.worktrees.ownership import find_flaw, owner_of, refusal_of
from gitworker.rules_text import quoted
from gitworker.session import ROOT_NOTE
from gitworker.store.backend import open_store
from gitworker.store.operations import last_removal_of
from gitworker.store.workers import all_workers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitworker.store.api import Reader
    from gitworker.store.workers import Worker

ENDS = MappingProxyType(
    {"cancel": "was cancelled", "reset": "was taken from the worker", "remove": "has landed"}
)


def refuse_former_worktree(repository: Repository, directory: str) -> None:
    """Raise Refused in a directory of the main checkout that is or was a worker's worktree.

    The error names the worker, and the repair or the end of its task.
    """
    paths = state_paths(repository)
    root = _root_inside(f"{paths.root}/{ROOT_NOTE}")
    if repository.top is None or not os.path.exists(paths.database):
        return
    top = os.path.realpath(repository.top)
    places = list(_places(os.path.realpath(directory), below=f"{top}/{root}/")) if root else []
    if leads_elsewhere(f"{top}/.git"):
        places.append(top)  # a worktree whose .git was made to lead to the main checkout's
    if not places:
        return
    store = open_store(paths.database)
    try:
        with store.read() as reader:
            for place in places:
                refusal = _refusal(reader, repository, place)
                if refusal is not None:
                    raise refusal
    finally:
        store.close()


def _root_inside(note: str) -> str:
    """Return the noted directory of worktrees inside the main checkout; "" without one."""
    try:
        with open(note, encoding="utf-8", errors="surrogateescape", opener=open_regular) as file:
            return file.read().removesuffix("\n")
    except OSError:
        return ""


def _places(directory: str, *, below: str) -> Iterator[str]:
    """Yield a directory and its parents as far as they are below another one."""
    while directory.startswith(below):
        yield directory
        directory = os.path.dirname(directory)


def _refusal(reader: Reader, repository: Repository, place: str) -> GitWorkerError | None:
    for worker in all_workers(reader):
        if worker.worktree == place:
            return _present(repository, worker)
    last = last_removal_of(reader, place)
    if last is None:
        return None
    name = last.worker_id
    return Refused(
        f"{place} is no worktree any more: task {last.task_id} of worker {name} {ENDS[last.kind]}",
        f"git worker inbox --as {name}",
        code="former_worktree",
    )


def _present(repository: Repository, worker: Worker) -> GitWorkerError | None:
    """Return the flaw of a worktree that a worker should have."""
    owner = owner_of(repository.common_dir, worker)
    flaw = find_flaw(owner) if owner is not None else None
    if owner is None or flaw is None:
        return None
    found = refusal_of(owner, flaw)
    top = repository.top or "."
    if os.path.realpath(top) == worker.worktree:
        top = repository.common_dir.removesuffix("/.git")
    return Refused(
        f"worker {worker.worker_id}: {found.message}",
        f"cd {quoted(top)} && {found.hint}",
        code=found.code,
    )
