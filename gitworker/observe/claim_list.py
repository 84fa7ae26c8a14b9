"""claim list: every claim by name, with its holder, epoch and the time left of its lease."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker import clock
from gitworker.claims.leases import Claim, all_claims
from gitworker.observe.text import RED, age_text, listing

if TYPE_CHECKING:
    from gitworker.session import Session

HEAD = ("CLAIM", "HOLDER", "EPOCH", "LEFT")
EXPIRED = "expired"


def read_claims(session: Session) -> list[Claim]:
    """Read every claim. An expired claim remains its holder's until another worker takes it."""
    with session.store.read() as reader:
        return all_claims(reader)


def render_claims(found: list[Claim], *, width: int | None, color: bool) -> str:
    """Return a table for a terminal; without a width, bare rows separated by tabs for scripts."""
    rows = [
        (one.name, one.holder, str(one.epoch), age_text(one.left_ms) if one.is_valid else EXPIRED)
        for one in found
    ]
    return listing(
        HEAD, rows, width=width, colors={3: {EXPIRED: RED}}, color=color,
        empty="no claims: git worker claim take <name>",
    )  # fmt: skip


def json_claims(found: list[Claim]) -> dict[str, Any]:
    """Return the claims as JSON data."""
    return {"claims": [claim_fields(one) for one in found]}


def claim_fields(claim: Claim) -> dict[str, Any]:
    """Return one claim as JSON data."""
    return {
        "name": claim.name,
        "holder": claim.holder,
        "epoch": claim.epoch,
        "since": clock.iso_utc(claim.claimed_at_ms),
        "until": clock.iso_utc(claim.lease_until_ms),
        "left_s": max(0, claim.left_ms) / 1000,
        "expired": not claim.is_valid,
    }
