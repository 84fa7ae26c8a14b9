"""Hooks for one run of Codex: its settings, and the trust in exactly these hooks. Pure.

Codex runs a hook only if its digest is recorded as trusted. Its option that skips this check would
also run hooks that the repository brings.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gitworker.agents.environment.toml_text import toml_value

SOURCE = "/<session-flags>/config.toml"  # Codex' name for the options `-c`
CAPITAL = re.compile(r"(?<=[a-z])[A-Z]")


def codex_hook_options(hooks: Mapping[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Yield the options that attach hooks, given as `{EVENT: [{"hooks": […]}]}`, for one run."""
    trust: dict[str, object] = {}
    for event, entries in hooks.items():
        yield from ("-c", f"hooks.{event}={toml_value(entries)}")
        name = CAPITAL.sub(lambda match: f"_{match.group()}", event).lower()
        for at, entry in enumerate(entries):
            trust[f"{SOURCE}:{name}:{at}:0"] = {"trusted_hash": _digest(name, entry)}
    yield from ("-c", f"hooks.state={toml_value(trust)}")


def _digest(name: str, entry: Mapping[str, Any]) -> str:
    """Return Codex' digest of an entry with one hook: that of its normalized JSON."""
    (hook,) = entry["hooks"]
    normalized = {**entry, "event_name": name, "hooks": [{**hook, "async": False}]}
    text = json.dumps(normalized, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()}"
