"""Changes that a page has asked for: short ones are answered at once, long ones by a notice."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from gitworker import clock
from gitworker.errors import GitWorkerError, Internal, as_gitworker_error
from gitworker.service.outcome_words import refusal_words

if TYPE_CHECKING:
    from collections.abc import Callable

ANSWER_WITHIN_S = 10.0
LONG_ANSWER_WITHIN_S = 1.0  # of a landing, which runs the verify commands
NOTICES_KEPT = 8
NOTICE_KEPT_MS = 10 * 60_000
AT_ONCE = 8


class Notice(NamedTuple):
    """The result of a change. `kind` is done, refused or running; `hint` is a command.

    `focus` is the element of the page that shows the result.
    """

    kind: str
    text: str
    hint: str | None = None
    status: int = 200
    at_ms: int = 0
    focus: str = ""


class Jobs:
    """Runs changes in threads and keeps the last results; `announce` reports a late one."""

    def __init__(self, announce: Callable[[], None]) -> None:
        self._announce = announce
        self._lock = threading.Lock()
        self._notices: deque[tuple[str, Notice]] = deque(maxlen=NOTICES_KEPT)
        self._pool = ThreadPoolExecutor(AT_ONCE, "change")

    async def run(
        self, label: str, change: Callable[[], Notice], *, is_long: bool = False
    ) -> Notice:
        """Return the result of a change, or that it is still running; its notice comes later.

        The earlier notice of the same change is removed.
        """
        self._forget(label)
        future: Future[Notice] = self._pool.submit(_outcome, change)
        limit_s = LONG_ANSWER_WITHIN_S if is_long else ANSWER_WITHIN_S
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), limit_s)
        except TimeoutError:
            future.add_done_callback(lambda done: self._keep(label, done))
            return Notice("running", f"{label} is running; its result appears here", status=202)

    def notices(self) -> list[Notice]:
        """Return the results of changes that took longer, newest first, for some minutes."""
        since = clock.now_ms() - NOTICE_KEPT_MS
        with self._lock:
            return [one for _, one in reversed(self._notices) if one.at_ms > since]

    def close(self) -> None:
        """Wait for the changes that are running; interrupted operations would only be settled."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _keep(self, label: str, done: Future[Notice]) -> None:
        if not done.cancelled():
            found = done.result()
            with self._lock:
                self._notices.append((label, found._replace(text=f"{label}: {found.text}")))
            self._announce()

    def _forget(self, label: str) -> None:
        with self._lock:
            left = [one for one in self._notices if one[0] != label]
            self._notices.clear()
            self._notices.extend(left)


def _outcome(change: Callable[[], Notice]) -> Notice:
    """Return the result of a change, or its refusal in the words of the command line."""
    try:
        return change()._replace(at_ms=clock.now_ms())
    except (GitWorkerError, OSError) as error:
        return refusal(as_gitworker_error(error))
    except Exception as error:  # noqa: BLE001 -- the loop of a service: one bug stops no other change
        return refusal(Internal(f"a bug in gitworker: {error!r}"))


def refusal(error: GitWorkerError) -> Notice:
    """Return an error as a notice."""
    statuses = {2: 400, 3: 409, 4: 404, 70: 500}
    return Notice(
        "refused", refusal_words(error), error.hint, statuses.get(error.status, 409), clock.now_ms()
    )
