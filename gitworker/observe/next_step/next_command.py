"""The next command of workers, as all screens and refusals name it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.model.ref_names import ref_of
from gitworker.observe.next_step.trouble import (
    find_failing_target,
    find_left_work,
    find_open_question,
    find_pause,
    find_refused_landing,
    find_stopped_rebase,
    find_untrusted,
    is_for_its_process,
)
from gitworker.observe.workers.returned import open_reason, returned_work
from gitworker.observe.workers.rules_worker import (
    Reading,
    has_landed,
    is_approved,
    is_handed_in,
    is_taken,
    may_wait_for_limit,
    next_command,
    resumes_in_place,
    should_have_worktree,
    wait_command,
)
from gitworker.repo.plumbing.refs import is_ancestor, read_branches
from gitworker.repo.worktrees.trouble import Trouble, find_place_trouble, find_trouble
from gitworker.store.records.screens import load_worker_row
from gitworker.store.records.tips import all_tips

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitworker.model.ids import Oid, Ref
    from gitworker.session import Session
    from gitworker.store.api import Reader
    from gitworker.store.records.screens import WorkerRow


class NextStep(NamedTuple):
    """The unusual state of a worker, if it is in one, and its next command."""

    trouble: Trouble | None
    command: str


def read_next_command(session: Session, reader: Reader, worker: str, actor: str) -> str:
    """Return the next command of one worker, for `actor`."""
    return read_next_step(session, reader, worker, actor).command


def read_next_step(session: Session, reader: Reader, worker: str, actor: str) -> NextStep:
    """Return the next step of one worker, for `actor`; raise Unavailable without its row."""
    row = load_worker_row(reader, worker)
    refs = read_worker_refs(session, [row])
    return read_next_steps(session, reader, [row], refs, actor=actor)[row.worker_id]


def read_next_steps(
    session: Session,
    reader: Reader,
    rows: Sequence[WorkerRow],
    refs: Mapping[Ref, Oid],
    *,
    actor: str,
) -> dict[str, NextStep]:
    """Return the next step of each worker, for `actor`; `refs` are the tips of their branches."""
    troubles = read_troubles(session, reader, rows, refs)
    by = Reading(actor, session.settings.review_self)
    return {
        row.worker_id: _step(session, reader, row, troubles.get(row.worker_id), refs=refs, by=by)
        for row in rows
    }


def read_troubles(
    session: Session, reader: Reader, rows: Sequence[WorkerRow], refs: Mapping[Ref, Oid]
) -> dict[str, Trouble]:
    """Return the trouble of each worker that has any; git is started only for those."""
    published = all_tips(reader)
    found = {
        row.worker_id: _find_trouble(session, reader, row, refs=refs, published=published)
        for row in rows
    }
    return {worker: trouble for worker, trouble in found.items() if trouble is not None}


def read_worker_refs(session: Session, rows: Sequence[WorkerRow]) -> dict[Ref, Oid]:
    """Return the tips of the branches of workers, and of those on which approved work lands."""
    names = [ref_of(row.branch) for row in rows if row.branch]
    names += {session.target_of(row) for row in rows if is_approved(row.state)}
    common_dir, config = session.repository.common_dir, session.git_config
    return read_branches(session.git, common_dir, names, git_config=config)


def _find_trouble(
    session: Session,
    reader: Reader,
    row: WorkerRow,
    *,
    refs: Mapping[Ref, Oid],
    published: Mapping[Ref, Oid],
) -> Trouble | None:
    """Return why a worker cannot go on as its state says, or None; the first that helps."""
    if not row.branch:
        return None
    ref = ref_of(row.branch)
    if row.elsewhere is not None:
        return find_pause(
            row.worker_id, row.state, paused_at_ms=row.paused_at_ms
        ) or find_open_question(reader, row.worker_id, row.task_id, row.task_status)
    if has_landed(row.state):
        from gitworker.observe.next_step.later_commits import read_later_commits  # 2 ms

        return read_later_commits(reader, session, row, refs.get(ref))
    if should_have_worktree(row.state):
        return (
            find_trouble(
                session.git, session.repository.common_dir, row,
                exists=ref in refs, published=published.get(ref),
            )
            or _unsubmitted(session, reader, row, tip=refs.get(ref))
            or find_pause(row.worker_id, row.state, paused_at_ms=row.paused_at_ms)
            or find_open_question(reader, row.worker_id, row.task_id, row.task_status)
            or _hold(reader, row)
            or find_stopped_rebase(session, reader, row)
            or find_untrusted(session, reader, row)
            or find_failing_target(session, reader, row, refs)
            or find_refused_landing(session, reader, row)
        )  # fmt: skip
    lost = None
    taken = is_taken(row.worker_id, row.task_holder)
    if resumes_in_place(row.state, task_status=row.task_status, is_taken=taken):
        lost = find_place_trouble(
            session.git, session.repository.common_dir, row,
            exists=ref in refs, published=published.get(ref),
        )  # fmt: skip
    return lost or find_stopped_rebase(session, reader, row)


def _unsubmitted(
    session: Session, reader: Reader, row: WorkerRow, *, tip: Oid | None
) -> Trouble | None:
    """Return that a branch in review is not what was handed in, or None."""
    if not row.branch or not is_handed_in(row.state, stale_from=row.stale_from):
        return None
    from gitworker.observe.next_step.unsubmitted import find_unsubmitted  # 2 ms

    return find_unsubmitted(session, reader, row, ref_of(row.branch), tip=tip)


def _hold(reader: Reader, row: WorkerRow) -> Trouble | None:
    """Return why the task of a worker is paused, or None."""
    if not may_wait_for_limit(row.state, row.task_status):
        return None
    from gitworker.observe.usage_limit import find_hold  # 4 ms, only for a paused task

    return find_hold(reader, row, row.task_status)


def _has_commits(session: Session, row: WorkerRow, tip: Oid | None) -> bool:
    """Return whether an agent that ended well has left commits that the target lacks."""
    if row.agent_end != "" or tip is None:
        return False
    target = session.git.find_oid(session.aimed_at(row.lands_on).target)
    return target is not None and not is_ancestor(session.git, tip, target)


def _step(
    session: Session,
    reader: Reader,
    row: WorkerRow,
    trouble: Trouble | None,
    *,
    refs: Mapping[Ref, Oid],
    by: Reading,
) -> NextStep:
    if trouble is not None:
        return NextStep(trouble, trouble.command)
    if row.waits_for_author and not by.is_author(row.worker_id):
        from gitworker.observe.next_step.goes_on import goes_on  # only for work that came back

        if goes_on(session, reader, row):
            return NextStep(None, wait_command(row.worker_id))
    tip = refs.get(ref_of(row.branch)) if row.branch else None
    command = next_command(
        row.worker_id, row.state, task_status=row.task_status, stale_from=row.stale_from,
        returned_by=open_reason(returned_work(row), tip),
        waits_for_author=row.waits_for_author,
        is_taken=is_taken(row.worker_id, row.task_holder),
        agent_end=row.agent_end,
        can_repeat=row.can_repeat,
        runs_elsewhere=is_for_its_process(reader, row),
        has_uncommitted=find_left_work(session, reader, row, actor=by.actor),
        has_commits=_has_commits(session, row, tip),
        reader=by,
    )  # fmt: skip
    return NextStep(None, command)
