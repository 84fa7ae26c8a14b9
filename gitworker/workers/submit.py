"""done: WORKING→IN_REVIEW. A branch without commits and uncommitted work are refused.

In review, new commits or a new note renew the request without a transition; the same commit and
note change nothing.
"""

import os
from dataclasses import dataclass, replace
from typing import Any

from gitworker import clock
from gitworker.branches.landable import require_landable
from gitworker.branches.published_submodules import require_no_nested
from gitworker.branches.replay_branch import BranchTips
from gitworker.branches.stack import StackBase, find_stack_base
from gitworker.bus.publish import Outgoing, publish
from gitworker.claims import rules_claim as claim_rules
from gitworker.claims.leases import path_claims_of_others, require_task_held
from gitworker.errors import UNREACHABLE, Conflict, Refused, Unavailable
from gitworker.lifecycle.find import require_worker
from gitworker.lifecycle.lost_task import refuse_lost_task
from gitworker.lifecycle.moves import (
    advance,
    bring_to_work,
    require_resumable,
    wait_for_agent,
)
from gitworker.lifecycle.rules import (
    is_approved,
    is_stale,
    repeats_conflict,
    repeats_failure,
    repeats_review,
    waits_for_review,
)
from gitworker.lifecycle.rules_take_up import (
    has_failed,
    is_interrupted,
    may_hand_in,
    waits_for_verdict,
)
from gitworker.lifecycle.state_files import publish_views
from gitworker.lifecycle.take_up import lease_of, publish_commits
from gitworker.model.ids import Oid, Ref
from gitworker.model.ref_names import STASH
from gitworker.model.worker import WorkerEvent
from gitworker.observe.next_step.later_commits import read_old_worktree
from gitworker.observe.next_step.next_command import read_next_command
from gitworker.observe.next_step.trouble import read_trouble
from gitworker.observe.next_step.unsubmitted import find_lost_commits, read_unsubmitted
from gitworker.observe.workers.rules_worker import has_landed
from gitworker.progress import Notice
from gitworker.repo.history.conflict_markers import find_marked_files
from gitworker.repo.history.diffs import changed_files
from gitworker.repo.plumbing.refs import find_tip
from gitworker.repo.replay.replay import ReplayConflict, predict_conflict
from gitworker.repo.status.checkout_status import CheckoutStatus, read_status
from gitworker.repo.worktrees.ownership import is_present, owner_of
from gitworker.repo.worktrees.trouble import require_no_operation, require_on_branch
from gitworker.review.round_refs import keep_rounds
from gitworker.review.rounds import RoundFacts, read_round, record_round, rounds_with
from gitworker.rules_text import count_text
from gitworker.session import Session
from gitworker.states.worker_machine import require_transition, state_words
from gitworker.store.api import Writer
from gitworker.store.heartbeats import renew_heartbeat
from gitworker.store.messages.inboxes import newest_commit, newest_verdict
from gitworker.store.records.landings import find_landing
from gitworker.store.records.reviews import Review, find_review, record_review
from gitworker.store.workers import (
    Worker,
    clear_returned,
    load_worker,
    set_pr_url,
    set_review_state,
    set_stale_from,
)
from gitworker.workers.fleet_hand_in import push_for_the_fleet, put_off
from gitworker.worktrees.commit_work import commit_all

EMPTY_BRANCH = "empty_branch"  # the code of the refusal of a branch without work
UNCHANGED = "unchanged since its verification failed"


@dataclass(frozen=True, slots=True)
class Submitted:
    """A submission: the commit, the number of commits, and the paths that would conflict now.

    `marked` are the changed files in which conflict markers are committed. `is_put_off`: the fleet
    cannot be reached, and the submission is made later.
    """

    worker: Worker
    commit: Oid
    commits: int
    conflicts: tuple[str, ...]
    marked: tuple[str, ...] = ()
    is_put_off: bool = False

    @property
    def waits_for_review(self) -> bool:
        """Return whether a review is the next step."""
        return waits_for_review(self.worker.state, self.worker.stale_from)


@dataclass(frozen=True, slots=True)
class Submission:
    """The options of `done`: a note, a pull request's address, a message to commit the rest."""

    note: str = ""
    commit_message: str | None = None
    pr_url: str | None = None


def submit(session: Session, name: str | None, submission: Submission) -> Submitted:
    """Submit the worker's branch for review, and predict its conflicts with the target.

    While the fleet cannot be reached, the submission is recorded here and made later.
    Raises Refused for uncommitted work without a commit message, for an open rebase or merge, and
    for a branch without a commit of its own; Conflict if another agent has taken over the worker's
    claim on the task, or if the commit was sent back for a conflict that it still has.
    """
    try:
        return _submit(session, name, submission)
    except Unavailable as error:
        if error.code != UNREACHABLE:
            raise
        with session.store.read() as reader:
            worker = require_worker(reader, name, session)
        tip = put_off(session, worker, note=submission.note, pr_url=submission.pr_url)
        return Submitted(worker, tip, 0, (), is_put_off=True)


def _submit(session: Session, name: str | None, submission: Submission) -> Submitted:
    with session.store.read() as reader:
        worker = require_worker(reader, name, session)
        refuse_lost_task(reader, session, worker)
        if is_interrupted(worker.state):
            require_resumable(reader, worker)  # before anything is committed
        else:
            require_task_held(reader, worker.task_id, worker.worker_id)
    session = session.aimed_at(worker.lands_on)
    if name is None and (left := read_old_worktree(session, worker)):
        raise left.refused()
    if has_landed(worker.state):
        _require_kept_clean(session, worker, submission.commit_message)
        return _landed_already(session, worker)
    # An interrupted worker is brought to work with the hand-in only: a refused `done` must not
    # take up work that a person has stopped.
    if not is_interrupted(worker.state) and not may_hand_in(
        worker.state, stale_from=worker.stale_from
    ):
        require_transition(
            worker.worker_id, worker.state, WorkerEvent.SUBMIT, stale_from=worker.stale_from
        )
    ref = worker.ref
    _require_landable(session, worker, ref)
    _require_committed(session, worker, submission.commit_message)
    refs = publish_commits(session)
    tip = refs.get(ref)
    if tip is None:
        raise _missing_branch(session, worker)
    target = refs.get(session.target)
    stack_base = (
        None if target is None else find_stack_base(session, worker, BranchTips(ref, tip, target))
    )
    known = [target, stack_base.exclude] if stack_base else []
    own = session.git.text("rev-list", "--count", tip, *(f"^{oid}" for oid in known if oid), "--")
    if int(own) == 0:
        raise _nothing_own(session, worker)
    if stack_base:
        require_no_nested(session, worker, base=stack_base.onto, tip=tip)
    conflict = _predict_conflict(session, tip, stack_base) if stack_base else None
    if conflict is not None and repeats_conflict(worker.returned_by, worker.returned_tip, tip):
        raise _still_conflicts(session, worker, conflict)
    if repeats_review(worker.returned_by, worker.returned_tip, tip) and not submission.note:
        raise _unanswered_review(session, worker)
    if (request := _find_open_request(session, worker, tip)) is not None and (
        is_approved(worker.state) or not _adds(submission, request, worker)
    ):
        _report_unchanged(session, worker, submission)
        return Submitted(worker, tip, int(own), conflict.paths if conflict else ())
    marked = find_marked_files(session.git, base=stack_base.onto, tip=tip) if stack_base else ()
    if repeats_failure(worker.returned_by, worker.returned_tip, tip):
        session.report(Notice(f"{worker.branch} is {UNCHANGED}"))
        submission = replace(submission, note=submission.note or UNCHANGED)
    facts = None if target is None else read_round(session, worker, tip=tip, target=target)
    push_for_the_fleet(session, worker)
    submitted = _record(session, worker, tip, submission, facts=facts)
    _report_stashed(session, worker)
    if stack_base:
        _report_claimed(session, worker, base=stack_base.onto, tip=tip)
    return Submitted(submitted, tip, int(own), conflict.paths if conflict else (), marked)


def _landed_already(session: Session, worker: Worker) -> Submitted:
    """Return that nothing is left to hand in; raise Refused for commits after the landing."""
    if later := read_trouble(session, worker):
        raise later.refused()
    with session.store.read() as reader:
        landing = find_landing(reader, worker.worker_id, worker.task_id)
    words = f"task {worker.task} has landed in {session.target_name} already: nothing to hand in"
    session.report(Notice(words))
    return Submitted(worker, Oid(landing.target_new if landing else ""), 0, ())


def _require_kept_clean(session: Session, worker: Worker, commit_message: str | None) -> None:
    """Refuse or commit uncommitted work in a worktree that was kept after the landing."""
    owner = owner_of(session.repository.common_dir, worker)
    if owner is None or not is_present(owner):
        return
    if not read_status(session.git.at(owner.place)).is_clean:
        _require_committed(session, worker, commit_message)


def _nothing_own(session: Session, worker: Worker) -> Refused:
    """Return the refusal of a branch without a commit that the target does not have."""
    with session.store.read() as reader:
        last = newest_commit(reader, worker.worker_id, worker.task_id)
    dropped = read_unsubmitted(session, worker)
    if dropped is None and last is not None:
        dropped = find_lost_commits(session, worker, last)
    if dropped is not None:
        return Refused(
            f"branch {worker.branch} has no commit of its own any more: {dropped.words}",
            dropped.command.partition("   # ")[0],
            code=dropped.code,
        )
    if last is not None:
        remark = f"   # closes the task; the commits stay in {session.target_name}"
        return Refused(
            f"the work of {worker.branch} is in {session.target_name} already, so there is nothing"
            " to hand in",
            f"{_ending(session, worker)}{remark}",
            code="landed_elsewhere",
        )
    return Refused(
        f"branch {worker.branch} has no commit of its own{_unchanged_place(session, worker)}",
        wait_for_agent(session, worker) or _give_up(session, worker),
        code=EMPTY_BRANCH,
    )


def _unchanged_place(session: Session, worker: Worker) -> str:
    """Return the words that a worktree has no changes either; "" without one."""
    owner = owner_of(session.repository.common_dir, worker)
    if owner is None or not is_present(owner):
        return ""
    return f", and nothing is changed in {worker.worktree}"


def _give_up(session: Session, worker: Worker) -> str:
    """Return the command that ends a task without a change."""
    if has_failed(worker.state) and session.actor == worker.worker_id:
        return f"git worker resume {worker.worker_id}   # then commit a change"
    remark = "only if the task needs no change; otherwise commit a change first"
    return f"{_ending(session, worker)}   # {remark}"


def _ending(session: Session, worker: Worker) -> str:
    """Return the command that ends a task: as its author, who works in the worktree, or another."""
    if session.actor == worker.worker_id:
        return f"git worker fail {worker.worker_id} -m <reason>"
    return f"git worker cancel {worker.worker_id}"


def _unanswered_review(session: Session, worker: Worker) -> Conflict:
    """Return the refusal of the commit for which changes were requested, handed in again."""
    with session.store.read() as reader:
        review = find_review(reader, worker.worker_id, worker.task_id, "changes_requested")
    return Conflict(
        f"{worker.branch} is unchanged since changes were requested: commit them, or answer the"
        " review",
        f"git worker done {worker.worker_id} -m <text>",
        code="unchanged",
        detail=f"  {' '.join(review.note.split())}" if review and review.note else "",
    )


def _find_open_request(session: Session, worker: Worker, tip: Oid) -> Review | None:
    """Return the review in which this commit already waits for its verdict, or has its approval.

    After a verdict that left the review open, such as a withdrawn approval, it is handed in again.
    """
    if not waits_for_verdict(worker.state, stale_from=worker.stale_from):
        return None
    name, task = worker.worker_id, worker.task_id
    verdict_of = "approved" if is_approved(worker.state) else "requested"
    with session.store.read() as reader:
        review = find_review(reader, name, task, verdict_of)
        verdict = newest_verdict(reader, name, task)
    if review is None or review.commit_oid != tip:
        return None
    return review if is_approved(worker.state) or verdict is None else None


def _adds(submission: Submission, request: Review, worker: Worker) -> bool:
    """Return whether a submission of the same commit has a note or an address that is new."""
    note, pr_url = submission.note, submission.pr_url
    return (note or request.note, pr_url or worker.pr_url) != (request.note, worker.pr_url)


def _report_unchanged(session: Session, worker: Worker, submission: Submission) -> None:
    since = clock.iso_utc_seconds(worker.state_changed_at_ms)
    words = state_words(worker.state, worker.stale_from)
    text = f"worker {worker.worker_id} {words} since {since}: nothing changed"
    if is_approved(worker.state) and submission.note:
        text += "; to add a note: git worker send hq <text>"
    session.report(Notice(text))


def _report_stashed(session: Session, worker: Worker) -> None:
    """Report that entries of the stash, which all worktrees share, were made on the branch."""
    common_dir = session.repository.common_dir
    has_reftable = os.path.isdir(f"{common_dir}/reftable")
    if not has_reftable and not os.path.lexists(f"{common_dir}/logs/{STASH}"):
        return  # the stash is a reflog
    heads = (f"WIP on {worker.branch}: ", f"On {worker.branch}: ")
    lines = session.git.text("stash", "list", "--format=%gs").splitlines()
    if any(line.startswith(heads) for line in lines):
        words = f"stashed work of {worker.branch} is not handed in; see: git stash list"
        session.report(Notice(words))


def _report_claimed(session: Session, worker: Worker, *, base: Oid, tip: Oid) -> None:
    """Report that the branch changes files that others have claimed."""
    with session.store.read() as reader:
        claims = path_claims_of_others(reader, worker.worker_id)
    names = changed_files(session.git, base=base, tip=tip) if claims else []
    for claim in claims:
        touched = next(
            (
                name
                for name in names
                if claim_rules.conflict(claim.name, f"{claim_rules.PATH}{name}")
            ),
            None,
        )
        if touched is not None:
            words = (
                f"{worker.branch} changes {touched}, and {claim.holder} has claimed {claim.name}"
            )
            session.report(Notice(words))


def _advance(writer: Writer, session: Session, worker: Worker, metadata: dict[str, Any]) -> bool:
    """Move a worker into review; return False if it is there, so that its request is renewed."""
    current = load_worker(writer, worker.worker_id)
    if current.task_id != worker.task_id:
        raise Conflict(
            f"another command changed worker {worker.worker_id} at the same time",
            f"git worker show {worker.worker_id}",
        )
    actor = session.actor
    if not waits_for_verdict(current.state, stale_from=current.stale_from):
        current = bring_to_work(writer, current, actor=actor, lease_ms=lease_of(session))
        advance(writer, current, WorkerEvent.SUBMIT, actor=actor, metadata=metadata)
        return True
    if is_approved(current.state):
        facts = {"reason": "later commits were handed in"}
        advance(writer, current, WorkerEvent.APPROVAL_WITHDRAWN, actor=actor, metadata=facts)
    elif is_stale(current.state):
        advance(writer, current, WorkerEvent.RESUME_REVIEW, actor=actor)
        set_stale_from(writer, worker.worker_id, None)
    return False


def _missing_branch(session: Session, worker: Worker) -> Refused:
    trouble = read_trouble(session, worker)
    assert trouble is not None
    return trouble.refused()


def _predict_conflict(session: Session, tip: Oid, stack_base: StackBase) -> ReplayConflict | None:
    return predict_conflict(
        session.git,
        target=stack_base.onto,
        topic=tip,
        exclude=stack_base.exclude,
        scratch_dir=session.scratch_dir,
    )


def _still_conflicts(session: Session, worker: Worker, conflict: ReplayConflict) -> Conflict:
    """Return the refusal of the commit that was sent back for its conflict, handed in again."""
    with session.store.read() as reader:
        hint = read_next_command(session, reader, worker.worker_id, session.actor)
    return Conflict(
        f"{worker.branch} still conflicts in {count_text(len(conflict.paths), 'file')}, as when it"
        " was sent back",
        hint,
        code="rebase_conflict",
        detail="\n".join(f"  {name}" for name in conflict.paths),
    )


def _require_landable(session: Session, worker: Worker, ref: Ref) -> None:
    """Refuse trees that git cannot check out, before git compares the worktree with them."""
    common_dir = session.repository.common_dir
    tip, target = (find_tip(session.git, common_dir, name) for name in (ref, session.target))
    if tip is None:
        raise _missing_branch(session, worker)
    if target is not None:
        require_landable(session, worker.worker_id, [tip], base=target, worktree=worker.worktree)


def _require_committed(session: Session, worker: Worker, commit_message: str | None) -> None:
    owner = owner_of(session.repository.common_dir, worker)
    if owner is None or not is_present(owner):
        return
    git = session.git.at(owner.place)
    require_no_operation(owner.place, owner.admin_dir or "")
    require_on_branch(session.git, owner)
    status = read_status(git, renew=True)  # the landing checks again
    if status.is_clean:
        return
    if commit_message is None:
        raise Refused(
            f"{worker.worktree} has uncommitted work: {_in_words(status)}",
            wait_for_agent(session, worker)
            or f"git worker done {worker.worker_id} --commit -m 'What I did'"
            "   # or commit yourself",
            code="uncommitted",
        )
    commit_all(git, commit_message)


def _in_words(status: CheckoutStatus) -> str:
    counts = {
        "staged": status.staged, "unstaged": status.unstaged, "untracked": status.untracked,
        "unmerged": status.unmerged,
    }  # fmt: skip
    return ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)


def _record(
    session: Session, worker: Worker, tip: Oid, submission: Submission, *, facts: RoundFacts | None
) -> Worker:
    now = clock.now_ms()
    if facts is not None:  # the ref comes first, so that a kill leaves no round without it
        keep_rounds(session, worker, rounds_with(session, worker, facts, now=now))
    with session.store.write() as writer:
        if not is_interrupted(load_worker(writer, worker.worker_id).state):
            require_task_held(writer, worker.task_id, worker.worker_id)
        set_review_state(writer, worker.worker_id, "pending")
        clear_returned(writer, worker.worker_id)
        if submission.pr_url:
            set_pr_url(writer, worker, submission.pr_url)
        note = submission.note or _earlier_note(writer, worker)
        metadata = {"commit": tip, "note": note or None}
        is_new = _advance(writer, session, worker, metadata)
        record_review(
            writer, worker.worker_id, worker.task_id, verdict="requested", commit=tip,
            base=worker.base_oid or "", identity=session.actor, note=note, now=now,
        )  # fmt: skip
        if facts is not None:
            record_round(writer, worker, facts, now=now)
        payload = {"branch": worker.branch, "commit": tip, "note": note}
        if pr_url := submission.pr_url or worker.pr_url:
            payload["pr_url"] = pr_url
        for kind in ("task_done", "review_request")[not is_new :]:
            publish(
                writer,
                Outgoing(
                    kind, sender=worker.worker_id, correlation_id=worker.task_id, payload=payload
                ),
                now=now,
            )
        renew_heartbeat(writer, worker.worker_id, task=worker.task_id)
        found = load_worker(writer, worker.worker_id)
    publish_views(session, worker.worker_id)
    return found


def _earlier_note(writer: Writer, worker: Worker) -> str:
    """Return the note of the request that is renewed; a new round begins without one."""
    if not waits_for_verdict(worker.state, stale_from=worker.stale_from):
        return ""
    review = find_review(writer, worker.worker_id, worker.task_id, "requested")
    return review.note if review else ""
