"""A window of approved workers: prepared one on top of another, landed by one fast-forward.

Preparing only writes objects. Landing journals every worker before the target moves, so that a
kill leaves either none of them landed or all. What the target contains has landed; worktrees and
branches follow, or go, afterwards.
"""

import json
from dataclasses import dataclass, replace

from gitworker import clock
from gitworker.bus.publish import Outgoing, publish
from gitworker.claims.leases import require_task_free
from gitworker.crashpoint import crash_point
from gitworker.errors import Conflict, GitWorkerError, Refused, Unavailable, error_of
from gitworker.landing.replay_branch import (
    Rewrite,
    Tips,
    begin_rewrite,
    carries_all_patches,
    plan_rewrite,
    read_tips,
    replay_onto_target,
    rescue_old_tips,
)
from gitworker.landing.rules import approval_holds, is_still_approved
from gitworker.model.ids import Oid
from gitworker.model.worker import WorkerEvent
from gitworker.repo.fastforward import fast_forward
from gitworker.repo.lock import descriptor_of
from gitworker.repo.memory import Memory
from gitworker.repo.patches import patch_ids
from gitworker.repo.replay import ReplayConflict
from gitworker.repo.worktrees import find_checkout
from gitworker.session import Session
from gitworker.states.worker import worker_transition
from gitworker.store.operations import Operation, find_operation
from gitworker.store.workers import Worker, find_worker
from gitworker.workers.landed import Landing, clean_up, close_merges, find_left, finish_merge
from gitworker.workers.moves import advance
from gitworker.workers.recover import finish_interrupted, require_ended
from gitworker.workers.removal import discard, is_dirty
from gitworker.workers.verdict import send_back
from gitworker.workers.views import publish_views

LOOKERS = 2


class DoesNotStack(Exception):
    """A worker does not fit on top of those before it: it is judged after they have landed."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A worker whose replayed commits are written: `base` is what they stand on."""

    worker: Worker
    base: Oid
    rewrite: Rewrite


@dataclass(frozen=True, slots=True)
class Landed:
    """One landed worker: its tip on the target, and the worktree if it was kept and why."""

    worker: Worker
    commit: Oid
    target: str
    kept: str | None
    kept_why: str | None


@dataclass(frozen=True, slots=True)
class NotLanded:
    """One worker that did not land, with the reason."""

    worker_id: str
    error: GitWorkerError


def prepare(session: Session, worker: Worker, *, onto: Oid | None, memory: Memory) -> Prepared:
    """Replay an approved worker onto the target, or onto `onto`, the tip of a window.

    `memory` is what replaying the others of the window has shown.

    Raises DoesNotStack where it does not fit onto the window; without one, the conflict sends the
    worker back, changed patches withdraw the approval, and the error says so. Raises Conflict where
    somebody else holds the task's claim.
    """
    require_ended(session, worker.worker_id)
    worker_transition(worker.state, WorkerEvent.MERGE, stale_from=worker.stale_from)
    with session.store.read() as reader:
        require_task_free(reader, worker.task_id or "", worker.worker_id)
    tips = read_tips(session, worker)
    reviewed, approved = _approval(session, worker, tips)
    base = tips.target if onto is None else onto
    outcome = replay_onto_target(session, Tips(tips.ref, tips.branch, base), memory=memory)
    if isinstance(outcome, ReplayConflict):
        if onto is not None:
            raise DoesNotStack
        raise send_back(session, worker, outcome)
    unchanged = tips.branch == reviewed and carries_all_patches(session, outcome, memory=memory)
    if not unchanged and not approval_holds(approved, patch_ids(session.git, base, outcome.new)):
        if onto is not None:
            raise DoesNotStack
        raise _withdraw(session, worker, "the rebase changed what was approved")
    return Prepared(worker, base, plan_rewrite(session, worker, tips, new=outcome.new))


def land(session: Session, window: list[Prepared], *, keep: bool) -> dict[str, Landed | NotLanded]:
    """Move the target over a prepared window, record every worker, clean up after them.

    Raises what the fast-forward raises, where nothing has landed. Once the target has moved no
    error leaves: what could not be recorded or cleaned up then is in the journal, for the next
    command, and the results say so.
    """
    numbers = _journal(session, _rescued(session, window), keep=keep)
    first, last = window[0], window[-1]
    names = ", ".join(f"{p.worker.worker_id}: {p.worker.task_id}" for p in window)
    try:
        fast_forward(
            session.git,
            ref=session.target,
            old=first.base,
            new=last.rewrite.new,
            worktree=find_checkout(session.git, session.target),
            reason=f"git worker merge {names}",
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
        return _tidy(session, landed)
    except Exception as error:  # noqa: BLE001 - they have landed; the next command cleans up
        why = error_of(error).message
        return {one.worker_id: _landed(session, one, op.data["new"], why) for op, one in landed}


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


def _journal(session: Session, window: list[Prepared], *, keep: bool) -> list[int]:
    numbers = []
    with session.store.write() as writer:
        for prepared in window:
            worker = prepared.worker
            require_task_free(writer, worker.task_id or "", worker.worker_id)
            data = {"target_ref": session.target, "target_old": prepared.base, "keep": keep}
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
    session: Session, landed: list[tuple[Operation, Worker]]
) -> dict[str, Landed | NotLanded]:
    """Clean up after everybody, close their journals, and tell it once for all."""
    dirty = _look_for_dirt(session, landed)
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


def _look_for_dirt(session: Session, landed: list[tuple[Operation, Worker]]) -> dict[str, bool]:
    """Look through the worktrees that will go, on two cores: git reads every file's status."""
    going = [worker for operation, worker in landed if not operation.data["keep"]]
    if len(going) < 2:
        return {}
    from concurrent.futures import ThreadPoolExecutor  # 6 ms, for several workers only

    with ThreadPoolExecutor(LOOKERS) as pool:
        looks = pool.map(lambda worker: _is_dirty(session, worker), going)
        seen = zip(going, looks, strict=True)
        return {worker.worker_id: dirty for worker, dirty in seen if dirty is not None}


def _is_dirty(session: Session, worker: Worker) -> bool | None:
    """Tell whether a worktree is dirty; None where git cannot tell: who removes it looks again."""
    try:
        return is_dirty(session, worker)
    except (GitWorkerError, OSError):
        return None


def _approval(session: Session, worker: Worker, tips: Tips) -> tuple[Oid, list[str]]:
    """Return the approved commit and its patches; withdraw it where the branch holds others now."""
    with session.store.read() as reader:
        row = reader.row(
            "reviews.latest_verdict",
            worker=worker.worker_id, task=worker.task_id, verdict="approved",
        )  # fmt: skip
    if row is None:
        raise Refused(
            f"worker {worker.worker_id} has no approval on record",
            f"git worker approve {worker.worker_id}",
        )
    approved = json.loads(row["patches"])
    if tips.branch != row["commit_oid"]:
        present = patch_ids(session.git, tips.target, tips.branch)
        gone = set(approved) - set(present)
        upstream = patch_ids(session.git, row["base_oid"], tips.target) if gone else ()
        if not is_still_approved(approved, present, upstream=upstream):
            raise _withdraw(session, worker, "the branch has changed since it was approved")
    return Oid(row["commit_oid"]), list(approved)


def _withdraw(session: Session, worker: Worker, why: str) -> Conflict:
    with session.store.write() as writer:
        current = find_worker(writer, worker.worker_id)
        assert current is not None
        advance(
            writer, current, WorkerEvent.APPROVAL_WITHDRAWN, actor=session.actor,
            metadata={"reason": why},
        )  # fmt: skip
        writer.run("workers.set_review", worker=worker.worker_id, review_state="pending")
        publish(
            writer,
            Outgoing(
                "review_result",
                sender=session.actor,
                to=worker.worker_id,
                correlation_id=worker.task_id,
                payload={"verdict": "withdrawn", "reason": why},
            ),
            now=clock.now_ms(),
        )
    publish_views(session, worker.worker_id)
    return Conflict(
        f"{why}: the approval of {worker.worker_id} is withdrawn, it is IN_REVIEW again",
        f"git worker diff {worker.worker_id} && git worker approve {worker.worker_id}",
        code="approval_withdrawn",
    )
