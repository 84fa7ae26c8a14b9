"""A window of approved workers, prepared one on top of another, lands by one fast-forward.

Every worker is journaled before the target moves, so that a kill leaves either none of them landed
or all. What the target contains has landed; worktrees and branches follow, or go, afterwards. With
a remote the push comes first, and what the remote took has landed.
"""

from collections.abc import Callable
from dataclasses import replace

from gitworker import clock
from gitworker.branches.replay_branch import begin_rewrite, rescue_old_tips
from gitworker.claims.leases import require_task_free
from gitworker.crashpoint import crash_point
from gitworker.errors import GitWorkerError, Unavailable, error_of
from gitworker.journal.finish_landing import (
    ANSWERED,
    PUSHED,
    PUSHING,
    Landing,
    clean_up,
    close_merges,
    find_left,
    finish_merge,
)
from gitworker.journal.recover import finish_interrupted
from gitworker.landing.prepare import Prepared
from gitworker.lifecycle.outcome import Landed, NotLanded
from gitworker.lifecycle.rules import landing_reason
from gitworker.lifecycle.state_views import publish_views
from gitworker.model.ids import Oid
from gitworker.repo.checkout.fastforward import check_forward, fast_forward
from gitworker.repo.plumbing.lock import descriptor_of
from gitworker.repo.worktrees.worktree_list import find_checkout
from gitworker.session import Session
from gitworker.store.operations import (
    Operation,
    advance_operation,
    find_operation,
)
from gitworker.store.workers import Worker
from gitworker.worktrees.prefetched_checks import Looks
from gitworker.worktrees.removal import discard

Push = Callable[[Oid, Oid], None]  # the new commit, and the remote's tip that it replaces


class PushRefused(Exception):
    """The remote surely has not taken a push; `error` says why."""

    def __init__(self, error: GitWorkerError) -> None:
        super().__init__(error.message)
        self.error = error


def land(
    session: Session,
    window: list[Prepared],
    *,
    keep: bool,
    push: Push | None = None,
    early: Looks | None = None,
) -> dict[str, Landed | NotLanded]:
    """Move the target over a prepared window, record every worker, clean up after them.

    `push` carries the commits to the remote first; it raises PushRefused where the remote surely
    has not taken them. `early` are looks that somebody has begun already. Raises
    what the push or the fast-forward raises, where nothing has landed.
    Once the target has moved no error leaves: what could not be recorded or cleaned up then is in
    the journal, for the next command, and the results say so.
    """
    first, last = window[0], window[-1]
    ref, old, new = session.target, first.base, last.rewrite.new
    checkout = find_checkout(session.git, ref)
    if push is not None:
        check_forward(session.git, ref=ref, old=old, new=new, worktree=checkout)
    numbers = _journal(session, _rescued(session, window), keep=keep, pushes=push is not None)
    reason = landing_reason([(p.worker.worker_id, p.worker.task_id or "") for p in window])
    looks = _look(session, [] if keep else [prepared.worker for prepared in window], early)
    try:
        if push is not None:
            _push(session, numbers, lambda: push(new, old))
        fast_forward(
            session.git,
            ref=ref,
            old=old,
            new=new,
            worktree=checkout,
            reason=reason,
            lock_fd=descriptor_of(session.landing_lock),
        )
    except GitWorkerError as error:
        return _by_journal(session, window, numbers, error)
    crash_point("merge.forwarded")
    try:
        landed = _record(session, numbers)
    except (GitWorkerError, OSError) as error:
        return _by_journal(session, window, numbers, _unrecorded(session, error))
    crash_point("merge.recorded")
    try:
        return _tidy(session, landed, looks)
    except Exception as error:  # noqa: BLE001 - they have landed; the next command cleans up
        why = error_of(error).message
        return {one.worker_id: _landed(session, one, op.data["new"], why) for op, one in landed}


def _look(session: Session, workers: list[Worker], early: Looks | None) -> Looks:
    return early if early is not None and early.serves(workers) else Looks(session, workers)


def _push(session: Session, numbers: list[int], push: Callable[[], None]) -> None:
    """Push between two notes in the journal, so that after a kill it is known what to ask."""
    note_step(session, numbers, PUSHING)
    crash_point("merge.pushing")
    try:
        push()
    except PushRefused as refused:
        note_step(session, numbers, ANSWERED)
        raise refused.error from refused
    crash_point("merge.pushed")
    note_step(session, numbers, PUSHED)


def note_step(session: Session, numbers: list[int], step: str) -> None:
    """Record how far landings with a push have come."""
    with session.store.write() as writer:
        for number in numbers:
            operation = find_operation(writer, number)
            assert operation is not None
            data = {**operation.data, "pushed": step == PUSHED}
            advance_operation(writer, number, step=step, data=data, now=clock.now_ms())


def _record(session: Session, numbers: list[int]) -> list[tuple[Operation, Worker]]:
    """Record the landings of a window whose target has moved, in one transaction."""
    landed = []
    with session.store.write() as writer:
        for number in numbers:
            operation = find_operation(writer, number)
            assert operation is not None
            landed.append((operation, finish_merge(writer, operation)))
    return landed


def _by_journal(
    session: Session, window: list[Prepared], numbers: list[int], error: GitWorkerError
) -> dict[str, Landed | NotLanded]:
    """Settle a window by what the target says; return what landed, raise the error if nothing."""
    finish_interrupted(session)
    with session.store.read() as reader:
        found = [find_operation(reader, number) for number in numbers]
    status = {one.worker_id: one.status for one in found if one is not None}
    if set(status.values()) == {"rolled_back"}:
        raise error
    results: dict[str, Landed | NotLanded] = {}
    for prepared in window:
        worker = prepared.worker
        if status[worker.worker_id] == "done":
            landed = _landed(session, worker, prepared.rewrite.new, error.message)
            results[worker.worker_id] = landed
        else:
            results[worker.worker_id] = NotLanded(worker.worker_id, error)
    return results


def _landed(session: Session, worker: Worker, commit: str, why: str) -> Landed:
    """Return a landed worker of whose worktree it is not sure that it went."""
    kept = find_left(session, worker)
    return Landed(worker, Oid(commit), session.target, kept, why if kept else None)


def _unrecorded(session: Session, error: Exception) -> GitWorkerError:
    name = session.target.removeprefix("refs/heads/")
    return Unavailable(
        f"{name} has it, but that could not be recorded: {error_of(error).message}",
        "git worker recover",
        code="not_recorded",
    )


def _rescued(session: Session, window: list[Prepared]) -> list[Prepared]:
    """Keep the old tips of the window's branches."""
    rewrites = rescue_old_tips(session, [(one.worker, one.rewrite) for one in window])
    return [
        replace(prepared, rewrite=rewrite)
        for prepared, rewrite in zip(window, rewrites, strict=True)
    ]


def _journal(session: Session, window: list[Prepared], *, keep: bool, pushes: bool) -> list[int]:
    numbers: list[int] = []
    with session.store.write() as writer:
        for prepared in window:
            worker = prepared.worker
            require_task_free(writer, worker.task_id or "", worker.worker_id)
            data = {
                "target_ref": session.target,
                "target_old": prepared.base,
                "keep": keep,
                "window": numbers[0] if numbers else None,  # None: it is the first itself
                "remote": session.settings.merge_remote if pushes else None,
            }
            number = begin_rewrite(
                writer,
                worker,
                prepared.rewrite,
                kind="merge",
                actor=session.actor,
                data=data,
            )
            numbers.append(number)
    crash_point("merge.journal")
    return numbers


def _tidy(
    session: Session, landed: list[tuple[Operation, Worker]], looks: Looks
) -> dict[str, Landed | NotLanded]:
    """Clean up after everybody, close their journals, and tell it once for all."""
    dirty = looks.results()
    landings = [
        Landing(worker, operation.data, dirty.get(worker.worker_id)) for operation, worker in landed
    ]
    results: dict[str, Landed | NotLanded] = {}
    discarded = []
    for landing, cleaned in zip(landings, clean_up(session, landings), strict=True):
        if cleaned.discard is not None:
            discarded.append(cleaned.discard)
        commit = Oid(landing.data["new"])
        results[landing.worker.worker_id] = Landed(
            landing.worker, commit, session.target, cleaned.kept, cleaned.why
        )
    close_merges(session, [operation for operation, _ in landed])
    publish_views(session, *results)
    discard(session, discarded)
    return results
