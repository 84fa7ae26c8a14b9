"""Whose claims the claim commands work with."""

from gitworker.claims.desk import Claims
from gitworker.session import Session


def claims_of(session: Session) -> Claims:
    """Return the claims of whoever asks, with the lease that the settings give."""
    lease_ms = session.settings.claims_lease_s * 1000
    return Claims(session.store, session.paths, holder=session.actor, lease_ms=lease_ms)
