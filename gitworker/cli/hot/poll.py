"""`msg poll` without click: unread messages as lines of JSON, acknowledged once they are out."""

from __future__ import annotations

from gitworker.bus.bell import ring_drain
from gitworker.bus.consume import POLL_LIMIT, acknowledge, full_line, unread
from gitworker.cli.hot.place import Place, find_place
from gitworker.cli.hot.words import FLAG, split_words
from gitworker.cli.output import answer_line
from gitworker.errors import GitWorkerError

OPTIONS = {"--limit": "N", "--no-ack": FLAG, "--as": "ID"}
LIMIT_MAX = 100_000


def run_poll(words: list[str]) -> int | None:
    """Print unread messages; None for whatever click is to judge."""
    split = split_words(words, OPTIONS)
    if split is None or split[1]:
        return None
    values = split[0]
    limit = values.get("--limit", str(POLL_LIMIT))
    if not (limit.isascii() and limit.isdigit() and 1 <= int(limit) <= LIMIT_MAX):
        return None
    place = find_place(values.get("--as"))
    if place is None:
        return None
    poll(place, limit=int(limit), acknowledging="--no-ack" not in values)
    return 0


def poll(place: Place, *, limit: int, acknowledging: bool) -> None:
    """Print whoever asks their unread messages; then move their cursor, then ring a drain.

    What was not printed to its end is not acknowledged, and so comes again.
    """
    rows = unread(place.store, place.actor, limit=limit)
    for row in rows:
        answer_line(full_line(place.store, row, blobs=place.paths.blobs))
    if rows and acknowledging:
        acknowledge(place.store, place.actor, int(rows[-1]["seq"]))
    try:
        ring_drain(place.paths, place.repository.common_dir)
    except (OSError, GitWorkerError):  # the answer is out; the next one rings again
        return
