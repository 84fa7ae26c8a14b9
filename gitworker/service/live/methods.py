"""The methods of the service that continue until their caller closes them.

Each is a generator that opens a session of its own and frees it, with its watch, at its end: when
the caller closes it, or when the state directory is deleted. With a `Pause` it also yields None.
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.errors import Conflict, GitWorkerError
from gitworker.model.outcome import Landed, NotLanded
from gitworker.progress import Notice
from gitworker.service.request import open_quickly, open_to_read
from gitworker.service.review.landing import ReviewMethods
from gitworker.service.views import STATUS_EVERY_S, of_machine

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from gitworker.bus.following.follow_messages import MessageFilter
    from gitworker.observe.logs.events import Event
    from gitworker.observe.logs.followed_run import RunEnd
    from gitworker.observe.workers.status import StatusScreen
    from gitworker.service.live.watch import Pause
    from gitworker.session import Session

STATUS_REST_S = 0.2  # between two reads, so that a busy bus costs only a part of one processor
QUEUE_EVERY_S = 60.0  # how often the queue looks at the latest, and retries a worker
CHECK_EVENTS_S = 2.0
CHECK_LOG_S = 0.25  # a write to an agent's log wakes no reader


class LandingStopped(NamedTuple):
    """An attempt to land that failed as a whole, for example at a remote; it is repeated."""

    error: GitWorkerError


class LiveMethods(ReviewMethods):
    """The views that continue; see `WorkMethods` for the names of workers and the imports."""

    def watch_status(
        self,
        *,
        every_s: float = STATUS_EVERY_S,
        every_subject: bool = True,
        machine: str | None = None,
        delay_s: float = 0.0,
        pause: Pause | None = None,
    ) -> Generator[StatusScreen | None]:
        """Yield the status now and after each change; it is read every `every_s` at the latest.

        It is read `delay_s` after a change, together with the changes of that time. Two statuses
        that differ only in `now_ms` are equal. See `status` for `every_subject` and
        `machine`.
        """
        from gitworker.service.live.status_reader import StatusReader
        from gitworker.service.live.watch import Watch

        with self._reading() as session, Watch(session, pause) as watch:
            reader = StatusReader(session, every_subject=every_subject)
            shown: StatusScreen | None = None
            read_ms, is_due = 0, True
            while not watch.is_over:
                if is_due:
                    status, read_ms = reader.read_again(), clock.monotonic_ms()
                    if machine is not None:
                        status = of_machine(session, status, machine)
                    if status._replace(now_ms=0) != shown:
                        shown = status._replace(now_ms=0)
                        yield status
                is_due = watch.wait(every_s - _seconds_since(read_ms))
                if is_due:
                    watch.rest(max(delay_s, STATUS_REST_S - _seconds_since(read_ms)))
                    continue
                is_due = _seconds_since(read_ms) >= every_s
                if pause is not None:
                    yield None

    def follow_log(
        self,
        worker: str | None = None,
        *,
        limit: int | None = 50,
        since_ms: int = 0,
        types: frozenset[str] = frozenset(),
        agent_lines: int = 0,
        pause: Pause | None = None,
    ) -> Generator[Event | RunEnd | None]:
        """Yield the events of `log`, then new ones, with new lines of the agents' logs.

        Without `agent_lines`, the log of a worker's supervised agent is read from the start of its
        run; the last item is then the end of that run.
        """
        from gitworker.observe.logs.followed_run import (
            RunEnd,
            find_followed_run,
            is_over,
            newest_run,
        )
        from gitworker.observe.logs.log import LogFollower, read_log
        from gitworker.observe.logs.log_filter import LogFilter
        from gitworker.service.live.watch import Watch

        wants = LogFilter(types=types).wants
        with self._reading() as session, Watch(session, pause) as watch:
            found = None if worker is None else self._worker(session, worker)
            log = read_log(
                session, found, limit=limit, since_ms=since_ms, types=types,
                agent_lines=agent_lines,
            )  # fmt: skip
            run = find_followed_run(session, found.worker_id) if found and not agent_lines else None
            start = None if run is None else run.log_start_bytes or 0
            with closing(LogFollower(session, found, log.position, log_start=start)) as follower:
                yield from log.events
                is_new = True
                while not watch.is_over:
                    run = newest_run(session, run) if run is not None and is_new else run
                    if run is not None and is_over(run):
                        yield from filter(wants, (*follower.news(), *follower.last_lines()))
                        yield RunEnd(run.worker_id, run.reason)
                        return
                    yield from filter(wants, follower.news() if is_new else follower.lines())
                    is_new = watch.wait(CHECK_LOG_S if follower.has_agent_log else CHECK_EVENTS_S)
                    if pause is not None and not is_new:
                        yield None

    def follow(
        self,
        wanted: MessageFilter | None = None,
        *,
        since: int | None = None,
        pause: Pause | None = None,
    ) -> Generator[dict[str, Any] | None]:
        """Yield messages as they arrive, after position `since` or from now on."""
        from gitworker.bus.following.follow_messages import MAX_WAIT_S, MessageFilter, follow
        from gitworker.bus.following.listen import listen
        from gitworker.lifecycle.take_up import publish_commits

        chosen = wanted or MessageFilter()
        limit_s, also = (MAX_WAIT_S, None) if pause is None else (pause.after_s, pause.also)
        with self._reading_busy() as session, listen(session, publish_commits) as waker:
            for message in follow(
                session.store, session.paths, chosen, since=since, waker=waker, also=also,
                max_wait_s=min(limit_s, MAX_WAIT_S),
            ):  # fmt: skip
                if message is not None or pause is not None:
                    yield message

    def watch_queue(
        self, *, every_s: float = QUEUE_EVERY_S, pause: Pause | None = None
    ) -> Generator[Landed | NotLanded | LandingStopped | None]:
        """Land approved work as it arrives, with the current settings; yield each result.

        A worker that could not land is retried after `every_s`. Events report runs on the way.
        """
        from gitworker.service.live.watch import Watch

        held: dict[str, int] = {}
        with self._acting() as session, Watch(session, pause) as watch:
            while not watch.is_over:
                now_ms = clock.monotonic_ms()
                held = {name: until_ms for name, until_ms in held.items() if until_ms > now_ms}
                results: list[Landed | NotLanded] = []
                try:
                    results = self.merge(
                        everything=True, skip=held.keys(), windows=1, is_unattended=True
                    )
                except GitWorkerError as error:
                    yield LandingStopped(error)
                stopped = [one.worker_id for one in results if isinstance(one, NotLanded)]
                held |= dict.fromkeys(stopped, now_ms + int(every_s * 1000))
                yield from results
                if not results and not watch.wait(every_s) and pause is not None:
                    yield None

    @contextmanager
    def _reading_busy(self) -> Iterator[Session]:
        """Open the repository to read, even while another program keeps the database locked."""
        try:
            session, _ = open_to_read(self._take_request())
        except Conflict as error:
            text = "commits that no hook reported are not published yet"
            self._request.report(Notice(f"warning: {error.message}: {text}"))
            session = open_quickly(self._request)
        try:
            yield session
        finally:
            session.store.close()


def _seconds_since(before_ms: int) -> float:
    return (clock.monotonic_ms() - before_ms) / 1000
