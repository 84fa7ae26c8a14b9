"""status: all workers on one screen, by seven queries and one git process for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.liveness.readings import this_moment
from gitworker.liveness.rules_stale import ClockReading, Heartbeat, Liveness
from gitworker.model.ids import Oid, Ref
from gitworker.model.ref_names import ref_of
from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState
from gitworker.observe.later_commits import read_later_commits
from gitworker.observe.logs.events import Event, read_newest_events
from gitworker.observe.text import few_files
from gitworker.observe.trouble import (
    find_left_work,
    find_open_question,
    find_pause,
    find_stopped_rebase,
    is_for_its_process,
)
from gitworker.observe.unsubmitted import find_unsubmitted
from gitworker.observe.usage_limit import find_hold
from gitworker.observe.workers.overlaps import Overlap, read_overlaps
from gitworker.observe.workers.returned import (
    ReturnedWork,
    open_reason,
    returned_text,
    returned_work,
)
from gitworker.observe.workers.rules_worker import (
    Reading,
    end_text,
    has_landed,
    is_handed_in,
    is_taken,
    news_of,
    next_command,
    resumes_in_place,
    should_have_worktree,
    shows_subject,
    waits_for,
    worker_liveness,
)
from gitworker.repo.history.walk import Tip, read_tips
from gitworker.repo.status.checkout_status import open_operation
from gitworker.repo.worktrees.trouble import Trouble, find_place_trouble, find_trouble
from gitworker.store.operations import unfinished_operations
from gitworker.store.records.screens import (
    count_tasks,
    has_queue,
    has_workstreams,
    read_worker_rows,
)
from gitworker.store.records.tips import all_tips

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
FAILED_VERDICT = "failed"


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


class OpenOperation(NamedTuple):
    """An operation that has begun and not ended."""

    kind: str
    worker: str
    step: str
    since_ms: int


class _Findings(NamedTuple):
    """The troubles of worktrees and branches, the verdicts on tips, the conflicts of branches.

    `busy` are the workers whose process has to rebase the branch, `left` those whose agent has left
    uncommitted work: True, or False if the worktree is clean.
    """

    troubles: dict[str, Trouble]
    verified: dict[Oid, VerifiedCommit]
    conflicts: dict[Ref, tuple[Overlap, ...]]
    busy: frozenset[str]
    left: dict[str, bool | None]


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
    """Return the known verdicts on the workers' tips and the known conflicts, by two queries."""
    owners = {ref_of(row.branch): row.worker_id for row in rows if row.branch}
    tips = {refs[ref] for ref in owners if ref in refs}
    conflicts = read_overlaps(reader, owners, target=session.target)
    troubles = read_troubles(reader, rows, refs, session)
    busy = frozenset(row.worker_id for row in rows if is_for_its_process(reader, row))
    left = {
        row.worker_id: find_left_work(
            reader, session, row, task_status=row.task_status,
            is_taken=is_taken(row.worker_id, row.task_holder),
        )
        for row in rows
    }  # fmt: skip
    return _Findings(troubles, read_verified_commits(reader, tips), conflicts, busy, left)


def read_troubles(
    reader: Reader, rows: Sequence[WorkerRow], refs: Mapping[Ref, Oid], session: Session
) -> dict[str, Trouble]:
    """Return the trouble of each worker that has any; git is started only for those."""
    last = all_tips(reader)
    found: dict[str, Trouble] = {}
    for row in rows:
        if row.branch and has_landed(row.state):
            later = read_later_commits(reader, session, row, refs.get(ref_of(row.branch)))
            found |= {row.worker_id: later} if later else {}
        elif row.branch and should_have_worktree(row.state):
            ref = ref_of(row.branch)
            trouble = find_trouble(
                session.git, session.repository.common_dir, row,
                exists=ref in refs, published=last.get(ref),
            )  # fmt: skip
            trouble = (
                trouble
                or _unsubmitted(reader, row, refs, session)
                or find_pause(row.worker_id, row.state, paused_at_ms=row.paused_at_ms)
                or find_open_question(reader, row.worker_id, row.task_id, row.task_status)
                or find_hold(reader, row, row.task_status)
                or _stopped_rebase(reader, row, session)
            )
            if trouble is not None:
                found[row.worker_id] = trouble
        elif row.branch and (
            lost := _lost_place(row, refs, last, session) or _stopped_rebase(reader, row, session)
        ):
            found[row.worker_id] = lost
    return found


def _stopped_rebase(reader: Reader, row: WorkerRow, session: Session) -> Trouble | None:
    """Return that a rebase is open in a worktree in which no other process works."""
    taken = is_taken(row.worker_id, row.task_holder)
    return find_stopped_rebase(reader, session, row, task_status=row.task_status, is_taken=taken)


def _lost_place(
    row: WorkerRow, refs: Mapping[Ref, Oid], last: Mapping[Ref, Oid], session: Session
) -> Trouble | None:
    """Return why a failed worker, which can be resumed, does not have its worktree."""
    taken = is_taken(row.worker_id, row.task_holder)
    if not row.branch or not resumes_in_place(
        row.state, task_status=row.task_status, is_taken=taken
    ):
        return None
    ref = ref_of(row.branch)
    return find_place_trouble(
        session.git, session.repository.common_dir, row, exists=ref in refs, published=last.get(ref)
    )


def _unsubmitted(
    reader: Reader, row: WorkerRow, refs: Mapping[Ref, Oid], session: Session
) -> Trouble | None:
    """Return that a branch in review has commits that were not handed in."""
    if not row.branch or not is_handed_in(row.state, stale_from=row.stale_from):
        return None
    ref = ref_of(row.branch)
    return find_unsubmitted(session, reader, row, ref, tip=refs.get(ref))


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
    trouble = findings.troubles.get(row.worker_id)
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
        ),
        next_command=trouble.command
        if trouble
        else _next_command(row, session, findings, tip=tip.oid if tip else None),
        parent=row.parent,
        returned=returned,
        verified=verified,
        conflicts=conflicts,
        trouble=trouble,
        agent_ended=row.agent_end is not None,
    )  # fmt: skip


def _next_command(row: WorkerRow, session: Session, findings: _Findings, *, tip: Oid | None) -> str:
    """Return the command that comes next for a worker without trouble."""
    return next_command(
        row.worker_id, row.state, task_status=row.task_status, stale_from=row.stale_from,
        returned_by=open_reason(returned_work(row), tip),
        waits_for_author=row.waits_for_author,
        is_taken=is_taken(row.worker_id, row.task_holder),
        agent_end=row.agent_end,
        can_repeat=row.can_repeat,
        runs_elsewhere=row.worker_id in findings.busy,
        has_uncommitted=findings.left.get(row.worker_id),
        reader=Reading(session.actor, session.settings.review_self),
    )  # fmt: skip


def _problems(
    row: WorkerRow, verified: VerifiedCommit | None, conflicts: tuple[Overlap, ...]
) -> list[str]:
    """Return an open operation, a failed verification of the tip and its conflicts in words."""
    open_one = open_operation(row.admin_dir) if row.admin_dir else None
    words = [] if open_one is None else [f"a {open_one} is in progress in its worktree"]
    if verified is not None and verified.verdict == FAILED_VERDICT:
        words.append(f"verification failed: {verified.reason}")
    return words + [f"conflicts with {one.other} in {few_files(one.files)}" for one in conflicts]
