"""`heartbeat --every`: beats for as long as a process runs."""

import os

from gitworker import clock
from gitworker.bus.beat import Sign, give_sign
from gitworker.cli.hot.place import Place
from gitworker.errors import NotFound
from gitworker.liveness.process import find_process, is_running

LOOK_EVERY_S = 1.0


def beat_while_running(place: Place, worker: str, *, pid: int, every_s: float) -> None:
    """Beat every `every_s` seconds until the process ends or the state directory goes.

    Where the system cannot tell whether a process runs, it beats until it is stopped. Raises
    NotFound where no such process runs.
    """
    process = find_process(pid)
    if process is None and is_running(pid, None) is False:
        raise NotFound(
            f"no process {pid} runs on this machine", "git worker heartbeat --every 10 --pid $$"
        )
    start = process.start if process else None
    lease_ms = place.limits.claims_lease_s * 1000
    due_ms = clock.monotonic_ms() + int(every_s * 1000)
    while is_running(pid, start) is not False and os.path.exists(place.paths.database):
        left_ms = due_ms - clock.monotonic_ms()
        if left_ms > 0:
            clock.sleep(min(LOOK_EVERY_S, left_ms / 1000))
            continue
        give_sign(place.store, place.paths, worker=worker, sign=Sign(), lease_ms=lease_ms)
        due_ms += int(every_s * 1000)
