"""Agents: those that are alive, and those that are registered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitworker.web.request import Ask


def read(ask: Ask) -> dict[str, Any]:
    """Return the agents with their activity."""
    service = ask.service
    return {"agents": service.agents(), "registered": service.list_registered()}
