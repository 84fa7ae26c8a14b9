"""The version that a reviewer has seen before the newest one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.model.ids import Oid
    from gitworker.store.reviewing.marks import Look
    from gitworker.store.reviewing.rounds import Round


def seen_before(look: Look | None, rounds: Sequence[Round]) -> tuple[Oid, Oid] | None:
    """Return base and tip of the version that a reviewer saw before the newest round, or None.

    `look` has this version, and the time of the last look, which was at the newest round of that
    time. So the newest round can be read again without losing the version before it. Without an
    earlier version it is the newest round itself.
    """
    if look is None:
        return None
    known = [one for one in rounds if one.created_at_ms <= look.looked_at_ms]
    if not known or known[-1].number == rounds[-1].number:
        return look.base, look.tip
    return known[-1].base, known[-1].tip


def is_recorded(look: Look | None, newest: Round, seen: tuple[Oid, Oid]) -> bool:
    """Return whether a look at the newest round, after the version `seen`, is recorded already.

    A second record would only have a later time. It would wake everything that waits for news.
    """
    return (
        look is not None
        and (look.base, look.tip) == seen
        and newest.created_at_ms <= look.looked_at_ms
    )
