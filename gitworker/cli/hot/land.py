"""`land WORKER` without click, whose import takes longer than all of git in a small repository."""

from __future__ import annotations

from gitworker.errors import Invalid, Refused
from gitworker.model.ids import parse_worker_id

UNTRUSTED = "untrusted"  # the code of an error before any change


def run_land(words: list[str]) -> int | None:
    """Approve and land workers; return None if click must parse the words, or ask for trust."""
    try:
        workers = [parse_worker_id(word) for word in words]
    except Invalid:
        return None
    if not workers:
        return None
    from gitworker.cli.early import prefetch_opening  # 40 ms in all, while git answers

    opening = prefetch_opening(["land"])
    from gitworker.cli.call import CommandLine
    from gitworker.cli.live.landing_results import LandingProgress, worst_status

    call = CommandLine(opening=opening)
    try:
        with LandingProgress(as_json=False) as progress:
            return worst_status(progress.require_shown(call.service(progress).land(workers)))
    except Refused as error:
        if error.code != UNTRUSTED:
            raise
        return None
    finally:
        if call.opening is not None:
            call.opening.abandon()
