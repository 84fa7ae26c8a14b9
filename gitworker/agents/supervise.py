"""exec: an agent under supervision, from the launch in its seat to what its end means.

What is not in the agent's way happens while it starts already: settings, beats, views.
"""

from __future__ import annotations

from gitworker.agents.launch import Post, launch, require_seat
from gitworker.agents.process.signals import Signals
from gitworker.agents.process.streams import Streams
from gitworker.agents.rules import shell_status
from gitworker.errors import GitWorkerError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from gitworker.agents.launch import Run
    from gitworker.agents.process.agent_log import AgentLog
    from gitworker.session import Session

    T = TypeVar("T")


class Wish:
    """What to run, and how: for how long at most, and whether the caller wants to see it."""

    __slots__ = ("is_silent", "time_limit_s", "words")

    def __init__(
        self, words: list[str], *, time_limit_s: float | None = None, is_silent: bool = False
    ) -> None:
        self.words = words
        self.time_limit_s = time_limit_s
        self.is_silent = is_silent


class Ended:
    """An ended run: its exit status as a shell tells it, and what became of the seat in words."""

    __slots__ = ("outcome", "run", "status")

    def __init__(self, run: Run, status: int, outcome: str) -> None:
        self.run = run
        self.status = status
        self.outcome = outcome


def supervise(
    post: Post, name: str | None, wish: Wish, *, open_session: Callable[[], Session]
) -> Ended:
    """Run a command in a seat's worktree under supervision; return once it has ended.

    `open_session` is called once the agent has begun. Raises what `require_seat` and `launch`
    raise, nothing started then; afterwards nothing but the end of the agent ends the watch.
    """
    seat = require_seat(post, name)
    signals = Signals()
    try:
        streams = Streams(is_silent=wish.is_silent)
        try:
            run = launch(post, seat, wish.words, streams)
            from gitworker.agents.process.agent_log import (
                open_log,  # threads: from here on the agent starts too
            )

            return _attend(
                post,
                run,
                log=open_log(post.paths, seat),
                wish=wish,
                around=(signals, streams),
                open_session=open_session,
            )
        finally:
            streams.restore()
    finally:
        signals.release()


def _attend(
    post: Post,
    run: Run,
    *,
    log: AgentLog,
    wish: Wish,
    around: tuple[Signals, Streams],
    open_session: Callable[[], Session],
) -> Ended:
    """Do for a running agent what its supervisor is for."""
    from gitworker.agents.heartbeats import Beats
    from gitworker.agents.monitor import Watch
    from gitworker.bus.following.waking import open_waker
    from gitworker.config import Settings

    signals, streams = around
    streams.begin(log)
    from gitworker.agents.finish import (  # now: by the end something newer may be installed
        Ending,
        finish,
    )

    session = _try(open_session)
    settings = session.settings if session else Settings()
    log.max_bytes = settings.agent_log_max_bytes
    beats = Beats(post, run, every_s=settings.liveness_beat_s)
    beats.start()
    if session is not None:
        _tell(session, run)
    waker = _try(lambda: open_waker(post.store, post.paths))
    watch = Watch(post, run, signals=signals, streams=streams, beats=beats)
    code = watch.until_end(waker, grace_s=settings.agent_stop_grace_s, limit_s=wish.time_limit_s)
    beats.stop()
    streams.end()
    try:
        ending = Ending(code, why=watch.why, is_late=watch.is_late)
        outcome = finish(session or open_session(), run, ending, is_attended=streams.has_keys)
    except (GitWorkerError, OSError) as error:
        outcome = f"{run.worker}: the end of its agent could not be recorded: {error}"
    beats.end()
    signals.release()  # nothing is left to do but to be read: a ^C may end that
    streams.wait()
    log.close()
    if log.moved_to:
        outcome += f"\n.worker.log in the worktree is not ours: the log is {log.moved_to}"
    if log.lost_bytes:
        outcome += f"\n{log.lost_bytes} bytes of its output could not be written to its log"
    return Ended(run, shell_status(code), outcome)


def _tell(session: Session, run: Run) -> None:
    """Renew the views that the start has changed, and ring the followers."""
    from gitworker.lifecycle.state_views import publish_views

    _try(lambda: publish_views(session, run.worker))


def _try(act: Callable[[], T]) -> T | None:
    """Return what an act gives, None where it fails: an agent is running, and needs us more."""
    try:
        return act()
    except (GitWorkerError, OSError):
        return None
