"""Rules of verification: the inputs that determine a verdict, and the texts about a run. Pure."""

import json
from collections.abc import Collection, Mapping, Sequence

from gitworker.bus.limits.rules_secrets import redacted
from gitworker.errors import Invalid, Refused
from gitworker.model.ids import RESERVED
from gitworker.rules_text import one_line

# The settings of `git -c`, one by one (git-config(1)).
SETTINGS = ("GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")
TREE_VARIABLE = "GITWORKER_VERIFY_TREE"  # marks the processes of a run
SHOWN = 80  # characters of a command in a reason


def declared_environment(
    declared: Sequence[str], current: Mapping[str, str]
) -> dict[str, str | None]:
    """Return the environment that the setting verify.env declares; None for an unset variable.

    `NAME=value` sets it, `NAME` takes it from `current`. Raises Invalid for an entry without name.
    """
    found: dict[str, str | None] = {}
    for entry in declared:
        name, is_set, value = entry.partition("=")
        if not name:
            raise Invalid(f"verify.env has an entry without a name: {entry!r}")
        found[name] = value if is_set else current.get(name)
    return found


def command_environment(
    current: Mapping[str, str],
    declared: Mapping[str, str | None],
    *,
    tree: str,
    scrubbed: Collection[str],
) -> dict[str, str]:
    """Return the environment of the verify commands; `tree` is the worktree that they run in.

    `scrubbed` are the variables with which git points its children to a repository.
    """
    env = {
        name: value
        for name, value in current.items()
        if name not in scrubbed and not name.startswith(SETTINGS)
    }
    for name, value in declared.items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    return env | {"GITWORKER_VERIFY": "1", TREE_VARIABLE: tree, "PWD": tree}


def run_key(tree: str, commands: Sequence[str], declared: Mapping[str, str | None]) -> str:
    """Return the hash of everything that a verdict depends on: tree, commands, declared values."""
    return _hashed([tree, list(commands), sorted(declared.items())])


def trust_hash(kind: str, commands: Sequence[str], env: Sequence[str]) -> str:
    """Return the hash of everything that a person trusts: kind, commands, declarations."""
    return _hashed([kind, list(commands), list(env)])


def status_reason(command: str, status: int) -> str:
    """Return the reason of a failure by exit status; a negative one is a signal."""
    if status < 0:
        return f"{_quoted(command)} was killed by signal {-status}"
    return f"{_quoted(command)} ended with status {status}"


def timeout_reason(command: str, timeout_s: int) -> str:
    """Return the reason of a failure by timeout."""
    return f"{_quoted(command)} took longer than {timeout_s} s"


def flood_reason(command: str, size_bytes: int) -> str:
    """Return the reason of a failure by excessive output."""
    return f"{_quoted(command)} wrote more than {size_bytes >> 20} MiB of output"


def header_text(
    *, commit: str, tree: str, label: str, started: str, commands: Sequence[str]
) -> str:
    """Return the first lines of a log: commit, tree, start time, commands."""
    listed = "".join(f"    {line}\n" for command in commands for line in command.splitlines())
    return (
        f"commit   {commit}{f'  ({label})' if label else ''}\n"
        f"tree     {tree}\nstarted  {started}\ncommands\n{listed}"
    )


def verdict_text(outcome: str, duration_ms: int, reason: str = "") -> str:
    """Return the last line of a log, as `failed after 3.2 s: …`."""
    return f"{outcome} after {duration_ms / 1000:.1f} s{f': {reason}' if reason else ''}"


def trust_refusal(actor: str, *, self_review: bool) -> Refused | None:
    """Return the error if `actor` must not trust commands, or None."""
    if actor in RESERVED or self_review:
        return None
    return Refused(
        f"worker {actor} cannot trust commands that the repository brings",
        "leave it to the owner of the repository (setting: review.self)",
        code="not_allowed",
    )


def _quoted(command: str) -> str:
    """Return a command as one short line in backticks, without secrets: reasons are published.

    Unprintable characters are escaped.
    """
    lines = redacted(command).strip().splitlines() or [""]
    text = one_line(lines[0])
    if len(text) > SHOWN or len(lines) > 1:
        text = text[:SHOWN] + "…"
    return f"`{text}`"


def _hashed(facts: object) -> str:
    from hashlib import sha256  # 3 ms, and `status` needs no hash

    text = json.dumps(facts, separators=(",", ":"))  # ASCII, surrogate escapes and all
    return sha256(text.encode()).hexdigest()
