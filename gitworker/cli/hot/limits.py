"""The two settings that hot verbs need, kept in a small file beside the database.

Settings come from the target's commit and git's configuration, which costs processes; every full
command writes what it found here. What the environment says wins, as everywhere.
"""

from __future__ import annotations

import os

from gitworker.paths import StatePaths

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.config import Settings

FILE_NAME = "limits"
MESSAGE_MAX_BYTES = 16 * 1024 * 1024
CLAIMS_LEASE_S = 60


class Limits:
    """How large a message may be (bytes), and for how long a beat renews a claim (seconds)."""

    __slots__ = ("claims_lease_s", "message_max_bytes")

    def __init__(
        self,
        message_max_bytes: int = MESSAGE_MAX_BYTES,
        claims_lease_s: int = CLAIMS_LEASE_S,
    ) -> None:
        self.message_max_bytes = message_max_bytes
        self.claims_lease_s = claims_lease_s


def load_limits(paths: StatePaths, env: Mapping[str, str]) -> Limits:
    """Return the limits last kept, else the defaults; the environment's come first."""
    try:
        with open(f"{paths.root}/{FILE_NAME}", encoding="utf-8") as file:
            words = file.read().split()
        kept = Limits(int(words[0]), int(words[1]))
    except (OSError, ValueError, IndexError):
        kept = Limits()
    size = env.get("GITWORKER_MESSAGE_MAX_BYTES", "")
    lease = env.get("GITWORKER_CLAIMS_LEASE_S", "")
    return Limits(
        int(size) if size.isdigit() else kept.message_max_bytes,
        int(lease) if lease.isdigit() else kept.claims_lease_s,
    )


def keep_limits(paths: StatePaths, settings: Settings) -> None:
    """Write the limits down where they differ from what stands there."""
    kept = load_limits(paths, {})
    wanted = (settings.message_max_bytes, settings.claims_lease_s)
    if (kept.message_max_bytes, kept.claims_lease_s) == wanted:
        return
    path = f"{paths.root}/{FILE_NAME}"
    partial = f"{path}.{os.getpid()}.tmp"
    with open(partial, "w", encoding="utf-8") as file:
        file.write(f"{wanted[0]} {wanted[1]}\n")
    os.replace(partial, path)
