"""show: everything about one worker."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitworker.liveness.readings import heartbeat_of, process_runs, this_moment
from gitworker.liveness.rules_stale import ClockReading, Liveness, heartbeat_age_ms
from gitworker.model.ids import Oid, Ref, TaskId
from gitworker.model.ref_names import short_name
from gitworker.observe.last_run import LastRun, read_last_run
from gitworker.observe.logs.conversation import Said, read_conversation
from gitworker.observe.logs.events import Event, read_worker_events
from gitworker.observe.next_step.next_command import read_next_step
from gitworker.observe.workers.overlaps import Overlap, read_overlaps
from gitworker.observe.workers.returned import ReturnedWork, returned_work
from gitworker.observe.workers.rules_worker import (
    is_handed_in,
    is_returned,
    waits_for,
    worker_liveness,
)
from gitworker.observe.workers.stack_base import own_fork_point
from gitworker.observe.workers.verified import read_verified
from gitworker.repo.history.walk import (
    CommitLine,
    count_divergence,
    list_changed_files,
    list_commits,
)
from gitworker.repo.plumbing.refs import read_refs
from gitworker.repo.rescue.rescue_refs import RescueRef, list_rescues
from gitworker.repo.status.checkout_status import CheckoutStatus as Uncommitted
from gitworker.repo.status.checkout_status import open_operation, read_status
from gitworker.repo.worktrees.ownership import describe, find_flaw, owner_of
from gitworker.store.commits.verify_runs import VerifiedCommit
from gitworker.store.heartbeats import find_heartbeat
from gitworker.store.messages.transitions import why_withdrawn
from gitworker.store.records.landings import find_landing
from gitworker.store.records.reviews import find_review
from gitworker.store.stacks import Stack, find_stack
from gitworker.store.tasks import StoredTask, find_task, find_task_text, open_dependencies
from gitworker.store.workers import all_workers, find_worker

if TYPE_CHECKING:
    from gitworker.model.task import TaskStatus
    from gitworker.repo.worktrees.trouble import Trouble
    from gitworker.session import Session
    from gitworker.store.api import Reader
    from gitworker.store.heartbeats import StoredHeartbeat
    from gitworker.store.records.landings import Landing
    from gitworker.store.records.reviews import Review
    from gitworker.store.workers import Worker

COMMITS_SHOWN = 10
EVENTS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class LivenessView:
    """The last heartbeat, its age, and whether the process is alive (None: unknown)."""

    liveness: Liveness
    heartbeat_age_ms: int | None
    heartbeat_status: str | None
    progress: float | None
    process_runs: bool | None


@dataclass(frozen=True, slots=True)
class ReviewView:
    """The newest request or verdict."""

    verdict: str
    reviewer: str
    identity: str
    commit: str
    note: str
    ts_ms: int
    withdrawn: str = ""  # why an approval counts no longer


@dataclass(frozen=True, slots=True)
class LandedTask:
    """The landing of the task's work."""

    target: str
    target_new: str
    ts_ms: int


@dataclass(frozen=True, slots=True)
class BranchComparison:
    """The branch compared with the target: counts, newest commits and paths that would land.

    `own` counts the commits that would land: fewer than `ahead` if the branch is stacked.
    """

    tip: Oid
    ahead: int
    behind: int
    own: int
    commits: tuple[CommitLine, ...]
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WorktreeState:
    """The worktree: uncommitted changes, and the git operation in progress.

    `flaw` is the reason why the directory may not be the worker's; nothing is read from it then.
    """

    path: str
    exists: bool
    flaw: str | None
    uncommitted: Uncommitted | None
    operation: str | None


@dataclass(frozen=True, slots=True)
class WorkerView:
    """One worker at one moment; things that it does not have are None.

    `is_unverified`: it is handed in, and the verify commands have not run on its work.
    """

    now_ms: int
    target: str
    worker: Worker
    task: StoredTask | None
    task_text: str
    dependencies: tuple[str, ...]
    waits_for: str | None
    life: LivenessView
    branching: BranchComparison | None
    stack: Stack | None
    checkout: WorktreeState | None
    review: ReviewView | None
    landing: LandedTask | None
    verified: VerifiedCommit | None
    rescues: tuple[RescueRef, ...]
    events: tuple[Event, ...]
    next_command: str
    returned: ReturnedWork | None
    conflicts: tuple[Overlap, ...]
    conversation: tuple[Said, ...]
    run: LastRun | None
    trouble: Trouble | None = None
    is_unverified: bool = False


@dataclass(frozen=True, slots=True)
class _Stored:
    worker: Worker
    task: StoredTask | None
    task_text: str
    dependencies: tuple[str, ...]
    life: LivenessView
    stack: Stack | None
    review: ReviewView | None
    landing: LandedTask | None
    events: tuple[Event, ...]
    conflicts: tuple[Overlap, ...]
    conversation: tuple[Said, ...]
    run: LastRun | None


def read_show(session: Session, worker: Worker) -> WorkerView:
    """Read one worker with one snapshot of the store and about six git processes."""
    moment = this_moment()
    session = session.aimed_at(worker.lands_on)
    with session.store.read() as reader:
        stored = _stored(session, reader, worker, moment)
    worker, task = stored.worker, stored.task
    status = task.status if task else None
    branching = _branching(session, worker)
    with session.store.read() as reader:
        step = read_next_step(session, reader, worker.worker_id, session.actor)
    checkout = _checkout(session, worker)
    returned = returned_work(worker) if is_returned(worker.state) else None
    verified = _verified(session, stored, branching)
    needs_verdict = bool(session.settings.verify_commands) and verified is None
    return WorkerView(
        now_ms=moment.now_ms,
        target=session.target_name,
        worker=worker,
        task=task,
        task_text=stored.task_text,
        dependencies=stored.dependencies,
        waits_for=waits_for(worker.state, task_status=status, stale_from=worker.stale_from),
        life=stored.life,
        branching=branching,
        stack=stored.stack,
        checkout=checkout,
        review=stored.review,
        landing=stored.landing,
        verified=verified,
        rescues=_rescues(session, worker),
        events=stored.events,
        next_command=step.command,
        returned=returned,
        conflicts=stored.conflicts,
        conversation=stored.conversation,
        run=stored.run,
        trouble=step.trouble,
        is_unverified=needs_verdict and is_handed_in(worker.state, stale_from=worker.stale_from),
    )  # fmt: skip


def _stored(session: Session, reader: Reader, seen: Worker, moment: ClockReading) -> _Stored:
    worker = find_worker(reader, seen.worker_id) or seen
    name, task_id = worker.worker_id, worker.task_id
    task = find_task(reader, task_id) if task_id else None
    review, landing = find_review(reader, name, task_id), find_landing(reader, name, task_id)
    run = read_last_run(session, reader, worker)
    return _Stored(
        worker=worker,
        task=task,
        task_text=find_task_text(reader, task_id) if task_id else "",
        dependencies=tuple(open_dependencies(reader, task_id)) if task_id else (),
        life=_life(
            session, find_heartbeat(reader, name), worker, moment,
            task_status=task.status if task else None,
            has_ended=run is not None and run.end is not None,
        ),
        stack=find_stack(reader, name, task_id),
        review=_review(reader, worker, review) if review else None,
        landing=_landing(landing) if landing else None,
        events=read_worker_events(
            reader, worker=name, task=task_id, limit=EVENTS_SHOWN, with_tools=False
        ),
        conflicts=_conflicts(session, reader, worker),
        conversation=read_conversation(
            reader, worker=name, task=task_id, without=review.note if review else ""
        ),
        run=run,
    )  # fmt: skip


def _conflicts(session: Session, reader: Reader, worker: Worker) -> tuple[Overlap, ...]:
    """Return the known conflicts of a worker's branch."""
    if worker.branch is None:
        return ()
    owners = {one.ref: one.worker_id for one in all_workers(reader) if one.branch}
    found = read_overlaps(reader, owners, target=session.target)
    return found.get(worker.ref, ())


def _verified(
    session: Session, stored: _Stored, branching: BranchComparison | None
) -> VerifiedCommit | None:
    """Return the newest verdict on the branch tip or the landed commit, or the last failure."""
    commits = [branching.tip] if branching and branching.own else []
    commits += [Oid(stored.landing.target_new)] if stored.landing else []
    with session.store.read() as reader:
        return read_verified(reader, stored.worker, commits)


def _life(
    session: Session,
    stored: StoredHeartbeat | None,
    worker: Worker,
    moment: ClockReading,
    *,
    task_status: TaskStatus | None,
    has_ended: bool,
) -> LivenessView:
    heartbeat = heartbeat_of(stored) if stored else None
    is_current = stored is not None and stored.current_task in (None, worker.task_id)
    return LivenessView(
        liveness=worker_liveness(
            worker.state, heartbeat, moment, session.settings,
            waits_for_author=worker.waits_for_author, task_status=task_status, has_ended=has_ended,
        ),
        heartbeat_age_ms=heartbeat_age_ms(heartbeat, moment) if heartbeat else None,
        heartbeat_status=stored.status if stored else None,
        progress=stored.progress if stored and is_current else None,
        process_runs=process_runs(worker, moment, session.paths),
    )  # fmt: skip


def _review(reader: Reader, worker: Worker, one: Review) -> ReviewView:
    return ReviewView(
        one.verdict, one.reviewer, one.identity, one.commit_oid, one.note, one.ts_ms,
        why_withdrawn(reader, worker),
    )  # fmt: skip


def _landing(one: Landing) -> LandedTask:
    target = short_name(one.target_ref)
    return LandedTask(target, one.target_new, one.landed_at_ms)


def _branching(session: Session, worker: Worker) -> BranchComparison | None:
    """Compare the branch with the target; return None if either does not exist."""
    if worker.branch is None:
        return None
    ref = worker.ref
    oids = read_refs(session.git, [ref, session.target])
    tip, target = oids.get(ref), oids.get(session.target)
    if tip is None or target is None:
        return None
    start = own_fork_point(session, worker, tip=tip, target=target)
    return _compared(session, ref, tip=tip, target=target, start=start)


def _compared(
    session: Session, ref: Ref, *, tip: Oid, target: Oid, start: Oid | None
) -> BranchComparison:
    git = session.git
    ahead, behind = count_divergence(git, ours=tip, theirs=target)
    own = ahead if start is None else count_divergence(git, ours=tip, theirs=start)[0]
    if own == 0:
        return BranchComparison(tip, ahead, behind, own, (), ())
    commits = list_commits(git, base=start or target, tip=tip, limit=COMMITS_SHOWN)
    files = list_changed_files(git, base=start or session.target, tip=ref)
    return BranchComparison(tip, ahead, behind, own, commits, files)


def _checkout(session: Session, worker: Worker) -> WorktreeState | None:
    if worker.worktree is None:
        return None
    owner = owner_of(session.repository.common_dir, worker)
    flaw = owner and find_flaw(owner)
    if owner is not None and flaw is not None:
        exists, problem = os.path.lexists(owner.place), describe(owner, flaw)
        return WorktreeState(
            worker.worktree, exists=exists, flaw=problem, uncommitted=None, operation=None
        )
    return WorktreeState(
        worker.worktree,
        exists=True,
        flaw=None,
        uncommitted=read_status(session.git.at(worker.worktree)),
        operation=open_operation(worker.admin_dir) if worker.admin_dir else None,
    )


def _rescues(session: Session, worker: Worker) -> tuple[RescueRef, ...]:
    """Return the rescue refs of the present task, also those of its earlier workers.

    Without a task, they are all of the worker's.
    """
    if worker.task_id:
        return list_rescues(session.git, task=TaskId(worker.task_id))
    return list_rescues(session.git, worker=worker.worker_id)
