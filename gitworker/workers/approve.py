"""approve: rebase a worker's branch onto the target, then record commit and patches as approved."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from gitworker.branches.landable import require_landable
from gitworker.branches.published_submodules import require_published
from gitworker.branches.replay_branch import (
    BranchTips,
    Rewrite,
    begin_rewrite,
    carries_all_patches,
    move_to,
    plan_rewrite,
    read_tips,
    replay_onto_target,
    rescue_old_tips,
)
from gitworker.branches.requested import find_later, find_requested, later_refusal, require_tip
from gitworker.branches.stack import find_stack_base, parent_names, require_parent_ready
from gitworker.bus.drain import drain
from gitworker.crashpoint import crash_point
from gitworker.errors import Conflict, GitWorkerError, Refused, as_gitworker_error
from gitworker.journal.recover import finish_interrupted, require_ended
from gitworker.journal.settle_rewrite import give_up, roll_back
from gitworker.landing.prepare import withdraw
from gitworker.landing.rules_queue import parents_first
from gitworker.lifecycle.find import require_worker
from gitworker.lifecycle.moves import require_event
from gitworker.lifecycle.rules import is_approved, is_judged, may_judge, waits_for_review
from gitworker.lifecycle.state_files import publish_views
from gitworker.lifecycle.verdict import finish_approval, send_back
from gitworker.model.ids import Oid
from gitworker.model.outcome import LeftOut
from gitworker.model.worker import WorkerEvent
from gitworker.processes.alongside import Alongside
from gitworker.progress import Notice, Replaying
from gitworker.repo.history.patch_ids import fingerprints
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.repo.replay.replay import ReplayConflict, Replayed
from gitworker.repo.replay.replay_cache import ReplayCache
from gitworker.repo.status.checkout_status import open_operation
from gitworker.repo.worktrees.ownership import has_worktree, is_present, owner_of
from gitworker.repo.worktrees.trouble import require_on_branch
from gitworker.review.comments.rules_steps import is_draft
from gitworker.review.reviewer import reviewer_of_record
from gitworker.rules_text import count_text
from gitworker.session import Session
from gitworker.states.engine import InvalidTransition
from gitworker.states.worker_machine import state_words
from gitworker.store.operations import find_last_operation, load_operation
from gitworker.store.payloads.payload import ApproveData
from gitworker.store.records.reviews import Review, find_review
from gitworker.store.reviewing.comments import comments_of
from gitworker.store.workers import Worker, all_workers, find_worker
from gitworker.worktrees.elsewhere import bring_branches
from gitworker.worktrees.left_out import find_left_out
from gitworker.worktrees.prefetched_checks import PrefetchedChecks, forget_early_checks


class Approved(NamedTuple):
    """An approved worker: the approved commit, and the branch's old tip if it was rebased.

    `unrequested` counts the commits, approved by `at`, that came after the submission. `without` is
    the withdrawn branch that it was stacked on: those commits are not approved and do not land.
    `left_out` are the uncommitted files in its worktree, which are not part of the approval.
    `next_command` is the worker's, as every screen names it, if it was asked for.
    """

    worker: Worker
    commit: Oid
    rebased_from: Oid | None
    rescue_ref: str | None
    unrequested: int
    without: str | None
    left_out: LeftOut | None = None
    next_command: str | None = None


class NotApproved(NamedTuple):
    """One worker that was not approved, with the reason."""

    worker_id: str
    error: GitWorkerError


def approve(session: Session, name: str, *, note: str = "", at: str | None = None) -> Approved:
    """Rebase the worker's branch onto the target and record the approval.

    The approval is for the commits that were handed in. With `at`, the newest commit of the branch,
    it is for all commits up to that one. A branch that is stacked on another worker's branch is
    rebased onto that branch until it lands.

    Raises Conflict, with the commits, if the branch has later ones, or newer ones than `at`. Raises
    Conflict, with the files, if the rebase conflicts: the worker is then WORKING again. Raises
    Refused or InvalidTransition before any change.
    """
    (outcome,) = approve_all(session, [name], note=note, at=at)
    if isinstance(outcome, NotApproved):
        raise outcome.error
    return outcome


def approve_all(
    session: Session,
    names: Sequence[str],
    *,
    note: str = "",
    at: str | None = None,
    memory: ReplayCache | None = None,
    checks: PrefetchedChecks | None = None,
) -> list[Approved | NotApproved]:
    """Approve several workers in turn; one that cannot be approved does not stop the others.

    `at` requires a single worker. `memory` keeps the replays for the rest of the command. `checks`
    are those of a landing that follows at once and deletes the worktrees: a branch whose worktree
    is clean then stays where it is, since the landing replays it.
    """
    results: list[Approved | NotApproved] = []
    bring_branches(session, _named(session, names))
    with hold(session.landing_lock, name="landing"):
        finish_interrupted(session)
        drain(session)
        call = _ApproveCall(session, note, at, memory=memory, checks=checks)
        for number, name in enumerate(names, 1):
            session.report(Replaying(name, number, len(names)))
            try:
                results.append(_approve(call, name))
            except (GitWorkerError, OSError) as error:
                results.append(NotApproved(name, as_gitworker_error(error)))
    crash_point("approve.recorded")
    done = [result.worker.worker_id for result in results if isinstance(result, Approved)]
    publish_views(session, *done)
    _report_drafts(session, results)
    return results


def _report_drafts(session: Session, results: Sequence[Approved | NotApproved]) -> None:
    """Report the comments on approved work that no reviewer has sent."""
    for worker in [one.worker for one in results if isinstance(one, Approved)]:
        with session.store.read() as reader:
            comments = comments_of(reader, worker.worker_id, worker.task_id)
        number = sum(is_draft(one.state) for one in comments)
        if number:
            name = worker.worker_id
            session.report(
                Notice(
                    f"{count_text(number, 'comment')} on {name} not sent: git worker review list"
                    f" {name}, then git worker review send {name} --comment"
                )
            )


def _named(session: Session, names: Sequence[str]) -> list[Worker]:
    """Return the workers of these names that exist; `_check` refuses the others."""
    with session.store.read() as reader:
        found = (find_worker(reader, name) for name in names)
        return [one for one in found if one is not None]


def waiting_workers(session: Session) -> list[str]:
    """Return the workers that wait for review: the longest wait first, parents before children."""
    with session.store.read() as reader:
        found = [one for one in all_workers(reader) if waits_for_review(one.state, one.stale_from)]
        parents = parent_names(reader, found)
    found.sort(key=lambda one: one.state_changed_at_ms)
    return parents_first([one.worker_id for one in found], parents)


class _ApproveCall:
    """The state that all workers of one approve call share."""

    def __init__(
        self,
        session: Session,
        note: str,
        at: str | None,
        *,
        memory: ReplayCache | None,
        checks: PrefetchedChecks | None,
    ) -> None:
        self.session = session
        self.note = note
        self.at = at
        self.memory = memory or ReplayCache(session.git_config)
        self.checks = checks

    @cached_property
    def reviewer(self) -> str:
        """Return the reviewer of record; git is asked only once."""
        return reviewer_of_record(self.session, self.memory)


def _approve(call: _ApproveCall, name: str) -> Approved:
    session = call.session
    worker = _check(session, name)
    if is_judged(worker.state):
        with session.store.read() as reader:
            review = find_review(reader, worker.worker_id, worker.task_id, "approved")
        if review or not is_approved(worker.state):
            return _approved_already(call, worker, review)
        withdraw(session, worker, "its approval is not on record")  # a foreign program deleted it
        worker = _check(session, name)
    # A landing reports the files that it leaves out itself.
    left_out = None if call.checks else Alongside(lambda: find_left_out(session, worker))
    # Before the tips: a commit that comes in between is then later than `at`, not unknown.
    at = session.git.require_oid(call.at) if call.at is not None else None
    tips = read_tips(session, worker)
    stack_base = find_stack_base(session, worker, tips)
    require_parent_ready(session, worker, stack_base)
    require_landable(
        session, worker.worker_id, [tips.branch, stack_base.onto], base=tips.target,
        worktree=worker.worktree,
    )  # fmt: skip
    unrequested = _require_requested(session, worker, tips, at)
    tips = BranchTips(tips.ref, tips.branch, stack_base.onto)
    own = _OwnPatches(call, tips)
    outcome = replay_onto_target(session, tips, memory=call.memory, exclude=stack_base.exclude)
    if isinstance(outcome, ReplayConflict):
        raise send_back(session, worker, outcome, onto=stack_base.name)
    if outcome.new == tips.target:
        _require_own_commits(session, worker, tips)
    require_published(session, worker, base=tips.target, tip=outcome.new)
    stays = stack_base.stack is None and _stays(call, worker, tips, outcome)
    new = tips.branch if stays else outcome.new
    patches = own.read(new)
    reviewer = call.reviewer
    _check_worktree(session, worker, moves=outcome.new != tips.branch)
    files = left_out.result() if left_out else None
    planned = plan_rewrite(session, worker, tips, new=new)
    (rewrite,) = rescue_old_tips(session, [(worker, planned)])
    data = ApproveData(
        ref=rewrite.ref, old=rewrite.old, new=rewrite.new, rescue=rewrite.rescue_ref,
        worktree=rewrite.worktree, admin_dir=rewrite.admin_dir, base=tips.target,
        note=call.note, reviewer=reviewer, identity=session.actor, patches=patches,
    )  # fmt: skip
    worker = (_record if stays else _move)(session, worker, rewrite, data)
    moved = rewrite.old if rewrite.old != rewrite.new else None
    without = (
        stack_base.stack.parent_branch if stack_base.stack and stack_base.is_withdrawn else None
    )
    return Approved(worker, rewrite.new, moved, rewrite.rescue_ref, unrequested, without, files)


class _OwnPatches:
    """The texts that an approval records; before a landing git reads them during the replay."""

    def __init__(self, call: _ApproveCall, tips: BranchTips) -> None:
        self._git = call.session.git
        self._tips = tips
        self._early = Alongside(lambda: self._read(tips.branch)) if call.checks else None

    def read(self, tip: Oid) -> list[str]:
        """Return the texts of the commits that lead from the target to `tip`."""
        if self._early is not None and tip == self._tips.branch:
            return self._early.result()
        return self._read(tip)

    def _read(self, tip: Oid) -> list[str]:
        return list(fingerprints(self._git, self._tips.target, tip))


def _stays(call: _ApproveCall, worker: Worker, tips: BranchTips, outcome: Replayed) -> bool:
    """Return whether the landing that follows replays a branch, so that it need not move now.

    Only with a clean worktree: a move refuses uncommitted work that would be overwritten. The
    branch of a worker on another machine always stays.
    """
    if outcome.new == tips.branch:
        return False
    if worker.elsewhere is not None:  # its branch is moved where its worktree is
        return True
    if call.checks is None:
        return False
    stays = (
        open_operation(worker.admin_dir or "") is None
        and carries_all_patches(call.session, outcome, base=tips.target, memory=call.memory)
        and call.checks.is_clean(worker)
    )
    if not stays:
        forget_early_checks(call.session)
    return stays


def _record(session: Session, worker: Worker, _: Rewrite, data: ApproveData) -> Worker:
    """Record the approval of a branch that stays where it is; return the approved worker."""
    with session.store.write() as writer:
        operation = begin_rewrite(writer, worker, "approve", actor=session.actor, data=data)
        return finish_approval(writer, load_operation(writer, operation))


def _move(session: Session, worker: Worker, rewrite: Rewrite, data: ApproveData) -> Worker:
    """Move the branch and record the approval; return the approved worker."""
    with session.store.write_own() as writer:
        operation = begin_rewrite(writer, worker, "approve", actor=session.actor, data=data)
    crash_point("approve.journal")
    try:
        move_to(session, rewrite)
    except BaseException:
        give_up(session, operation)
        raise
    crash_point("approve.moved")
    return _finish(session, operation)


def _check(session: Session, name: str) -> Worker:
    with session.store.read() as reader:
        worker = require_worker(reader, name, session)
    require_ended(session, worker.worker_id)
    refusal = may_judge(
        session.actor, worker.worker_id, self_review=session.settings.review_self,
        state=worker.stale_from or worker.state,
    )  # fmt: skip
    if refusal is not None:
        raise refusal
    if not is_judged(worker.state):
        require_event(session, worker, WorkerEvent.APPROVE)
    return worker


def _approved_already(call: _ApproveCall, worker: Worker, review: Review | None) -> Approved:
    """Return a worker whose approval holds, unchanged.

    Raises Conflict if its branch has moved, or if `at` is another commit than the approved one: in
    its present form, as it was before the approval rebased it, or as it was handed in.
    """
    session, name = call.session, worker.worker_id
    commit = Oid(review.commit_oid) if review else Oid("")
    if is_approved(worker.state):
        if read_tips(session, worker).branch != commit:
            raise Conflict(
                f"{worker.branch} has moved since it was approved",
                f"git worker done {name}",
                code="moved_on",
            )
        if call.at is not None:
            _require_approved_at(session, worker, commit, session.git.require_oid(call.at))
    words = state_words(worker.state)
    session.report(Notice(f"worker {name} {words} already: nothing changed"))
    return Approved(worker, commit, None, None, 0, None)


def _require_approved_at(session: Session, worker: Worker, commit: Oid, at: Oid) -> None:
    name = worker.worker_id
    with session.store.read() as reader:
        operation = find_last_operation(reader, "approve", worker=name, task=worker.task_id)
    known = {commit, find_requested(session, worker)}
    if operation is not None:
        known.add(operation.payload(ApproveData).old)
    if at not in known:
        raise Conflict(
            f"{name} is approved at {commit[:12]}, not at {at[:12]}",
            f"git worker diff {name}   # the change that is approved",
            code="approved_at_another",
        )


def _check_worktree(session: Session, worker: Worker, *, moves: bool) -> None:
    """Refuse a worktree that is not the worker's, or not on its branch; it need not exist.

    If the branch moves, the worktree must be at its recorded path. In a worktree that was moved by
    plain `mv` the next commit would revert changes of the target.
    """
    owner = owner_of(session.repository.common_dir, worker)
    found = is_present(owner) if moves else has_worktree(owner)
    if owner is not None and found:
        require_on_branch(session.git, owner)


def _require_requested(session: Session, worker: Worker, tips: BranchTips, at: Oid | None) -> int:
    """Return how many commits came after the submission; raise Conflict unless `at` covers them."""
    if at is not None:
        require_tip(session, worker, tips, at)
    found = find_later(session, worker, tips)
    if found is None:
        return 0
    if at is None:
        raise later_refusal(session, worker, tips, found)
    return len(found.later)


def _require_own_commits(session: Session, worker: Worker, tips: BranchTips) -> None:
    """Refuse a branch without own commits if the submitted commits are not in the target.

    It was reset after the submission; landing it would complete a task of which nothing has landed.
    """
    requested = find_requested(session, worker)
    if requested is None or requested == tips.branch:
        return
    done = session.git.run(
        "rev-list", "--count", "--cherry-pick", "--right-only",
        f"{tips.target}...{requested}", "--", ok=(0, 128),
    )  # fmt: skip
    if done.status == 0 and int(done.text) > 0:
        raise Refused(
            f"{worker.branch} has no commit of its own any more; {worker.worker_id} submitted"
            f" {requested[:12]}",
            f"git worker reject {worker.worker_id} -m <text>"
            f"   # to continue there: git reset --keep {requested[:12]}",
            code="nothing_left",
        )


def _finish(session: Session, number: int) -> Worker:
    try:
        with session.store.write() as writer:
            operation = load_operation(writer, number)
            return finish_approval(writer, operation)
    except InvalidTransition:  # rejected or failed while the branch moved; that verdict remains
        roll_back(session, number)
        raise
