"""Claims: exclusive, expiring rights to tasks and to any other named resource.

For agents written in Python, from inside the repository:

    from gitworker.claims import open_claims

    with open_claims() as claims:  # the holder: GITWORKER_ID, the worktree's worker, else hq
        claim = claims.take("path:src/auth/**", wait_s=60)  # raises Conflict if it stays taken
        ...  # work; a worker's heartbeats renew its leases, others call claims.renew(claim.name)
        claims.require(claim.name, epoch=claim.epoch)  # before a step that only the holder may do
        claims.release(claim.name, epoch=claim.epoch)

The epoch only grows, so a holder that comes back late is refused. docs/claims.md explains it all.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitworker.claims.holder import Claims, open_claims
    from gitworker.claims.leases import Claim

__all__ = ["Claim", "Claims", "open_claims"]


def __getattr__(name: str) -> Any:
    """Import the holder on first use: most use cases need only the leases, which load faster."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gitworker.claims import holder

    return getattr(holder, name)
