"""Reading what the rules of liveness judge: the clocks, the beats, the processes."""

from collections.abc import Sequence
from typing import NamedTuple

from gitworker import clock
from gitworker.liveness.process import is_running
from gitworker.liveness.rules import Beat, Moment, has_jumped
from gitworker.store.api import Reader, Row
from gitworker.store.workers import Worker


class Lost(NamedTuple):
    """Runs without a supervisor: those whose agent has ended too, and those of its orphans."""

    over: list[Row]
    orphans: list[Row]


def this_moment() -> Moment:
    """Read the clocks once."""
    return Moment(clock.now_ms(), clock.monotonic_ms(), clock.boot_id(), clock.host_name())


def read_beats(reader: Reader) -> dict[str, Beat]:
    """Return the last beat of every agent."""
    return {row["agent_id"]: _beat(row) for row in reader.rows("liveness.all")}


def clock_has_jumped(reader: Reader) -> bool:
    """Tell whether the wall clock has moved by a day or more since the newest beat."""
    return has_jumped(read_beats(reader).values(), this_moment())


def process_runs(worker: Worker, moment: Moment) -> bool | None:
    """Tell whether a seat's process runs; None for another host and where there is no pid."""
    if worker.pid is None or worker.host != moment.host:
        return None
    if worker.boot_id != moment.boot_id:
        return False
    return is_running(worker.pid, worker.pid_start)


def lost_runs(rows: Sequence[Row], moment: Moment) -> Lost:
    """Return which of the runs that nobody ended have lost their supervisor on this machine.

    While an agent lives its process is the seat's: it is beaten for, and the run goes on. One that
    was told to end counts as an orphan until whoever told it has seen it end.
    """
    lost = Lost([], [])
    for run in rows:
        if run["host"] != moment.host:
            continue
        if run["boot_id"] != moment.boot_id:
            lost.over.append(run)
        elif is_running(run["supervisor_pid"], run["supervisor_start"]) is False:
            is_over = not run["why"] and (
                run["pid"] is None or is_running(run["pid"], run["pid_start"]) is False
            )
            (lost.over if is_over else lost.orphans).append(run)
    return lost


def _beat(row: Row) -> Beat:
    return Beat(row["ts_ms"], row["mono_ms"], row["boot_id"], row["host"])
