"""`msg poll` without click: print unread messages as JSON Lines, then acknowledge them."""

from __future__ import annotations

from gitworker import clock
from gitworker.bus.consume import POLL_LIMIT, acknowledge, full_line, left_unread, unread
from gitworker.bus.following.notify_followers import start_drain_job
from gitworker.cli.hot.place import HotContext, find_hot_context
from gitworker.cli.hot.words import FLAG, is_number, split_words
from gitworker.cli.output import OUT, answer_line, narrate
from gitworker.errors import GitWorkerError, Unavailable
from gitworker.store.messages.mailbox import Selection

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Callable

    from gitworker.store.messages.mailbox import UnreadMessage

OPTIONS = {
    "--limit": "N",
    "--no-ack": FLAG,
    "--mine": FLAG,
    "--type": "TYPE",
    "--from": "A",
    "--wait": "S",
    "--as": "ID",
}
LIMIT_MAX = 100_000
WAIT_MAX_S = 86_400


def run_poll(words: list[str]) -> int | None:
    """Print unread messages; return None if click must parse the words."""
    split = split_words(words, OPTIONS)
    if split is None or split[1]:
        return None
    values = split[0]
    limit = values.get("--limit", str(POLL_LIMIT))
    if not (is_number(limit) and 1 <= int(limit) <= LIMIT_MAX):
        return None
    wait = values.get("--wait", "0")
    if not (is_number(wait) and int(wait) <= WAIT_MAX_S):
        return None
    place = find_hot_context(values.get("--as"))
    if place is None:
        return None
    selection = Selection(
        mine="--mine" in values, type=values.get("--type"), sender=values.get("--from")
    )
    acknowledging = "--no-ack" not in values
    poll(place, selection, limit=int(limit), acknowledging=acknowledging, wait_s=int(wait))
    return 0


def poll(
    place: HotContext,
    selection: Selection,
    *,
    limit: int,
    acknowledging: bool,
    wait_s: float = 0.0,
    shown: Callable[[str], str] | None = None,
    document: Callable[[list[str]], None] | None = None,
) -> None:
    """Print the caller's unread messages, move its cursor, then start a drain.

    Waits up to `wait_s` seconds if there are no messages. `shown` makes another line of a message's
    JSON; `document` prints all lines at once, also an empty list. Messages that were not
    printed completely stay unread, and so do those that a type or a sender leaves out. Raises
    Unavailable before printing anything if the state directory is read-only, because the cursor
    could not be moved.
    """
    if acknowledging:  # before printing: the messages would be repeated
        place.store.require_writable()
    rows = unread(place.store, place.actor, limit=limit, selection=selection)
    if not rows and wait_s > 0:
        rows = _wait(place, selection, limit, wait_s)
    if document is not None:
        document([full_line(place.store, row, blobs=place.paths.blobs) for row in rows])
    for row in rows if document is None else ():
        line = full_line(place.store, row, blobs=place.paths.blobs)
        answer_line(line if shown is None else shown(line))
    if rows:
        _finish(place, selection, rows, has_more=len(rows) == limit, acknowledging=acknowledging)
    try:
        start_drain_job(place.paths, place.repository.common_dir)
    except (OSError, GitWorkerError):  # the messages are printed; the next command starts a drain
        return


def _finish(
    place: HotContext,
    selection: Selection,
    rows: list[UnreadMessage],
    *,
    has_more: bool,
    acknowledging: bool,
) -> None:
    """Acknowledge the printed messages, and report those that stay unread."""
    last = rows[-1].message.seq
    left, more = left_unread(place.store, place.actor, selection, last, has_more=has_more)
    if acknowledging:
        try:
            acknowledge(place.store, place.actor, last if left is None else left - 1)
        except GitWorkerError as error:  # a full disk: losing them would be worse
            message = f"the printed messages will come again: {error.message}"
            raise Unavailable(message, error.hint, code=error.code) from error
    if more:
        number = f"{more} more messages are" if more > 1 else "1 more message is"
        narrate(f"{number} unread: git worker msg poll")
    if left is not None and acknowledging:
        narrate(f"#{left} was left out and stays unread, so later messages will come again")


def _wait(
    place: HotContext, selection: Selection, limit: int, wait_s: float
) -> list[UnreadMessage]:
    """Return unread messages as soon as there are any; an empty list after `wait_s`."""
    deadline = clock.monotonic_ms() + wait_s * 1000
    with place.store.open_waker() as waker:
        while True:
            rows = unread(place.store, place.actor, limit=limit, selection=selection)
            left_s = (deadline - clock.monotonic_ms()) / 1000
            if rows or left_s <= 0:
                return rows
            if not waker.wait(left_s, also={OUT: 0}) and clock.monotonic_ms() < deadline:
                raise BrokenPipeError  # only a closed reader ends the wait early
