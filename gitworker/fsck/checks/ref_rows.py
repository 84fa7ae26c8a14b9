"""Refs agree with rows and journals: branches, rescue refs, the anchors of landings."""

from collections.abc import Iterator

from gitworker import clock
from gitworker.bus.drain import record_tip
from gitworker.fsck.checks.reflogs import named_commits
from gitworker.fsck.finding import Finding, Repair
from gitworker.fsck.picture import Picture
from gitworker.fsck.rules import holds_task
from gitworker.model.ids import HQ, Oid, Ref, is_oid
from gitworker.model.ref_names import ANCHORS, BRANCHES, RESCUES, anchor_of, task_of
from gitworker.repo.history.reachable import find_departed, find_missing
from gitworker.repo.plumbing.refs import create_ref, delete_branch, find_ref
from gitworker.repo.rescue.rescue_refs import rescue
from gitworker.repo.worktrees.worktree_list import last_head
from gitworker.session import Session
from gitworker.store.operations import begin_operation, close_operation
from gitworker.store.payloads.payload import FsckData, rescue_of
from gitworker.store.records.tips import rewrites_of
from gitworker.store.workers import Worker


def check_branches(picture: Picture) -> Iterator[Finding]:
    """Find branches of workers that are gone, broken, or were moved away from what was told.

    A move that a reflog names is its author's: an amended commit, a reset, a rebase by hand.
    """
    moved: dict[Ref, tuple[Worker, Oid, Oid]] = {}
    for worker in picture.settled:
        ref = picture.branch(worker)
        if ref is None or not holds_task(worker.state):
            continue
        tip, told = picture.refs.get(ref), picture.tips.get(ref)
        if tip is None:
            yield _gone(picture, worker, ref)
        elif tip in picture.missing:
            yield Finding(
                "branch_broken", ref, f"{ref} points at {tip[:12]}, which is not in the repository",
                f"git update-ref {ref} COMMIT   (git reflog show {worker.branch})",
            )  # fmt: skip
        elif told not in (None, tip) and told not in named_commits(picture, worker):
            moved[ref] = (worker, tip, told)
    yield from _moved_away(picture, moved)


def _gone(picture: Picture, worker: Worker, ref: Ref) -> Finding:
    what = f"branch {worker.branch} of {worker.worker_id} is gone"
    last = _last_tip(picture, worker, ref)
    if last is None:
        return Finding("branch_gone", ref, what, f"git worker cancel {worker.worker_id}")

    def mend(session: Session) -> None:
        if find_ref(session.git, ref) is None:
            create_ref(session.git, ref, last, reason="gitworker: fsck")

    return Finding("branch_gone", ref, what, f"makes it again at {last[:12]}", mend)


def _last_tip(picture: Picture, worker: Worker, ref: Ref) -> Oid | None:
    """Return where a branch was last: as its worktree says, else as was told."""
    git = picture.session.git
    tree = picture.worktrees.get(worker.worktree or "")
    if tree is not None and tree.branch == ref and not tree.prunable:
        found = last_head(git.at(tree.path), tree.admin_dir)
        if found is not None:
            return found
    told = picture.tips.get(ref)
    return None if told is None else git.find_oid(told)


def _moved_away(picture: Picture, moved: dict[Ref, tuple[Worker, Oid, Oid]]) -> Iterator[Finding]:
    """Find branches that no longer contain what was told of them, by a move that is not ours."""
    git = picture.session.git
    with picture.session.store.read() as reader:
        ours = {ref: {new for _, new in rewrites_of(reader, ref)} for ref in moved}
    gone = find_missing(git, {told for _, _, told in moved.values()})
    departed = find_departed(
        git, {(tip, told) for _, tip, told in moved.values() if told not in gone}
    )
    for ref, (worker, tip, told) in moved.items():
        if tip in ours[ref] or (tip, told) not in departed:
            continue
        yield Finding(
            "branch_moved", ref,
            f"{worker.branch} was moved from {told[:12]}, which was told, to {tip[:12]}, which"
            " does not contain it",
            "keeps what it was at under a rescue ref and takes the branch as it is",
            _accept(worker, ref, told=told, tip=tip),
        )  # fmt: skip


def _accept(worker: Worker, ref: Ref, *, told: Oid, tip: Oid) -> Repair:
    def mend(session: Session) -> None:
        owner = worker.worker_id, worker.task
        rescue(session.git, worker=owner[0], task=owner[1], tip=told, worktree=None)
        with session.store.write() as writer:
            record_tip(writer, ref, tip)

    return mend


def check_rescues(picture: Picture) -> Iterator[Finding]:
    """Find rescue refs that lead nowhere, and those that an act made and that are gone."""
    for ref, oid in picture.refs.items():
        if ref.startswith(RESCUES) and oid in picture.missing:
            yield Finding(
                "rescue_broken", ref, f"{ref} points at {oid[:12]}, which is not in the repository",
                "takes the ref away and notes what it pointed at; git can repack again",
                _drop(ref, oid),
            )  # fmt: skip
    told: set[str] = set()
    for act in picture.acts:
        named, rescued = rescue_of(act.data)
        known = named in picture.refs or named in picture.expired or named in told
        if not act.is_over or named is None or known:
            continue
        told.add(named)
        kept = rescued or ""
        there = picture.session.git.find_oid(kept) if is_oid(kept) else None
        what = f"{named}, which {act.kind} {act.id} of {act.worker} made, is gone"
        if there is None:
            yield Finding("rescue_gone", named, what, "git fsck --lost-found")
        else:
            yield Finding(
                "rescue_gone", named, what, f"makes it again at {there[:12]}", _make(named, there)
            )


def check_anchors(picture: Picture) -> Iterator[Finding]:
    """Find what was kept for a landing that neither is under way nor has its branch."""
    wanted = {anchor_of(act.worker, act.task) for act in picture.acts if act.is_open}
    for ref, oid in picture.refs.items():
        branch = Ref(BRANCHES + ref.removeprefix(ANCHORS))
        if ref.startswith(ANCHORS) and ref not in wanted and branch not in picture.refs:
            yield Finding(
                "anchor_left", ref, f"{ref} is left of a landing that is over",
                "keeps what nothing else leads to under a rescue ref and takes it away",
                _drop_anchor(ref, oid, is_there=oid not in picture.missing),
            )  # fmt: skip


def _drop_anchor(ref: Ref, oid: Oid, *, is_there: bool) -> Repair:
    def mend(session: Session) -> None:
        if is_there:
            worker, task = task_of(ref)
            rescue(session.git, worker=worker, task=task, tip=oid, worktree=None)
        delete_branch(session.git, ref, oid)

    return mend


def _drop(ref: Ref, oid: Oid) -> Repair:
    def mend(session: Session) -> None:
        data = FsckData({ref: oid})
        now = clock.now_ms()
        with session.store.write() as writer:
            number = begin_operation(
                writer, "fsck", worker=HQ, task="", actor=session.actor, now=now, data=data
            )
            close_operation(writer, number, status="done", step="noted", data=data, now=now)
        delete_branch(session.git, ref, oid)

    return mend


def _make(ref: Ref, oid: Oid) -> Repair:
    def mend(session: Session) -> None:
        if find_ref(session.git, ref) is None:
            create_ref(session.git, ref, oid, reason="gitworker: fsck")

    return mend
