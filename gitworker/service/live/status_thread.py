"""A thread that watches the status for a screen or a page that stays open."""

from __future__ import annotations

import os
import select
import threading
from typing import TYPE_CHECKING

from gitworker.errors import GitWorkerError, as_gitworker_error
from gitworker.service.live.watch import Pause

if TYPE_CHECKING:
    from collections.abc import Callable

    from gitworker.observe.workers.status import StatusScreen
    from gitworker.service.service import Service

AGAIN_S = 2.0
EVERY_S = 30.0  # without news; the age of heartbeats then changes the status of a worker


class StatusThread:
    """Calls `accept` with each new status until `close`; `name` is the logger's.

    See `watch_status` for `delay_s`.

    A busy or deleted database does not end it: it calls `failed` and tries again every AGAIN_S.
    """

    def __init__(
        self,
        service: Service,
        accept: Callable[[StatusScreen], None],
        *,
        name: str,
        delay_s: float = 0.0,
        failed: Callable[[GitWorkerError], None] | None = None,
    ) -> None:
        self._service = service
        self._accept = accept
        self._failed = failed
        self._name = name
        self._delay_s = delay_s
        self._stop_reader, self._stop_writer = os.pipe()
        self._has_tried = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="status", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def wait_for_first(self) -> None:
        """Wait until the first status was accepted, or could not be read."""
        self._has_tried.wait()

    def close(self) -> None:
        """Stop watching, after the read that is running."""
        os.write(self._stop_writer, b".")
        self._thread.join()

    def _watch(self) -> None:
        pause = Pause(AGAIN_S, {self._stop_reader: select.POLLIN})
        while not self._is_stopped():
            try:
                for frame in self._service.watch_status(
                    every_s=EVERY_S, every_subject=False, delay_s=self._delay_s, pause=pause
                ):
                    if self._is_stopped():
                        return
                    if frame is not None:
                        self._accept(frame)
                        self._has_tried.set()
            except (
                GitWorkerError,
                OSError,
            ) as error:  # a busy or deleted database, a moved directory
                if self._failed is not None:
                    self._failed(as_gitworker_error(error))
            except Exception as error:  # noqa: BLE001 -- the loop of a service: a bug must not end it
                import logging  # 10 ms, only after a bug

                logging.getLogger(self._name).warning(
                    "the status cannot be read, next try in %d s: %s: %s",
                    AGAIN_S, type(error).__name__, error,
                )  # fmt: skip
            self._has_tried.set()
            self._is_stopped(after_s=AGAIN_S)

    def _is_stopped(self, *, after_s: float = 0.0) -> bool:
        return bool(select.select([self._stop_reader], [], [], after_s)[0])
