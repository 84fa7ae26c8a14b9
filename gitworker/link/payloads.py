"""Large payloads of messages: files on each machine, which travel by way of PostgreSQL."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitworker.bus.blobs import is_blob_ref, save_blob
from gitworker.paths import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitworker.store.fleet.changes import RowChange
    from gitworker.store.postgres.server import FleetServer

AT_ONCE = 50


def refs_of(changes: Iterable[RowChange]) -> list[str]:
    """Return the names of the payloads of new messages."""
    found = (one.values.get("payload_ref") for one in changes if one.table == "messages")
    return [str(ref) for ref in found if ref is not None and is_blob_ref(str(ref))]


def read_payloads(directory: str, refs: Iterable[str]) -> dict[str, bytes]:
    """Return the content of those payloads that this machine has."""
    found = {}
    for ref in refs:
        try:
            with open(f"{directory}/{ref}", "rb", opener=open_regular) as file:
                found[ref] = file.read()
        except FileNotFoundError:
            continue
    return found


def bring_payloads(server: FleetServer, directory: str, refs: Iterable[str]) -> None:
    """Save the payloads that this machine does not have yet."""
    missing = [ref for ref in dict.fromkeys(refs) if not os.path.exists(f"{directory}/{ref}")]
    for start in range(0, len(missing), AT_ONCE):
        for content in server.read_payloads(missing[start : start + AT_ONCE]):
            save_blob(directory, content)
