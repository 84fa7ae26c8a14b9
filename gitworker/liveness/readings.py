"""Reading what the rules of liveness judge: the clocks, the beats, the processes."""

from gitworker import clock
from gitworker.liveness.process import is_running
from gitworker.liveness.rules import Beat, Moment
from gitworker.store.api import Reader, Row
from gitworker.store.workers import Worker


def this_moment() -> Moment:
    """Read the clocks once."""
    return Moment(clock.now_ms(), clock.monotonic_ms(), clock.boot_id(), clock.host_name())


def read_beats(reader: Reader) -> dict[str, Beat]:
    """Return the last beat of every agent."""
    return {row["agent_id"]: _beat(row) for row in reader.rows("liveness.all")}


def process_runs(worker: Worker, moment: Moment) -> bool | None:
    """Tell whether a seat's process runs; None for another host and where there is no pid."""
    if worker.pid is None or worker.host != moment.host:
        return None
    if worker.boot_id != moment.boot_id:
        return False
    return is_running(worker.pid, worker.pid_start)


def run_is_over(run: Row, moment: Moment) -> bool:
    """Tell whether a run that nobody ended has lost both agent and supervisor on this machine.

    While the agent lives its process is the seat's: it is beaten for, and the run goes on.
    """
    if run["host"] != moment.host:
        return False
    if run["boot_id"] != moment.boot_id:
        return True
    pids = ((run["supervisor_pid"], run["supervisor_start"]), (run["pid"], run["pid_start"]))
    return all(pid is None or is_running(pid, start) is False for pid, start in pids)


def _beat(row: Row) -> Beat:
    return Beat(row["ts_ms"], row["mono_ms"], row["boot_id"], row["host"])
