"""status: all workers on one screen, by seven queries and one git process for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.liveness.readings import this_moment
from gitworker.liveness.rules_stale import ClockReading, Heartbeat, Liveness
from gitworker.model.ids import Oid, Ref
from gitworker.model.ref_names import ref_of
from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState
from gitworker.observe.logs.events import Event, read_newest_events
from gitworker.observe.next_step.next_command import NextStep, read_next_steps
from gitworker.observe.text import few_files
from gitworker.observe.workers.overlaps import Overlap, read_overlaps
from gitworker.observe.workers.returned import (
    ReturnedWork,
    returned_text,
    returned_work,
)
from gitworker.observe.workers.rules_worker import (
    end_text,
    news_of,
    shows_subject,
    waits_for,
    worker_liveness,
)
from gitworker.repo.history.walk import Tip, read_tips
from gitworker.repo.status.checkout_status import open_operation
from gitworker.repo.worktrees.trouble import Trouble
from gitworker.store.operations import unfinished_operations
from gitworker.store.records.screens import (
    count_tasks,
    has_queue,
    has_workstreams,
    read_worker_rows,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

    from gitworker.config import Settings
    from gitworker.observe.queue.overview import QueueOverview
    from gitworker.observe.workstreams import WorkstreamLine
    from gitworker.session import Session
    from gitworker.store.api import Reader
from gitworker.store.commits.verify_runs import VerifiedCommit, read_verified_commits
from gitworker.store.records.screens import WorkerRow

EVENTS_SHOWN = 5


class WorkerLine(NamedTuple):
    """One worker's line. `news` is its most important fact; `tip` is None without a branch.

    `parent` is the worker that it is stacked on, if that has not landed yet. `verified` is the
    newest verdict of the verify commands on its tip.
    """

    worker: str
    state: WorkerState
    since_ms: int
    task: str | None
    task_status: TaskStatus | None
    branch: str | None
    liveness: Liveness
    progress: float | None
    waits_for: str | None
    last_error: str | None
    tip: Tip | None
    news: str
    next_command: str
    parent: str | None = None
    returned: ReturnedWork | None = None
    verified: VerifiedCommit | None = None
    conflicts: tuple[Overlap, ...] = ()
    trouble: Trouble | None = None
    agent_ended: bool = False
    machine: str | None = None  # the machine of its worktree in a fleet


class OpenOperation(NamedTuple):
    """An operation that has begun and not ended."""

    kind: str
    worker: str
    step: str
    since_ms: int


class _Findings(NamedTuple):
    """The next steps of workers, the verdicts on tips, the conflicts of branches."""

    steps: dict[str, NextStep]
    verified: dict[Oid, VerifiedCommit]
    conflicts: dict[Ref, tuple[Overlap, ...]]


class StatusScreen(NamedTuple):
    """Everything at one moment. `tasks` counts tasks by status."""

    now_ms: int
    target: str
    target_tip: Oid | None
    workers: tuple[WorkerLine, ...]
    tasks: tuple[tuple[str, int], ...]
    operations: tuple[OpenOperation, ...]
    events: tuple[Event, ...]
    workstreams: tuple[WorkstreamLine, ...] = ()
    queue: QueueOverview | None = None


def read_status(
    session: Session, refs: Mapping[Ref, Oid], *, every_subject: bool = False
) -> StatusScreen:
    """Read one snapshot of the store.

    `refs` are the tips of the target and of the workers' branches, as `Call.survey` returns them.
    Subjects are read if the screen shows them, or of every branch (one git process, if any).
    """
    moment = this_moment()
    with session.store.read() as reader:
        rows = read_worker_rows(reader)
        tasks = count_tasks(reader)
        operations = unfinished_operations(reader)
        events = read_newest_events(reader, EVENTS_SHOWN)
        workstreams = _workstreams(reader, moment.now_ms)
        queue = _queue(reader, session.settings)
        findings = _findings(reader, rows, refs, session)
    shown = {
        tip for row in rows if (tip := _shown_tip(row, refs, session.target_of(row))) is not None
    }
    named = set(refs.values()) if every_subject else shown
    tips = _read_tips(session, rows, refs, named)
    target = tips.get(session.target)
    return StatusScreen(
        now_ms=moment.now_ms,
        target=session.target_name,
        target_tip=target.oid if target else None,
        workers=tuple(_worker_line(row, tips, moment, session, findings=findings) for row in rows),
        tasks=tuple(tasks),
        operations=tuple(
            OpenOperation(one.kind, one.worker_id, one.step, one.updated_at_ms)
            for one in operations
        ),
        events=events,
        workstreams=workstreams,
        queue=queue,
    )


def _read_tips(
    session: Session, rows: Sequence[WorkerRow], refs: Mapping[Ref, Oid], named: Set[Oid]
) -> dict[Ref, Tip]:
    """Return the branches, compared with those on which their tasks land: one process for each."""
    groups: dict[Ref, dict[Ref, Oid]] = {session.target: dict(refs)}
    for row in rows:
        ref = ref_of(row.branch) if row.branch and row.lands_on else None
        if ref is not None and ref in refs:
            groups.setdefault(session.target_of(row), {})[ref] = groups[session.target].pop(ref)
    tips: dict[Ref, Tip] = {}
    for target, group in groups.items():
        tips |= read_tips(session.git, group, against=target, named=named)
    return tips


def _queue(reader: Reader, settings: Settings) -> QueueOverview | None:
    """Return the agents, the budgets and the next tasks; None without any of them."""
    if not has_queue(reader):
        return None
    from gitworker.model.tokens.prices import parse_prices
    from gitworker.observe.queue.overview import read_overview  # 5 ms, only if there are any

    return read_overview(reader, parse_prices(settings.agents_prices))


def _workstreams(reader: Reader, now_ms: int) -> tuple[WorkstreamLine, ...]:
    """Return the workstreams that are not archived."""
    if not has_workstreams(reader):
        return ()
    from gitworker.observe.workstreams import read_workstreams  # 3 ms, only if there are any

    return read_workstreams(reader, now_ms, every=False)


def _shown_tip(row: WorkerRow, refs: Mapping[Ref, Oid], target: Ref) -> Oid | None:
    """Return the tip of a worker at work that has its own commits; None for the others."""
    if not row.branch or not shows_subject(row.state):
        return None
    tip = refs.get(ref_of(row.branch))
    return None if tip in (row.base_oid, refs.get(target)) else tip


def _findings(
    reader: Reader, rows: Sequence[WorkerRow], refs: Mapping[Ref, Oid], session: Session
) -> _Findings:
    """Return the next steps, and by two queries the known verdicts on tips and the conflicts."""
    owners = {ref_of(row.branch): row.worker_id for row in rows if row.branch}
    tips = {refs[ref] for ref in owners if ref in refs}
    conflicts = read_overlaps(reader, owners, target=session.target)
    steps = read_next_steps(session, reader, rows, refs, actor=session.actor)
    return _Findings(steps, read_verified_commits(reader, tips), conflicts)


def _worker_line(
    row: WorkerRow,
    tips: dict[Ref, Tip],
    moment: ClockReading,
    session: Session,
    *,
    findings: _Findings,
) -> WorkerLine:
    waiting_for = waits_for(row.state, task_status=row.task_status, stale_from=row.stale_from)
    ref = ref_of(row.branch) if row.branch else None
    tip = tips.get(ref) if ref else None
    target = tips.get(session.target_of(row))
    is_new = tip is not None and tip.oid not in (row.base_oid, target and target.oid)
    heartbeat = None
    if row.beat_ms is not None:
        heartbeat = Heartbeat(row.beat_ms, row.mono_ms, row.boot_id, row.host)
    returned = returned_work(row)
    verified = findings.verified.get(tip.oid) if tip and is_new else None
    conflicts = findings.conflicts.get(ref, ()) if ref else ()
    step = findings.steps[row.worker_id]
    trouble = step.trouble
    return WorkerLine(
        worker=row.worker_id,
        state=row.state,
        since_ms=row.state_changed_at_ms,
        task=row.task_id,
        task_status=row.task_status,
        branch=row.branch,
        liveness=worker_liveness(
            row.state, heartbeat, moment, session.settings, waits_for_author=row.waits_for_author,
            task_status=row.task_status, has_ended=row.agent_end is not None,
        ),
        progress=row.progress,
        waits_for=waiting_for,
        last_error=row.last_error,
        tip=tip,
        news=news_of(
            row.state, error=row.last_error, waits=waiting_for,
            returned=returned_text(returned, with_log=False) if returned else None,
            has_conflict=returned is not None and bool(returned.files),
            trouble=trouble.words if trouble else None,
            end=None if row.agent_end is None else end_text(row.agent_end),
            problems=_problems(row, verified, conflicts),
            subject=tip.subject if tip is not None and is_new else None,
            elsewhere=row.elsewhere,
        ),
        next_command=step.command,
        parent=row.parent,
        returned=returned,
        verified=verified,
        conflicts=conflicts,
        trouble=trouble,
        agent_ended=row.agent_end is not None,
        machine=machine_of(row, session),
    )  # fmt: skip


def machine_of(row: WorkerRow, session: Session) -> str | None:
    """Return the machine that has a worker's worktree; None without one, or without a fleet."""
    return row.elsewhere or (session.store.fleet_machine if row.worktree else None)


def _problems(
    row: WorkerRow, verified: VerifiedCommit | None, conflicts: tuple[Overlap, ...]
) -> list[str]:
    """Return an open operation, a failed verification of the tip and its conflicts in words."""
    open_one = open_operation(row.admin_dir) if row.admin_dir else None
    words = [] if open_one is None else [f"a {open_one} is in progress in its worktree"]
    if verified is not None and verified.has_failed:
        words.append(f"verification failed: {verified.reason}")
    return words + [f"conflicts with {one.other} in {few_files(one.files)}" for one in conflicts]
