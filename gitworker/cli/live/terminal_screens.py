"""`ui`: check the terminal and the packages, read the first status, and run the control room."""

import signal
import threading
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.live.person import open_for_screens, require_modules
from gitworker.errors import Refused
from gitworker.model.ids import HQ
from gitworker.rules_text import count_text

if TYPE_CHECKING:
    from gitworker.tui.app import ControlRoom

PIP = "pip install 'gitworker[ui]'"
MODULES = ("textual",)
IN = 0
ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def show_screens(call: CommandLine, worker: str | None) -> None:
    """Show the control room until its user quits, beginning with a worker's review if it is named.

    Raises Unavailable without the extra `ui`, Refused without a terminal and for a worker, NotFound
    for an unknown worker.
    """
    if call.as_json or not (output.has_screen() and output.is_terminal(IN)):
        raise Refused("the control room needs a terminal", "git worker status", code="no_terminal")
    require_modules("the control room", MODULES, PIP, code="no_ui")
    service, reader = open_for_screens(call)
    if reader.identity != HQ:
        raise Refused("the control room acts for a person, so a worker cannot use it; use --as hq")
    name = None if worker is None else service.show(worker).worker.worker_id
    from gitworker.tui.feed import Feed  # these need the extra, and up to 300 ms

    feed = Feed(service)
    try:
        from gitworker.tui.app import ControlRoom

        room = ControlRoom(service, feed, reader, worker=name)
        ended = _run(room)
    finally:
        feed.close()
    running = room.close_threads()
    if running:
        output.narrate(f"waiting for {count_text(running, 'change')} to end")
    for outcome in room.wait():
        output.narrate(f"{outcome.text}\nhint: {outcome.hint}" if outcome.hint else outcome.text)
    if ended:
        raise SystemExit(128 + ended)


def _run(room: "ControlRoom") -> int:
    """Run the screens, and return the signal that ended them, or 0; the terminal is restored."""

    def end(number: int, _: FrameType | None) -> None:
        # A message of another thread wakes the loop, which a handler in its own thread does not.
        threading.Thread(target=room.post, args=(partial(room.exit, number),)).start()

    before = {number: signal.signal(number, end) for number in ENDING}
    try:
        return room.run() or 0
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
