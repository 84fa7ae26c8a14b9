"""The output of the verify commands on a commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker.errors import Invalid
from gitworker.model.ids import is_oid

if TYPE_CHECKING:
    from gitworker.web.request import Ask


def read(ask: Ask) -> dict[str, Any]:
    """Return the verdict with the last lines of its log."""
    commit = ask.path["commit"]
    if not is_oid(commit):
        raise Invalid("a commit is named by its whole id")
    return {"output": ask.service.verify_output(commit)}
