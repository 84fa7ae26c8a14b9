"""The task on which a task is to be stacked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.store.records.task_needs import stacked_needs_of

if TYPE_CHECKING:
    from gitworker.store.api import Reader


def stack_parent(reader: Reader, task: str) -> str | None:
    """Return the needed task whose work is handed in and has not landed, or None."""
    found = stacked_needs_of(reader, task)
    return found[0] if found else None
