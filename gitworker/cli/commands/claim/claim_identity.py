"""The holder of the claims that the claim commands change."""

from gitworker.claims.holder import Claims
from gitworker.claims.rules import is_one, quoted
from gitworker.errors import Invalid
from gitworker.session import Session


def claims_of(session: Session) -> Claims:
    """Return the claims of the caller's identity, with the lease from the settings."""
    lease_ms = session.settings.claims_lease_s * 1000
    return Claims(session.store, session.paths, holder=session.actor, lease_ms=lease_ms)


def require_epoch(session: Session, verb: str, name: str, epoch: int | None) -> None:
    """Raise Invalid without an epoch for `hq`: several shells share it and could hold the claim."""
    if epoch is None and not is_one(session.actor):
        raise Invalid(
            f"all shells outside the worktrees share {session.actor}, so --epoch is required",
            f"git worker claim {verb} {quoted(name)} --epoch N   (as `claim take` printed it)",
            code="usage",
        )
