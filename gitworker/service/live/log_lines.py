"""The log of a worker's agent as lines of text, for a screen or a page that stays open.

Terminal codes are interpreted or removed, and control characters are escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.errors import GitWorkerError
from gitworker.observe.logs.events import Event
from gitworker.observe.logs.rules_screen import rendered
from gitworker.rules_text import printable
from gitworker.service.live.watch import Pause

if TYPE_CHECKING:
    from collections.abc import Callable

    from gitworker.service.service import Service

LINE_AT_MOST = 2000
PAUSE_S = 0.25


def follow_lines(
    service: Service,
    worker: str,
    accept: Callable[[list[str]], None],
    is_stopped: Callable[[], bool],
    *,
    name: str,
) -> str:
    """Call `accept` with the lines of a log until its end, and return the reason of the end.

    `is_stopped` is asked at least every PAUSE_S. The reason is empty after that, and after a bug,
    which the logger `name` reports.
    """
    end = "the log has ended"
    try:
        for one in service.follow_log(worker, limit=1, pause=Pause(PAUSE_S)):
            if is_stopped():
                return ""
            if isinstance(one, Event):
                if one.kind == "log":
                    accept([printable(row) for row in rendered((one.body or "")[:LINE_AT_MOST])])
            elif one is not None:
                end = f"the agent has ended{f': {one.reason}' if one.reason else ''}"
    except GitWorkerError as error:
        end = error.message
    except Exception as error:  # noqa: BLE001 -- the loop of a service: a bug must not end it
        import logging  # 10 ms, only after a bug

        logging.getLogger(name).warning(
            "the log of %s cannot be read: %s: %s", worker, type(error).__name__, error
        )
        return ""
    return printable(end)
