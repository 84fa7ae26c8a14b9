"""Trust: commands from the repository run only after a person has trusted their text.

Trust applies to content: a hash of the kind, the commands and the environment that they declare.
Commands that the user has set (git's configuration, the environment) need no trust.
"""

from typing import NamedTuple

from gitworker import clock
from gitworker.errors import NotFound, Refused
from gitworker.session import Session
from gitworker.store.api import Reader
from gitworker.store.commits.verify_runs import (
    TrustedCommands,
    add_trusted,
    all_trusted,
    is_trusted,
    remove_trusted,
)
from gitworker.verify.rules_verify import trust_hash, trust_refusal

# Kind → the setting with the commands, and the setting with their declared environment.
KINDS = {
    "verify": ("verify_commands", "verify_env"), "setup": ("worktree_setup", None),
    "agents": ("adapters", None),
}  # fmt: skip
HASH_SHOWN = 12


class RepositoryCommands(NamedTuple):
    """Commands that come from the repository: their purpose, text and hash."""

    kind: str
    commands: tuple[str, ...]
    env: tuple[str, ...]
    hash: str


class TrustRecord(NamedTuple):
    """Trusted commands, by whom and since when (milliseconds UTC)."""

    brought: RepositoryCommands
    trusted_by: str
    ts_ms: int


def require_trusted(session: Session, kind: str = "verify") -> None:
    """Raise Refused if commands of that kind would run that are not trusted."""
    pending = untrusted_commands(session, kind)
    if pending:
        brought = pending[0]
        raise Refused(
            f"the {kind} commands of this repository are not trusted yet",
            "git worker trust",
            code="untrusted",
            detail="\n".join((*brought.commands, *(f"env {entry}" for entry in brought.env))),
        )


def untrusted_commands(session: Session, *kinds: str) -> list[RepositoryCommands]:
    """Return the commands of the repository, of these kinds or of all, that are not trusted."""
    with session.store.read() as reader:
        return read_untrusted(reader, session, *kinds)


def read_untrusted(reader: Reader, session: Session, *kinds: str) -> list[RepositoryCommands]:
    """Return what `untrusted_commands` does, inside a read."""
    found = [_brought(session, kind) for kind in kinds or KINDS]
    return [one for one in found if one is not None and not is_trusted(reader, one.hash)]


def trust(session: Session, agreed: list[RepositoryCommands]) -> None:
    """Record that the caller trusts these commands; raise Refused for a worker."""
    require_may_trust(session)
    now = clock.now_ms()
    with session.store.write() as writer:
        for kind, commands, env, hash in agreed:
            add_trusted(writer, TrustedCommands(hash, kind, commands, env, _reviewer(session), now))


def require_may_trust(session: Session) -> None:
    """Raise Refused if the caller must not decide which commands are trusted."""
    refusal = trust_refusal(session.actor, self_review=session.settings.review_self)
    if refusal is not None:
        raise refusal


def list_trusted(session: Session) -> list[TrustRecord]:
    """Return all trusted commands, newest first."""
    with session.store.read() as reader:
        return [_trusted(one) for one in all_trusted(reader)]


def revoke(session: Session, prefix: str) -> TrustRecord:
    """Revoke trust, by the beginning of the hash; raise NotFound, or Refused if it is ambiguous."""
    require_may_trust(session)
    found = [one for one in list_trusted(session) if prefix and one.brought.hash.startswith(prefix)]
    if not found:
        raise NotFound(
            f"no trusted commands have a hash that begins with {prefix!r}",
            "git worker trust --list",
        )
    if len(found) > 1:
        raise Refused(
            f"{len(found)} hashes begin with {prefix!r}",
            "git worker trust --list",
            code="ambiguous",
        )
    remove_trusted(session.store, found[0].brought.hash)
    return found[0]


def _brought(session: Session, kind: str) -> RepositoryCommands | None:
    """Return the commands of that kind from the repository itself, or None."""
    of_commands, of_env = KINDS[kind]
    settings = session.settings
    commands = getattr(settings, of_commands)
    env = getattr(settings, of_env) if of_env else ()
    if not commands or not {of_commands, of_env} & set(settings.from_file):
        return None
    return RepositoryCommands(kind, commands, env, trust_hash(kind, commands, env))


def _trusted(one: TrustedCommands) -> TrustRecord:
    brought = RepositoryCommands(one.kind, one.commands, one.env, one.hash)
    return TrustRecord(brought, one.trusted_by, one.ts_ms)


def _reviewer(session: Session) -> str:
    name = session.git_config.get("user.name", "")
    return f"{name} ({session.actor})" if name else session.actor
