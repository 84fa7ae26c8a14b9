"""Trust: commands that the repository brings run only once a person has agreed to their text.

What counts is the content: a hash of the kind, the commands and the environment that they declare.
Commands that the user has set (git's configuration, the environment) need no agreement.
"""

import json
from typing import NamedTuple

from gitworker import clock
from gitworker.errors import NotFound, Refused
from gitworker.session import Session
from gitworker.store.api import Row
from gitworker.verify.rules_verify import trust_hash, trust_refusal

# Kind → the settings with the commands and with what they declare of the environment.
KINDS = {"verify": ("verify_commands", "verify_env"), "setup": ("worktree_setup", None)}
HASH_SHOWN = 12


class Brought(NamedTuple):
    """Commands that come from the repository: what they are for, their text, their hash."""

    kind: str
    commands: tuple[str, ...]
    env: tuple[str, ...]
    hash: str


class Trusted(NamedTuple):
    """Commands that somebody has agreed to, and when (milliseconds UTC)."""

    brought: Brought
    trusted_by: str
    ts_ms: int


def require_trusted(session: Session, kind: str = "verify") -> None:
    """Raise Refused where commands of that kind would run that nobody has agreed to."""
    waiting = untrusted(session, kind)
    if waiting:
        brought = waiting[0]
        raise Refused(
            f"nobody has agreed yet to the {kind} commands that this repository brings",
            "git worker trust",
            code="untrusted",
            detail="\n".join((*brought.commands, *(f"env {entry}" for entry in brought.env))),
        )


def untrusted(session: Session, *kinds: str) -> list[Brought]:
    """Return what the repository brings, of these kinds or of all, and nobody has agreed to."""
    found = [_brought(session, kind) for kind in kinds or KINDS]
    with session.store.read() as reader:
        return [
            brought
            for brought in found
            if brought is not None and reader.row("verify.trusted", hash=brought.hash) is None
        ]


def trust(session: Session, agreed: list[Brought]) -> None:
    """Record that whoever asks agrees to these commands; raise Refused for a worker."""
    require_may_trust(session)
    now = clock.now_ms()
    with session.store.write() as writer:
        for brought in agreed:
            writer.run(
                "verify.trust",
                hash=brought.hash, kind=brought.kind, now=now, by=_reviewer(session),
                commands=json.dumps({"commands": brought.commands, "env": brought.env}),
            )  # fmt: skip


def require_may_trust(session: Session) -> None:
    """Raise Refused where whoever asks must not decide what is trusted."""
    refusal = trust_refusal(session.actor, self_review=session.settings.review_self)
    if refusal is not None:
        raise refusal


def list_trusted(session: Session) -> list[Trusted]:
    """Return everything that was agreed to, newest first."""
    with session.store.read() as reader:
        return [_trusted(row) for row in reader.rows("verify.all_trusted")]


def revoke(session: Session, begin: str) -> Trusted:
    """Take an agreement back, by the beginning of its hash; raise NotFound, Refused for two."""
    require_may_trust(session)
    found = [one for one in list_trusted(session) if begin and one.brought.hash.startswith(begin)]
    if not found:
        raise NotFound(
            f"nothing is trusted whose hash begins with {begin!r}", "git worker trust --list"
        )
    if len(found) > 1:
        raise Refused(
            f"{len(found)} hashes begin with {begin!r}", "git worker trust --list", code="ambiguous"
        )
    session.store.write_one("verify.revoke", hash=found[0].brought.hash)
    return found[0]


def _brought(session: Session, kind: str) -> Brought | None:
    """Return what the repository itself brings of that kind; None where it brings nothing."""
    of_commands, of_env = KINDS[kind]
    settings = session.settings
    commands = getattr(settings, of_commands)
    env = getattr(settings, of_env) if of_env else ()
    if not commands or not {of_commands, of_env} & set(settings.from_file):
        return None
    return Brought(kind, commands, env, trust_hash(kind, commands, env))


def _trusted(row: Row) -> Trusted:
    text = json.loads(row["commands"])
    brought = Brought(row["kind"], tuple(text["commands"]), tuple(text["env"]), row["hash"])
    return Trusted(brought, row["trusted_by"], row["ts_ms"])


def _reviewer(session: Session) -> str:
    name = session.git_config.get("user.name", "")
    return f"{name} ({session.actor})" if name else session.actor
