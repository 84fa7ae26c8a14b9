"""Claims: exclusive, expiring rights to tasks and to any other named resource (seed 2).

For agents written in Python, from inside the repository:

    from gitworker.claims import open_claims

    with open_claims() as claims:  # who asks: GITWORKER_ID, the worktree's worker, else hq
        claim = claims.take("path:src/auth/**", wait_s=60)  # Conflict where somebody has it
        ...  # work; a worker's beats renew its leases, anybody may: claims.renew(claim.name)
        claims.require(claim.name, epoch=claim.epoch)  # before what only the holder may do
        claims.release(claim.name, epoch=claim.epoch)

The epoch is the fence: it only grows, and whoever comes back late is refused by it. docs/claims.md
has the whole of it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitworker.claims.holder import Claims, open_claims
    from gitworker.claims.leases import Claim

__all__ = ["Claim", "Claims", "open_claims"]


def __getattr__(name: str) -> Any:
    """Import what is asked for: use cases need the leases alone, and not what waits for them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gitworker.claims import holder

    return getattr(holder, name)
