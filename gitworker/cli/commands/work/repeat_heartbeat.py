"""`heartbeat --every`: beats for as long as a process runs."""

import os

from gitworker import clock
from gitworker.bus.heartbeat_message import Sign, give_sign
from gitworker.cli.hot.place import Place
from gitworker.cli.output import narrate
from gitworker.errors import GitWorkerError, NotFound, error_of
from gitworker.liveness.processes import find_process, is_running

LOOK_EVERY_S = 1.0


def beat_while_running(place: Place, worker: str, *, pid: int, every_s: float) -> None:
    """Beat every `every_s` seconds until the process ends or the state directory goes.

    A beat that cannot be recorded is told, and the next one tries again.

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
        try:
            give_sign(place.store, place.paths, worker=worker, sign=Sign(), lease_ms=lease_ms)
        except (GitWorkerError, OSError) as error:  # a busy database, a full disk: it goes on
            narrate(f"warning: no beat for {worker}: {error_of(error).message}")
        due_ms += int(every_s * 1000)
