"""Land a window of approved workers, prepared one on top of another, by one fast-forward.

Every worker is journaled before the target moves, so that after a kill either all of them have
landed or none. A worker has landed if the target contains its commits; its worktree and branch are
updated or removed afterwards. With a remote the push comes first, and commits that the remote took
have landed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.branches.replay_branch import begin_rewrite, rescue_old_tips
from gitworker.claims.leases import require_task_free
from gitworker.crashpoint import crash_point
from gitworker.errors import LOST, Conflict, GitWorkerError, Unavailable, as_gitworker_error
from gitworker.journal.finish_landing import (
    ANSWERED,
    PUSHED,
    PUSHING,
    LandedOperation,
    clean_up,
    close_merges,
    find_left,
    finish_merge,
)
from gitworker.journal.recover import finish_interrupted
from gitworker.landing.prepare import Prepared
from gitworker.landing.rules_queue import landing_reason
from gitworker.lifecycle.state_files import publish_views
from gitworker.model.ids import Oid
from gitworker.model.outcome import Landed, NotLanded
from gitworker.repo.checkout.fastforward import check_forward, fast_forward
from gitworker.repo.plumbing.repository_lock import descriptor_of
from gitworker.repo.status.path_changes import Change
from gitworker.repo.worktrees.worktree_list import find_checkout
from gitworker.session import Session
from gitworker.store.operations import (
    Operation,
    advance_operation,
    find_operation,
    load_operation,
)
from gitworker.store.payloads.payload import MergeData
from gitworker.store.workers import Worker
from gitworker.worktrees.prefetched_checks import PrefetchedChecks, start_checks
from gitworker.worktrees.removal import discard

if TYPE_CHECKING:
    from gitworker.landing.queue_log import WindowEnd

Push = Callable[[Oid, Oid], None]  # the new commit, and the remote's tip that it replaces


class PushRefused(Exception):
    """The remote certainly did not take a push; `error` is the reason."""

    def __init__(self, error: GitWorkerError) -> None:
        super().__init__(error.message)
        self.error = error


def land(
    session: Session,
    window: list[Prepared],
    *,
    keep: bool,
    push: Push | None = None,
    known: Mapping[str, tuple[Change, ...]] | None = None,
    end: WindowEnd | None = None,
) -> dict[str, Landed | NotLanded]:
    """Move the target over a prepared window, record every worker, clean up after them.

    `known` are changes by `<new> <old>`, as in `ReplayCache`. `end` is recorded with the landings.

    `push` sends the commits to the remote first; it raises PushRefused if the remote certainly did
    not take them. Raises the error of the push or the fast-forward if nothing has landed. Once
    the target has moved, no error is raised: changes that could not be recorded or cleaned up are
    in the journal for the next command, and the results report them.
    """
    first, last = window[0], window[-1]
    ref, old, new = session.target, first.base, last.rewrite.new
    checkout = find_checkout(session.git, ref)
    if push is not None:
        check_forward(session.git, ref=ref, old=old, new=new, worktree=checkout)
    numbers = _journal(session, _rescue(session, window), keep=keep, pushes=push is not None)
    reason = landing_reason([(p.worker.worker_id, p.worker.task) for p in window])
    checks = start_checks(session, [] if keep else [prepared.worker for prepared in window])
    try:
        if push is not None:
            push_journaled(session, numbers, lambda: push(new, old))
        fast_forward(
            session.git,
            ref=ref,
            old=old,
            new=new,
            worktree=checkout,
            reason=reason,
            lock_fd=descriptor_of(session.landing_lock),
            changes=(known or {}).get(f"{new} {old}"),
        )
    except GitWorkerError as error:
        return _by_journal(session, window, numbers, error)
    crash_point("merge.forwarded")
    try:
        if end is not None:
            end.release()  # the target has the commits
        landed = _record(session, numbers, end)
    except (GitWorkerError, OSError) as error:
        return _by_journal(session, window, numbers, _unrecorded(session, error))
    crash_point("merge.recorded")
    try:
        return _clean_up(session, landed, checks)
    except Exception as error:  # noqa: BLE001 - they have landed; the next command cleans up
        why = as_gitworker_error(error).message
        return {
            one.worker_id: _landed(session, one, op.payload(MergeData).new, why)
            for op, one in landed
        }


def push_journaled(session: Session, numbers: list[int], push: Callable[[], None]) -> None:
    """Push between two steps in the journal, so that recovery knows that it must ask the remote."""
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
    """Record the progress of landings with a push."""
    with session.store.write_own() as writer:
        for number in numbers:
            operation = load_operation(writer, number)
            data = operation.payload(MergeData)._replace(pushed=step == PUSHED)
            advance_operation(writer, number, step=step, data=data, now=clock.now_ms())


def _record(
    session: Session, numbers: list[int], end: WindowEnd | None
) -> list[tuple[Operation, Worker]]:
    """Record the landings of a window whose target has moved, and its end, in one transaction.

    It waits for a fleet that cannot be reached, since the remote has the commits.
    """
    session.store.wait_for_the_fleet()
    while True:
        try:
            return _record_once(session, numbers, end)
        except Conflict as error:
            if error.code != LOST:
                raise


def _record_once(
    session: Session, numbers: list[int], end: WindowEnd | None
) -> list[tuple[Operation, Worker]]:
    landed = []
    with session.store.write() as writer:
        for number in numbers:
            operation = load_operation(writer, number)
            landed.append((operation, finish_merge(writer, operation)))
        if end is not None:
            end.record(writer)
    if end is not None:
        end.is_recorded = True
    return landed


def find_obstacle(session: Session, window: list[Prepared]) -> GitWorkerError | None:
    """Return the error of moving the target over a window, or None."""
    ref = session.target
    try:
        check_forward(
            session.git, ref=ref, old=window[0].base, new=window[-1].rewrite.new,
            worktree=find_checkout(session.git, ref),
        )  # fmt: skip
    except GitWorkerError as error:
        return error
    return None


def _by_journal(
    session: Session, window: list[Prepared], numbers: list[int], error: GitWorkerError
) -> dict[str, Landed | NotLanded]:
    """Settle a window by the target's state; return the results, or raise if nothing landed."""
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
    """Return a landed worker whose worktree may still exist."""
    kept = find_left(session, worker)
    return Landed(
        worker.worker_id, worker.task_id, Oid(commit), session.target, kept, why if kept else None
    )


def _unrecorded(session: Session, error: Exception) -> GitWorkerError:
    name = session.target_name
    return Unavailable(
        f"{name} contains it, but that could not be recorded: {as_gitworker_error(error).message}",
        "git worker recover",
        code="not_recorded",
    )


def _rescue(session: Session, window: list[Prepared]) -> list[Prepared]:
    """Save the old tips of the window's branches in rescue refs."""
    rewrites = rescue_old_tips(session, [(one.worker, one.rewrite) for one in window])
    return [
        prepared._replace(rewrite=rewrite)
        for prepared, rewrite in zip(window, rewrites, strict=True)
    ]


def _journal(session: Session, window: list[Prepared], *, keep: bool, pushes: bool) -> list[int]:
    numbers: list[int] = []
    with session.store.write_own() as writer:
        for prepared in window:
            worker = prepared.worker
            require_task_free(writer, worker.task, worker.worker_id)
            rewrite = prepared.rewrite
            data = MergeData(
                ref=rewrite.ref, old=rewrite.old, new=rewrite.new, rescue=rewrite.rescue_ref,
                worktree=rewrite.worktree, admin_dir=rewrite.admin_dir,
                target_ref=session.target, target_old=prepared.base, keep=keep,
                window=numbers[0] if numbers else None,
                remote=session.settings.merge_remote if pushes else None,
            )  # fmt: skip
            number = begin_rewrite(writer, worker, "merge", actor=session.actor, data=data)
            numbers.append(number)
    crash_point("merge.journal")
    return numbers


def _clean_up(
    session: Session, landed: list[tuple[Operation, Worker]], checks: PrefetchedChecks
) -> dict[str, Landed | NotLanded]:
    """Clean up after all workers, close their journal rows, and publish once for all."""
    dirty = checks.results()
    landings = [
        LandedOperation(worker, operation.payload(MergeData), dirty.get(worker.worker_id))
        for operation, worker in landed
    ]
    results: dict[str, Landed | NotLanded] = {}
    discarded = []
    for landing, cleaned in zip(landings, clean_up(session, landings), strict=True):
        if cleaned.discard is not None:
            discarded.append(cleaned.discard)
        worker, commit = landing.worker, landing.data.new
        results[worker.worker_id] = Landed(
            worker.worker_id, worker.task_id, commit, session.target, cleaned.kept, cleaned.why,
            cleaned.left_out,
        )  # fmt: skip
    close_merges(session, [operation for operation, _ in landed])
    publish_views(session, *results)
    discard(session, discarded)
    return results
