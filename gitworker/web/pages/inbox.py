"""The inbox: the items that need a person, each with its button."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitworker.web.request import Ask


def read(ask: Ask) -> dict[str, Any]:
    """Return the items."""
    return {"inbox": ask.service.inbox()}
