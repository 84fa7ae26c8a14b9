"""Whose claims the claim commands work with."""

from gitworker.claims.holder import Claims
from gitworker.claims.rules import is_one, quoted
from gitworker.errors import Invalid
from gitworker.session import Session


def claims_of(session: Session) -> Claims:
    """Return the claims of whoever asks, with the lease that the settings give."""
    lease_ms = session.settings.claims_lease_s * 1000
    return Claims(session.store, session.paths, holder=session.actor, lease_ms=lease_ms)


def require_epoch(session: Session, verb: str, name: str, epoch: int | None) -> None:
    """Raise Invalid where `hq` names no epoch: it is many, and one's claim may be another's now."""
    if epoch is None and not is_one(session.actor):
        raise Invalid(
            f"{session.actor} is everybody outside the worktrees: which claim on it is yours?",
            f"git worker claim {verb} {quoted(name)} --epoch N   (as `claim take` printed it)",
            code="usage",
        )
