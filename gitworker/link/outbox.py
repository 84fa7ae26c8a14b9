"""Publish what hot verbs sent: they leave it in the outbox and never wait for the network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.store.fleet.machines import has_outgoing, publish_outgoing

if TYPE_CHECKING:
    from gitworker.link.connection import FleetConnection
    from gitworker.store.api import Writer

AT_ONCE = 500


def publish_outbox(connection: FleetConnection) -> None:
    """Publish all messages in their order, each once: the same transaction takes them out."""
    while has_outgoing(connection.replica):
        connection.write(_publish_some, of="outbox")


def _publish_some(writer: Writer, _: int) -> None:
    publish_outgoing(writer, limit=AT_ONCE)
