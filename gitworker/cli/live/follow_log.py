"""`log --follow`: print each event as one line when it happens."""

from collections.abc import Iterable

from gitworker.cli import output
from gitworker.cli.live.live import ViewWaker
from gitworker.observe.logs.events import Event, json_event
from gitworker.observe.logs.followed_run import end_text, find_followed_run, is_over, newest_run
from gitworker.observe.logs.log import Log, LogFollower, event_line
from gitworker.observe.logs.log_filter import LogFilter
from gitworker.session import Session
from gitworker.store.workers import Worker

CHECK_EVENTS_S = 2.0
CHECK_LOG_S = 0.25  # a write to an agent's log wakes no reader


def follow_log(
    session: Session,
    worker: Worker | None,
    log: Log,
    *,
    as_json: bool,
    types: frozenset[str] = frozenset(),
    whole_run: bool = False,
) -> None:
    """Print the past events, then new ones, until the state directory or the reader disappears.

    Only those of `types` are printed, as of `LogFilter`; all if it is empty. With `whole_run` the
    log of the worker's supervised agent is printed from the start of its run, and ends with it.
    """
    wants = LogFilter(types=types).wants
    run = find_followed_run(session, worker.worker_id) if whole_run and worker else None
    start = None if run is None else run.log_start_bytes or 0
    follower = LogFollower(session, worker, log.position, log_start=start)
    try:
        with ViewWaker(session) as lookout:
            _print(log.events, as_json=as_json)
            is_new = True
            while not lookout.is_over:
                run = newest_run(session, run) if run is not None and is_new else run
                if run is not None and is_over(run):
                    last = (*follower.news(), *follower.last_lines())
                    _print(filter(wants, last), as_json=as_json)
                    output.narrate(end_text(run))
                    return
                events = follower.news() if is_new else follower.lines()
                _print(filter(wants, events), as_json=as_json)
                pause_s = CHECK_LOG_S if follower.has_agent_log else CHECK_EVENTS_S
                is_new = lookout.wait(pause_s)
    finally:
        follower.close()
    output.narrate("the state directory was deleted")


def _print(events: Iterable[Event], *, as_json: bool) -> None:
    width, color = output.screen_width(), output.wants_color()
    for event in events:
        if as_json:
            output.answer_line(output.json_line(json_event(event)))
        else:
            output.answer_rendered(event_line(event, width=width, color=color))
