"""log: events, newest last: transitions, commits, messages, and lines of an agent's log.

All but the last carry their own time. A line of a followed agent log gets the time at which it was
seen; a line that is read afterwards gets the modification time of the file, its latest possible
time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.observe.logs.agent_logs import AgentLogs
from gitworker.observe.logs.events import (
    Event,
    LogPosition,
    event_text,
    json_event,
    log_event,
    read_all_events,
    read_events_after,
    read_position,
    read_worker_events,
)
from gitworker.observe.logs.log_filter import DEFAULT_LIMIT, LogFilter
from gitworker.observe.logs.rules_screen import shown_rows
from gitworker.observe.logs.tail import find_agent_log, last_lines
from gitworker.observe.text import DIM, cut, paint
from gitworker.store.workers import all_workers

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.workers import Worker

BATCH = 500


class Log(NamedTuple):
    """Events in order of time; `worker` is None if the log is about all workers.

    `position` is the start for a reader that continues. `is_partial`: not all types or times were
    asked for.
    """

    worker: str | None
    events: tuple[Event, ...]
    position: LogPosition = LogPosition(0, 0)
    is_partial: bool = False


def read_log(
    session: Session,
    worker: Worker | None,
    *,
    limit: int | None = DEFAULT_LIMIT,
    since_ms: int = 0,
    types: frozenset[str] = frozenset(),
    agent_lines: int = 0,
) -> Log:
    """Return the newest events, of one worker and its task or of everything; see `LogFilter`.

    The last `agent_lines` of the worker's own log are added.
    """
    chosen = LogFilter(limit, since_ms, types)
    is_partial = bool(types) or since_ms > 0
    with session.store.read() as reader:
        position = read_position(reader)
        if worker is None:
            events = chosen.newest(lambda size: read_all_events(reader, size))
            return Log(None, events, position, is_partial)
        name, task = worker.worker_id, worker.task_id
        events = chosen.newest(
            lambda size: read_worker_events(reader, worker=name, task=task, limit=size)
        )
    if agent_lines:
        path = find_agent_log(session.paths.logs, worker)
        lines, ts_ms = last_lines(path, agent_lines) if path else ([], 0)
        rows = shown_rows(lines)[-agent_lines:] if lines else []
        logged = [log_event(name, row, ts_ms=ts_ms, number=at) for at, row in enumerate(rows, 1)]
        events = tuple(sorted((*events, *logged), key=lambda event: event.ts_ms))
    return Log(name, events, position, is_partial)


class LogFollower:
    """Read the events after a position again and again; nothing is written.

    With a worker: the events of the worker and of every task that it gets, and the log of its
    agent, from the byte `log_start` on if it is given. Without: all events, and the logs of the
    agents at work.
    """

    def __init__(
        self,
        session: Session,
        worker: Worker | None,
        position: LogPosition,
        *,
        log_start: int | None = None,
    ) -> None:
        self._session = session
        self._worker = worker.worker_id if worker else None
        self._position = position
        self._tasks = {worker.task_id} if worker else set()
        with session.store.read() as reader:
            workers = all_workers(reader)
        self._logs = AgentLogs(session.paths.logs, workers, worker, start=log_start)
        self._lines: dict[str, int] = {}

    @property
    def has_agent_log(self) -> bool:
        """Return True if the log of an agent is followed, which must be polled."""
        return self._logs.is_following

    def news(self) -> tuple[Event, ...]:
        """Return the events since the last call, in order of time."""
        events: tuple[Event, ...] = ()
        while True:
            with self._session.store.read() as reader:
                workers = all_workers(reader)
                found, position = read_events_after(reader, self._position, limit=BATCH)
            self._follow_workers(workers)
            events += tuple(event for event in found if self._wants(event))
            if position == self._position:
                break
            self._position = position
        lines = self.lines()
        self._logs.forget(workers)
        return events + lines

    def lines(self) -> tuple[Event, ...]:
        """Return only the lines that agents logged since the last call."""
        return self._events(self._logs.read())

    def last_lines(self) -> tuple[Event, ...]:
        """Return all that is left in the logs of agents that have ended."""
        events: tuple[Event, ...] = ()
        while lines := self._logs.read():
            events += self._events(lines)
        return events + self._events(self._logs.rest())

    def _events(self, found: list[tuple[str, str]]) -> tuple[Event, ...]:
        now = clock.now_ms() if found else 0
        events = []
        for worker, row in ((worker, row) for worker, line in found for row in shown_rows([line])):
            number = self._lines[worker] = self._lines.get(worker, 0) + 1
            events.append(log_event(worker, row, ts_ms=now, number=number))
        return tuple(events)

    def close(self) -> None:
        """Close the agents' logs."""
        self._logs.close()

    def _follow_workers(self, workers: list[Worker]) -> None:
        """Follow the workers to their next tasks and worktrees."""
        self._tasks |= {
            one.task_id for one in workers if one.worker_id == self._worker and one.task_id
        }
        self._logs.follow(workers)

    def _wants(self, event: Event) -> bool:
        if self._worker is None:
            return True
        if event.kind != "transition":
            return self._worker in (event.source, event.to) or event.task in self._tasks
        if event.machine == "task":
            return event.source in self._tasks
        return event.machine == "worker" and event.source == self._worker


def render_log(log: Log, *, width: int | None, color: bool) -> str:
    """Return one line for each event: its time, then its text; see `event_line`."""
    if not log.events:
        return "no such event" if log.is_partial else "nothing has happened yet"
    return "\n".join(event_line(event, width=width, color=color) for event in log.events)


def event_line(event: Event, *, width: int | None, color: bool) -> str:
    """Return one event as a line: its time (local on a terminal, else UTC), then its text."""
    stamp = clock.iso_utc_seconds(event.ts_ms)
    if width is not None:
        stamp = clock.local_seconds(event.ts_ms)
    room = None if width is None else width - len(stamp) - 2
    return f"{paint(stamp, DIM, color=color)}  {cut(event_text(event), room)}"


def json_log(log: Log) -> dict[str, Any]:
    """Return the events as JSON data."""
    return {"worker": log.worker, "events": [json_event(event) for event in log.events]}
