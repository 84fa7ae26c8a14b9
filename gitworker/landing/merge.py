"""merge: approved work reaches the target, several workers by one fast-forward."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.errors import Conflict
from gitworker.lifecycle.find import require_worker
from gitworker.lifecycle.outcome import Landed, NotLanded
from gitworker.lifecycle.rules import may_judge
from gitworker.repo.plumbing.lock import hold
from gitworker.session import Session
from gitworker.store.api import Reader
from gitworker.store.workers import Worker, find_worker
from gitworker.worktrees.prefetched_checks import look_early

if TYPE_CHECKING:
    from gitworker.landing.queue import Note, Show
    from gitworker.repo.remote.transfer import Narrate

__all__ = ["Landed", "NotLanded", "choose", "merge"]

GLANCE_S = 0.5  # how long another queue may take before we say that we wait for it
PATIENCE_S = 86_400


def merge(
    session: Session,
    names: list[str],
    *,
    everything: bool = False,
    keep: bool = False,
    skip: Collection[str] = (),
    windows: int | None = None,
    tell: Callable[[str], None] = lambda line: None,
    show: Show | None = None,
    narrate: Narrate | None = None,
    note: Note = lambda results: None,
) -> list[Landed | NotLanded]:
    """Land workers in the order named, in the queue's order with `everything`.

    They are replayed one on top of another, verified as windows, and land by one fast-forward each.
    A worker that does not fit waits until those before it have landed, and is then judged against
    the target alone; one that cannot land is reported and does not stop the others. Those of `skip`
    are left out. `tell` takes lines for people, `show` how runs go on, `narrate` how transfers do,
    `note` what became of workers as it becomes known. Raises Refused, before anything is touched,
    for whoever may not judge and where the repository's verify commands are not trusted.
    """
    named = choose(session, names, everything=False)  # as they stand before others had their turn
    early = None if keep or everything else look_early(session, named)
    from gitworker.landing.queue import Queue  # 20 ms, beside which git looks

    with _turn(session, tell):
        found = choose(session, [], everything=True) if everything else named
        chosen = [worker for worker in found if worker.worker_id not in skip]
        queue = Queue(
            session, keep=keep, tell=tell, show=show, narrate=narrate, early=early, note=note
        )
        results = queue.run(chosen, windows=windows)
    return [results[one.worker_id] for one in chosen if one.worker_id in results]


@contextmanager
def _turn(session: Session, tell: Callable[[str], None]) -> Iterator[None]:
    """Hold the queue's lock: one queue at a time verifies and lands."""
    with ExitStack() as held:
        try:
            held.enter_context(hold(session.queue_lock, what="queue", timeout_s=GLANCE_S))
        except Conflict:
            from gitworker.verify.verify_worktree import require_outside  # 5 ms, where one waits

            require_outside(session)
            tell("another merge is at work; this one waits for its turn")
            held.enter_context(hold(session.queue_lock, what="queue", timeout_s=PATIENCE_S))
        yield


def choose(session: Session, names: list[str], *, everything: bool) -> list[Worker]:
    """Return the workers that are to land, in order; raise Refused for one's own work."""
    with session.store.read() as reader:
        if everything:
            chosen = _in_order(reader)
        else:
            named = [require_worker(reader, name, session) for name in names]
            chosen = list({worker.worker_id: worker for worker in named}.values())
    for worker in chosen:
        refusal = may_judge(
            session.actor, worker.worker_id, self_review=session.settings.review_self
        )
        if refusal is not None:
            raise refusal
    return chosen


def _in_order(reader: Reader) -> list[Worker]:
    """Return whoever is approved, as the queue's rules order them."""
    from gitworker.landing.lineup import line_up  # 2 ms, only with --all

    found = (find_worker(reader, one.worker_id) for one in line_up(reader, clock.now_ms()))
    return [worker for worker in found if worker is not None]
