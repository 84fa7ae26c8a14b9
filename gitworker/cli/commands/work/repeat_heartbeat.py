"""`heartbeat --every`: send heartbeats as long as a process runs."""

import os

from gitworker import clock
from gitworker.bus.heartbeat_message import HeartbeatReport, send_heartbeat
from gitworker.cli.hot.place import HotContext
from gitworker.cli.output import narrate
from gitworker.errors import GitWorkerError, NotFound, as_gitworker_error
from gitworker.processes.table import find_process, is_running

CHECK_EVERY_S = 1.0


def repeat_heartbeat(place: HotContext, worker: str, *, pid: int, every_s: float) -> None:
    """Send a heartbeat every `every_s` seconds until the process ends or the state directory is
    deleted.

    A heartbeat that cannot be recorded causes a warning, and the next one tries again. If the
    system cannot report whether the process runs, the heartbeats continue until this command is
    stopped. Raises NotFound if the process does not exist.
    """
    process = find_process(pid)
    if process is None and is_running(pid, None) is False:
        raise NotFound(
            f"no process {pid} runs on this machine",
            f"git worker heartbeat {worker} --every 10 --pid $$",
        )
    start = process.start if process else None
    lease_ms = place.limits.claims_lease_s * 1000
    due_ms = clock.monotonic_ms() + int(every_s * 1000)
    while is_running(pid, start) is not False and os.path.exists(place.paths.database):
        left_ms = due_ms - clock.monotonic_ms()
        if left_ms > 0:
            clock.sleep(min(CHECK_EVERY_S, left_ms / 1000))
            continue
        try:
            send_heartbeat(
                place.store, place.paths, worker=worker, sign=HeartbeatReport(), lease_ms=lease_ms
            )
        except (GitWorkerError, OSError) as error:  # a busy database, a full disk: try again later
            narrate(
                f"warning: no heartbeat recorded for {worker}: {as_gitworker_error(error).message}"
            )
        due_ms += int(every_s * 1000)
