"""merge: land approved work on the target, several workers by one fast-forward."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from gitworker import clock
from gitworker.bus.publish import log_message, publish
from gitworker.errors import Conflict, GitWorkerError
from gitworker.lifecycle.find import require_worker
from gitworker.lifecycle.rules import is_landed, may_judge
from gitworker.model.ids import Ref
from gitworker.model.message import LANDING_REFUSED
from gitworker.model.outcome import Landed, NotLanded
from gitworker.model.worker import WorkerState
from gitworker.progress import Notice
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.repo.replay.replay_cache import ReplayCache
from gitworker.session import Session
from gitworker.store.api import Reader
from gitworker.store.messages.inboxes import newest_log
from gitworker.store.messages.transitions import came_by_undo
from gitworker.store.workers import Worker, find_worker
from gitworker.verify.target_settings import require_valid_file
from gitworker.worktrees.elsewhere import bring_branches, drop_copies
from gitworker.worktrees.prefetched_checks import start_early_checks

__all__ = ["Landed", "NotLanded", "choose", "merge"]

SILENT_WAIT_S = 0.5  # after this wait for another queue a message says that we wait
WAIT_AT_MOST_S = 86_400


def merge(
    session: Session,
    names: list[str],
    *,
    everything: bool = False,
    keep: bool = False,
    skip: Collection[str] = (),
    windows: int | None = None,
    is_unattended: bool = False,
    memory: ReplayCache | None = None,
) -> list[Landed | NotLanded]:
    """Land workers in the order named, in the queue's order with `everything`.

    They are replayed one on top of another, verified as windows, and each window lands by one
    fast-forward. Workers of a workstream with a branch of its own have windows of their own, which
    land on that branch. A worker that does not fit waits until those before it have landed, and is
    then tried on the target alone. A worker that cannot land is reported; the others still land.
    Workers in `skip` are left out, and without a person (`is_unattended`) those whose approval an
    undo restored. `memory` are the replays of this command so far. Results are reported as they
    become known. Raises Refused, before any change, if the caller may not land a worker or the
    repository's verify commands are not trusted, and Invalid if the target's settings have an
    error.
    """
    require_valid_file(session)
    named = choose(session, names, everything=False)  # their state before other queues ran
    if not (keep or everything):
        start_early_checks(session, named)
    from gitworker.landing.queue import Queue  # 20 ms, while git reads the worktrees

    with hold_queue(session):
        found = choose(session, [], everything=True) if everything else named
        if is_unattended:
            found = _without_undone(session, found)
        chosen = [
            one for one in found if one.worker_id not in skip and not _has_landed(session, one)
        ]
        results: dict[str, Landed | NotLanded] = {}
        for ref, group in by_target(chosen):
            queue = Queue(session.aimed_at(ref), keep=keep, memory=memory)
            results |= queue.run(group, windows=windows)
    _record_refusals(session, [one for one in results.values() if isinstance(one, NotLanded)])
    for one in chosen:
        if one.elsewhere is not None and isinstance(results.get(one.worker_id), Landed):
            drop_copies(session, one._replace(state=WorkerState.COMPLETED))
    return [results[one.worker_id] for one in chosen if one.worker_id in results]


def _record_refusals(session: Session, results: list[NotLanded]) -> None:
    """Publish which workers a file in the target's checkout keeps from landing, for the screens."""
    refused = [one for one in results if one.error.code == "would_overwrite"]
    if not refused:
        return
    with session.store.write() as writer:
        for one in refused:
            worker, text = find_worker(writer, one.worker_id), one.error.message
            if worker is None or text == newest_log(
                writer, worker.worker_id, worker.task_id, LANDING_REFUSED,
                since_ms=worker.state_changed_at_ms,
            ):  # fmt: skip
                continue
            entry = log_message(
                worker.worker_id, worker.task_id, LANDING_REFUSED, text, level="error"
            )
            publish(writer, entry, now=clock.now_ms())


def by_target(workers: Sequence[Worker]) -> list[tuple[Ref | None, list[Worker]]]:
    """Return the workers by the branch on which their tasks land; None is the target.

    Without workers, the target alone: its interrupted landings are finished all the same.
    """
    found: dict[Ref | None, list[Worker]] = {}
    for worker in workers:
        found.setdefault(worker.lands_on, []).append(worker)
    return list(found.items()) or [(None, [])]


def _without_undone(session: Session, workers: list[Worker]) -> list[Worker]:
    """Leave out workers that an undo made APPROVED again: a person decides when they land."""
    with session.store.read() as reader:
        return [one for one in workers if not came_by_undo(reader, one.worker_id, one.version)]


def _has_landed(session: Session, worker: Worker) -> bool:
    """Return whether a worker's work has landed, and report it: nothing is left to do."""
    if is_landed(worker.state):
        session.report(Notice(f"worker {worker.worker_id} has landed already: nothing changed"))
        from gitworker.observe.next_step.trouble import read_trouble  # 10 ms, only after a landing

        if later := read_trouble(session, worker):
            session.report(Notice(f"{later.words}: {later.command}"))
    return is_landed(worker.state)


@contextmanager
def hold_queue(session: Session) -> Iterator[None]:
    """Hold the queue's lock: one queue at a time verifies and lands."""
    with ExitStack() as held:
        try:
            held.enter_context(hold(session.queue_lock, name="queue", timeout_s=SILENT_WAIT_S))
        except Conflict:
            from gitworker.verify.verify_worktree import require_outside  # 5 ms, only to wait

            require_outside(session)
            session.report(Notice("another merge is running; this one waits for it to end"))
            held.enter_context(hold(session.queue_lock, name="queue", timeout_s=WAIT_AT_MOST_S))
        yield


def choose(session: Session, names: list[str], *, everything: bool) -> list[Worker]:
    """Return the workers that are to land, in order; raise Refused for the caller's own work."""
    with session.store.read() as reader:
        if everything:
            chosen = _in_order(reader)
        else:
            named = [require_worker(reader, name, session) for name in names]
            chosen = list({worker.worker_id: worker for worker in named}.values())
    for worker in chosen:
        refusal = may_judge(
            session.actor, worker.worker_id, self_review=session.settings.review_self,
            state=worker.stale_from or worker.state,
        )  # fmt: skip
        if refusal is not None:
            raise refusal
    return [one for one in chosen if _is_here(session, one, is_alone=not everything)]


def _is_here(session: Session, worker: Worker, *, is_alone: bool) -> bool:
    """Fetch a branch of another machine; if that fails, it blocks no other work of the queue."""
    if is_landed(worker.state):
        return True
    try:
        bring_branches(session, [worker])
    except GitWorkerError as error:
        if is_alone:
            raise
        session.report(Notice(f"{worker.worker_id} cannot land now: {error.message}"))
        return False
    return True


def _in_order(reader: Reader) -> list[Worker]:
    """Return the approved workers in the order of the queue's rules."""
    from gitworker.landing.queue_status import list_waiting  # 2 ms, only with --all

    found = (find_worker(reader, one.worker_id) for one in list_waiting(reader, clock.now_ms()))
    return [worker for worker in found if worker is not None]
