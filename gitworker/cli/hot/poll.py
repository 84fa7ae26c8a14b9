"""`msg poll` without click: unread messages as lines of JSON, acknowledged once they are out."""

from __future__ import annotations

from gitworker import clock
from gitworker.bus.consume import POLL_LIMIT, acknowledge, full_line, unread
from gitworker.bus.following.bell import ring_drain
from gitworker.cli.hot.place import Place, find_place
from gitworker.cli.hot.words import FLAG, split_words
from gitworker.cli.output import OUT, answer_line
from gitworker.errors import GitWorkerError, Unavailable

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from gitworker.store.api import Row

OPTIONS = {"--limit": "N", "--no-ack": FLAG, "--wait": "S", "--as": "ID"}
LIMIT_MAX = 100_000
WAIT_MAX_S = 86_400


def run_poll(words: list[str]) -> int | None:
    """Print unread messages; None for whatever click is to judge."""
    split = split_words(words, OPTIONS)
    if split is None or split[1]:
        return None
    values = split[0]
    limit = values.get("--limit", str(POLL_LIMIT))
    if not (limit.isascii() and limit.isdigit() and 1 <= int(limit) <= LIMIT_MAX):
        return None
    wait = values.get("--wait", "0")
    if not (wait.isascii() and wait.isdigit() and int(wait) <= WAIT_MAX_S):
        return None
    place = find_place(values.get("--as"))
    if place is None:
        return None
    poll(place, limit=int(limit), acknowledging="--no-ack" not in values, wait_s=int(wait))
    return 0


def poll(place: Place, *, limit: int, acknowledging: bool, wait_s: float = 0.0) -> None:
    """Print whoever asks their unread messages; then move their cursor, then ring a drain.

    Where there are none, waits up to `wait_s` seconds for some. What was not printed to its end is
    not acknowledged, and so comes again. Raises Unavailable, nothing printed, where the cursor
    cannot be moved since the state directory is read-only.
    """
    if acknowledging:  # before anything is printed, which would come again
        place.store.require_writable()
    rows = unread(place.store, place.actor, limit=limit)
    if not rows and wait_s > 0:
        rows = _wait(place, limit, wait_s)
    for row in rows:
        answer_line(full_line(place.store, row, blobs=place.paths.blobs))
    if rows and acknowledging:
        try:
            acknowledge(place.store, place.actor, int(rows[-1]["seq"]))
        except GitWorkerError as error:  # a full disk: losing them would be worse
            message = f"the printed messages will come again: {error.message}"
            raise Unavailable(message, error.hint, code=error.code) from error
    try:
        ring_drain(place.paths, place.repository.common_dir)
    except (OSError, GitWorkerError):  # the answer is out; the next one rings again
        return


def _wait(place: Place, limit: int, wait_s: float) -> list[Row]:
    """Return unread messages as soon as there are some; none when the time is over."""
    from gitworker.bus.following.waking import (
        open_waker,  # ctypes, struct: 7 ms, for those who wait
    )

    deadline = clock.monotonic_ms() + wait_s * 1000
    with open_waker(place.store, place.paths) as waker:
        while True:
            rows = unread(place.store, place.actor, limit=limit)
            left_s = (deadline - clock.monotonic_ms()) / 1000
            if rows or left_s <= 0:
                return rows
            if not waker.wait(left_s, also={OUT: 0}) and clock.monotonic_ms() < deadline:
                raise BrokenPipeError  # all that can end it early: nobody reads our output any more
