"""Land the branch of a workstream on the target as a whole, after its final validation.

The branch is replayed onto the target in memory, the result is verified, and the target moves to it
by one fast-forward. The branch itself stays as it is until that is recorded. If anything fails,
target and branch are unchanged. A rescue ref may remain, and so does a push that the remote took.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker import clock
from gitworker.bus.drain import drain
from gitworker.crashpoint import crash_point
from gitworker.errors import Conflict, GitWorkerError, NotFound
from gitworker.journal.recover import finish_interrupted
from gitworker.journal.settle_workstream import close_land, record_land
from gitworker.landing.merge import hold_queue
from gitworker.landing.queue import MOVES, settle_landings
from gitworker.landing.window import push_journaled
from gitworker.lifecycle.rules import may_judge
from gitworker.model.ids import WORKSTREAM, Oid, Ref, TaskId
from gitworker.model.ref_names import QUEUE, anchor_of, short_name
from gitworker.progress import Notice
from gitworker.repo.checkout.fastforward import check_forward, fast_forward
from gitworker.repo.plumbing.refs import change_refs, find_ref, require_refs
from gitworker.repo.plumbing.repository_lock import descriptor_of, hold
from gitworker.repo.replay.replay import ReplayConflict, replay
from gitworker.repo.rescue.rescue_refs import rescue
from gitworker.repo.worktrees.worktree_list import find_checkout
from gitworker.rules_text import count_text
from gitworker.session import Session, missing_target
from gitworker.states.workstream_machine import derive_workstream_state
from gitworker.store.operations import LAND, begin_operation, load_operation
from gitworker.store.payloads.payload import MergeData
from gitworker.store.planning.workstreams import shares_of
from gitworker.store.records.landings import landings_on
from gitworker.tasks.queue.join import require_workstream
from gitworker.verify.target_settings import changes_settings, settings_at
from gitworker.verify.trust import untrusted_commands
from gitworker.verify.verify_once import verify_once
from gitworker.workstreams.rules_workstream import validation_refusal
from gitworker.worktrees.pool.pool import lender

if TYPE_CHECKING:
    from gitworker.landing.pushing import Pushing
    from gitworker.store.api import Reader
    from gitworker.store.operations import Operation
    from gitworker.store.planning.workstreams import Workstream
    from gitworker.verify.verify import Verdict


class Candidate(NamedTuple):
    """The branch `ref` at `tip`, replayed onto the target's commit `base` as `new`."""

    ref: Ref
    tip: Oid
    base: Oid
    new: Oid


def land_branch(session: Session, stored: Workstream) -> Verdict:
    """Verify a workstream's branch on top of the target and land it; return the last verdict.

    If the verdict is bad, nothing has moved. Raises Refused for a worker whose work is on the
    branch, and if a task has joined or started again meanwhile; Conflict with the files if the
    branch conflicts with the target, or if the target keeps moving; NotFound without the branch;
    the errors of the verify commands that cannot run, of the target's checkout, and of the remote.
    """
    _require_judge(session, stored)
    with hold_queue(session):
        pushing = _open_pushing(session)
        for _ in range(MOVES):
            remote_tip = None if pushing is None else pushing.remote.fetch()
            with hold(session.landing_lock, name="landing"):
                candidate = _prepare(session, stored, remote_tip)
            verdict = _verify(session, stored, candidate)
            if not verdict.passed:
                return verdict
            with hold(session.landing_lock, name="landing"):
                settle_landings(session)
                unchanged = _is_unchanged(session, stored, candidate)
                if unchanged and _land(session, stored, candidate, pushing, log=verdict.log):
                    return verdict
        raise Conflict(
            f"{session.target_name} moved {MOVES} times while {short_name(candidate.ref)} was"
            " verified on it",
            "git worker workstream list",
            code="target_moved",
        )


def _require_judge(session: Session, stored: Workstream) -> None:
    """Raise Refused if the caller would land its own work, as `merge` does."""
    with session.store.read() as reader:
        landings = landings_on(reader, stored.branch or Ref(""))
    for name in {one.worker_id for one in landings}:
        refusal = may_judge(session.actor, name, self_review=session.settings.review_self)
        if refusal is not None:
            raise refusal


def _open_pushing(session: Session) -> Pushing | None:
    if not session.settings.merge_remote:
        return None
    from gitworker.landing.pushing import open_pushing  # 15 ms, only with a remote

    return open_pushing(session)


def _prepare(session: Session, stored: Workstream, remote_tip: Oid | None) -> Candidate:
    """Replay the branch onto the target; raise the error that prevents a landing."""
    settle_landings(session, remote_tip)
    drain(session)
    ref = stored.branch or Ref("")
    tip, base = find_ref(session.git, ref), find_ref(session.git, session.target)
    name = short_name(ref)
    if base is None:
        raise missing_target(session)
    if tip is None:
        raise NotFound(f"branch {name} does not exist", "git worker doctor")
    replayed = replay(session.git, target=base, topic=tip, scratch_dir=session.scratch_dir)
    if isinstance(replayed, ReplayConflict):
        rescue(session.git, worker=WORKSTREAM, task=TaskId(stored.id), tip=tip, worktree=None)
        raise Conflict(
            f"{name} conflicts with {session.target_name} in"
            f" {count_text(len(replayed.paths), 'file')}",
            f"git rebase {session.target_name} {name}"
            f"   # then: git switch {session.target_name}"
            f" && git worker workstream validate {stored.id}",
            code="rebase_conflict",
            detail="\n".join(f"  {path}" for path in replayed.paths),
        )
    candidate = Candidate(ref, tip, base, replayed.new)
    _require_clear(session, candidate)
    return candidate


def _require_clear(session: Session, candidate: Candidate) -> None:
    """Raise the error that the target's checkout would raise; checked before a run and a push."""
    check_forward(
        session.git, ref=session.target, old=candidate.base, new=candidate.new,
        worktree=find_checkout(session.git, session.target),
    )  # fmt: skip


def _verify(session: Session, stored: Workstream, candidate: Candidate) -> Verdict:
    """Run the workstream's own commands, then the verify commands, on the replayed branch."""
    require_refs(session.git, [f"update {QUEUE} {candidate.new}"], reason="gitworker: workstream")
    crash_point("land.replayed")
    present = session._replace(settings=settings_at(session, candidate.base))
    tried = [present]
    if stored.validation:
        tried.insert(0, with_commands(present, stored.validation))
    if changes_settings(session, candidate.base, candidate.new, known={}):
        brought = settings_at(session, candidate.new, owner=short_name(candidate.ref))
        changed = session._replace(settings=brought)
        tried += [] if untrusted_commands(changed, "verify") else [changed]
    try:
        for one in tried:
            verdict = verify_once(one, candidate.new, label=stored.id, lend=lender(session))
            crash_point("land.verified")
            if not verdict.passed:
                break
    finally:
        change_refs(session.git, [f"delete {QUEUE}"], reason="gitworker: workstream")
    return verdict


def require_validating(reader: Reader, name: str) -> Workstream:
    """Return a workstream whose final validation is next; raise Refused for another one.

    A task that joins or starts again does not change the state: it is derived from the tasks.
    """
    found = require_workstream(reader, name)
    derived = derive_workstream_state(shares_of(reader, name))
    refusal = validation_refusal(name, found.state, derived, has_to_land=found.has_to_land)
    if refusal is not None:
        raise refusal
    return found


def with_commands(session: Session, commands: tuple[str, ...]) -> Session:
    """Return the session with commands that the user has given, to verify by."""
    left = tuple(name for name in session.settings.from_file if name != "verify_commands")
    settings = session.settings._replace(verify_commands=commands, from_file=left)
    return session._replace(settings=settings)


def _is_unchanged(session: Session, stored: Workstream, candidate: Candidate) -> bool:
    """Return whether target and branch are as they were when verified.

    Raises Refused if a task has joined or started again since, or the workstream has ended.
    """
    with session.store.read() as reader:
        require_validating(reader, stored.id)
    return (
        find_ref(session.git, candidate.ref) == candidate.tip
        and find_ref(session.git, session.target) == candidate.base
    )


def _land(
    session: Session,
    stored: Workstream,
    candidate: Candidate,
    pushing: Pushing | None,
    *,
    log: str,
) -> bool:
    """Move the target and record the landing; return False if the remote has moved before.

    Raises the error of the push or the fast-forward if nothing has landed.
    """
    _require_clear(session, candidate)
    number = _begin(session, stored, candidate, remote=pushing is not None)
    try:
        if pushing is not None:
            push_journaled(session, [number], lambda: pushing.push(candidate.new, candidate.base))
        fast_forward(
            session.git, ref=session.target, old=candidate.base, new=candidate.new,
            worktree=find_checkout(session.git, session.target),
            reason=f"git worker workstream validate {stored.id}",
            lock_fd=descriptor_of(session.landing_lock),
        )  # fmt: skip
    except GitWorkerError as error:
        return _settle(session, number, error, pushing)
    crash_point("land.forwarded")
    with session.store.write() as writer:
        record_land(writer, load_operation(writer, number), log=log)
    crash_point("land.recorded")
    close_land(session, _operation(session, number))
    return True


def _begin(session: Session, stored: Workstream, candidate: Candidate, *, remote: bool) -> int:
    """Keep the old and the new commits by refs, and write the journal."""
    task, kept = TaskId(stored.id), None
    anchor = anchor_of(WORKSTREAM, task)
    require_refs(session.git, [f"update {anchor} {candidate.new}"], reason="gitworker: workstream")
    if candidate.new != candidate.tip:
        kept = rescue(
            session.git, worker=WORKSTREAM, task=task, tip=candidate.tip, worktree=None
        ).ref
    data = MergeData(
        ref=candidate.ref, old=candidate.tip, new=candidate.new, worktree=None, admin_dir=None,
        target_ref=session.target, target_old=candidate.base, keep=False, rescue=kept,
        remote=session.settings.merge_remote if remote else None,
    )  # fmt: skip
    try:
        with session.store.write_own() as writer:
            require_validating(writer, stored.id)
            number = begin_operation(
                writer, LAND, worker=WORKSTREAM, task=task, actor=session.actor,
                now=clock.now_ms(), data=data,
            )  # fmt: skip
    except GitWorkerError:
        change_refs(session.git, [f"delete {anchor}"], reason="gitworker: workstream")
        raise
    crash_point("land.journal")
    return number


def _settle(session: Session, number: int, error: GitWorkerError, pushing: Pushing | None) -> bool:
    """Settle a landing that failed by the target's state; return whether it has landed."""
    finish_interrupted(session)
    if _operation(session, number).status == "done":
        return True
    if pushing is None or not pushing.came_too_late(error):
        raise error
    delay_s = pushing.delay_s()
    if delay_s is None:
        raise error
    session.report(Notice(f"{error.message}; trying again"))
    clock.sleep(delay_s)
    return False


def _operation(session: Session, number: int) -> Operation:
    with session.store.read() as reader:
        return load_operation(reader, number)
