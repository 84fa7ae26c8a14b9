"""The settings that hot verbs and the library need, in a small file beside the database.

Reading settings from the target's commit and git's configuration costs processes, so every full
command writes these settings here. The environment overrides them.
"""

from __future__ import annotations

import os

from gitworker.paths import StatePaths, open_regular

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gitworker.config import Settings

FILE_NAME = "limits"
NAMES = (
    "MESSAGE_MAX_BYTES", "CLAIMS_LEASE_S", "MESSAGE_MAX_UNREAD", "MESSAGE_MAX_RATE",
    "AGENT_HAND_IN",
)  # fmt: skip
WORDS = {"true": 1, "yes": 1, "on": 1, "false": 0, "no": 0, "off": 0}
MESSAGE_MAX_BYTES = 16 * 1024 * 1024
CLAIMS_LEASE_S = 60
MESSAGE_MAX_UNREAD = 10_000
MESSAGE_MAX_RATE = 1000


class Limits:
    """Message size in bytes, the lease of a claim in seconds, unread messages and rate of an agent.

    A heartbeat renews claims for `claims_lease_s`. The rate is in messages per second. For the
    number of unread messages and the rate, 0 means no limit. `agent_hand_in`: the hooks of an agent
    hand its finished work in. `agent_limits` has the number of agents at once by kind.
    """

    __slots__ = (
        "agent_hand_in",
        "agent_limits",
        "claims_lease_s",
        "message_max_bytes",
        "message_max_rate",
        "message_max_unread",
    )

    def __init__(
        self,
        message_max_bytes: int = MESSAGE_MAX_BYTES,
        claims_lease_s: int = CLAIMS_LEASE_S,
        *,
        message_max_unread: int = MESSAGE_MAX_UNREAD,
        message_max_rate: int = MESSAGE_MAX_RATE,
        agent_hand_in: bool = False,
        agent_limits: Mapping[str, int] | None = None,
    ) -> None:
        self.message_max_bytes = message_max_bytes
        self.claims_lease_s = claims_lease_s
        self.message_max_unread = message_max_unread
        self.message_max_rate = message_max_rate
        self.agent_hand_in = agent_hand_in
        self.agent_limits = dict(agent_limits or {})


def load_limits(paths: StatePaths, env: Mapping[str, str]) -> Limits:
    """Return the stored limits, else the defaults; the environment overrides both."""
    try:
        with open(f"{paths.root}/{FILE_NAME}", encoding="utf-8", opener=open_regular) as file:
            stored = _parsed(file.read().split())
    except (OSError, ValueError):
        stored = Limits()
    overrides = [env.get(f"GITWORKER_{name}", "").lower() for name in NAMES]
    pairs = zip(overrides, _numbers(stored), strict=True)
    found = _limits(
        [int(text) if text.isdigit() else WORDS.get(text, number) for text, number in pairs]
    )
    found.agent_limits = stored.agent_limits
    return found


def limits_of(settings: Settings) -> Limits:
    """Return the limits of the settings."""
    return Limits(
        settings.message_max_bytes,
        settings.claims_lease_s,
        message_max_unread=settings.message_max_unread,
        message_max_rate=settings.message_max_rate,
        agent_hand_in=settings.agent_hand_in,
        agent_limits=_pairs(settings.agents_limits),
    )


def keep_limits(paths: StatePaths, settings: Settings) -> None:
    """Store the limits if they differ from the stored ones."""
    wanted = _text(limits_of(settings))
    if _text(load_limits(paths, {})) == wanted:
        return
    path = f"{paths.root}/{FILE_NAME}"
    partial = f"{path}.{os.getpid()}.tmp"
    with open(partial, "w", encoding="utf-8", opener=open_regular) as file:
        file.write(wanted)
    os.replace(partial, path)


def _parsed(words: list[str]) -> Limits:
    """Return the limits from the words of the file: numbers, then one NAME=NUMBER for each kind."""
    found = _limits([int(word) for word in words if "=" not in word])
    found.agent_limits = _pairs([word for word in words if "=" in word])
    return found


def _pairs(lines: Iterable[str]) -> dict[str, int]:
    return {name: int(number) for name, _, number in (line.partition("=") for line in lines)}


def _text(limits: Limits) -> str:
    pairs = (f"{name}={number}" for name, number in sorted(limits.agent_limits.items()))
    return " ".join((*map(str, _numbers(limits)), *pairs)) + "\n"


def _numbers(limits: Limits) -> list[int]:
    return [
        limits.message_max_bytes,
        limits.claims_lease_s,
        limits.message_max_unread,
        limits.message_max_rate,
        int(limits.agent_hand_in),
    ]


def _limits(numbers: list[int]) -> Limits:
    """Return the limits from their numbers; raise ValueError unless there are four or five.

    A file of an earlier version has no fifth number.
    """
    size, lease, unread, rate, hand_in = numbers if len(numbers) == 5 else [*numbers, 0]
    return Limits(
        size, lease, message_max_unread=unread, message_max_rate=rate, agent_hand_in=hand_in > 0
    )
