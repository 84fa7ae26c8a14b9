"""Refs agree with rows and journal: branches, rescue refs, the anchors of landings."""

from collections.abc import Iterator
from functools import partial

from gitworker import clock
from gitworker.bus.drain import record_tip
from gitworker.fsck.checks.reflogs import named_commits
from gitworker.fsck.finding import Finding
from gitworker.fsck.picture import Picture
from gitworker.fsck.rules_records import holds_task
from gitworker.model.ids import HQ, Oid, Ref, is_oid
from gitworker.model.ref_names import ANCHORS, BRANCHES, RESCUES, ROUNDS, anchor_of, task_of
from gitworker.observe.next_step.trouble import read_trouble
from gitworker.repo.history.reachable import find_departed, find_missing
from gitworker.repo.plumbing.refs import create_ref, delete_branch, find_ref
from gitworker.repo.rescue.rescue_refs import rescue
from gitworker.repo.worktrees.trouble import RENAMED
from gitworker.repo.worktrees.worktree_list import last_head
from gitworker.session import Session
from gitworker.store.operations import begin_operation, close_operation
from gitworker.store.payloads.payload import FsckData, rescue_of
from gitworker.store.records.tips import rewrites_of
from gitworker.store.workers import Worker


def check_branches(picture: Picture) -> Iterator[Finding]:
    """Find workers' branches that are missing, broken, or have lost their published commit.

    A commit that a reflog names was removed by its author: by amend, reset or rebase.
    """
    moved: dict[Ref, tuple[Worker, Oid, Oid]] = {}
    for worker in picture.settled:
        ref = picture.branch(worker)
        if ref is None or not holds_task(worker.state):
            continue
        tip, published = picture.refs.get(ref), picture.tips.get(ref)
        if tip is None:
            yield _missing(picture, worker, ref)
        elif tip in picture.missing:
            yield Finding(
                "branch_broken", ref, f"{ref} points at commit {tip[:12]}, which does not exist",
                f"git update-ref {ref} <commit>   # git reflog show {worker.branch}",
            )  # fmt: skip
        elif published not in (None, tip) and published not in named_commits(picture, worker):
            moved[ref] = (worker, tip, published)
    yield from _moved_away(picture, moved)


def _missing(picture: Picture, worker: Worker, ref: Ref) -> Finding:
    trouble = read_trouble(picture.session, worker)
    if trouble is not None and trouble.code == RENAMED:
        return Finding("branch_gone", ref, trouble.words, trouble.command)
    message = f"branch {worker.branch} of {worker.worker_id} does not exist"
    last = _last_tip(picture, worker, ref)
    if last is None:
        return Finding("branch_gone", ref, message, f"git worker cancel {worker.worker_id}")
    hint = f"creates it again at {last[:12]}"
    return Finding("branch_gone", ref, message, hint, partial(_create, ref=ref, oid=last))


def _last_tip(picture: Picture, worker: Worker, ref: Ref) -> Oid | None:
    """Return the last position of a branch, from its worktree, else the published one."""
    git = picture.session.git
    tree = picture.worktrees.get(worker.worktree or "")
    if tree is not None and tree.branch == ref and not tree.prunable:
        found = last_head(git.at(tree.path), tree.admin_dir)
        if found is not None:
            return found
    published = picture.tips.get(ref)
    return None if published is None else git.find_oid(published)


def _moved_away(picture: Picture, moved: dict[Ref, tuple[Worker, Oid, Oid]]) -> Iterator[Finding]:
    """Find branches that lost their published commit, except by an operation of gitworker."""
    git = picture.session.git
    with picture.session.store.read() as reader:
        ours = {ref: {new for _, new in rewrites_of(reader, ref)} for ref in moved}
    missing = find_missing(git, {published for _, _, published in moved.values()})
    pairs = {(tip, published) for _, tip, published in moved.values() if published not in missing}
    departed = find_departed(git, pairs)
    for ref, (worker, tip, published) in moved.items():
        if tip in ours[ref] or (tip, published) not in departed:
            continue
        yield Finding(
            "branch_moved", ref,
            f"{worker.branch} was moved from the published commit {published[:12]} to {tip[:12]},"
            " which does not contain it",
            f"keeps {published[:12]} under a rescue ref and accepts {tip[:12]}",
            partial(_accept, worker=worker, ref=ref, published=published, tip=tip),
        )  # fmt: skip


def _accept(session: Session, *, worker: Worker, ref: Ref, published: Oid, tip: Oid) -> None:
    owner, task = worker.worker_id, worker.task
    rescue(session.git, worker=owner, task=task, tip=published, worktree=None)
    with session.store.write() as writer:
        record_tip(writer, ref, tip)


def check_rescues(picture: Picture) -> Iterator[Finding]:
    """Find rescues and rounds of missing commits, and recorded rescue refs that do not exist."""
    for ref, oid in picture.refs.items():
        if ref.startswith((RESCUES, ROUNDS)) and oid in picture.missing:
            code = "rescue_broken" if ref.startswith(RESCUES) else "round_broken"
            yield Finding(
                code, ref, f"{ref} points at commit {oid[:12]}, which does not exist",
                "deletes the ref and records its commit, so that git can repack again",
                partial(_drop, ref=ref, oid=oid),
            )  # fmt: skip
    reported: set[str] = set()
    for one in picture.operations:
        name, rescued = rescue_of(one.data)
        known = name in picture.refs or name in picture.expired or name in reported
        if not one.is_over or name is None or known:
            continue
        reported.add(name)
        kept = picture.session.git.find_oid(rescued) if rescued and is_oid(rescued) else None
        message = f"{name}, the rescue ref of {one.kind} {one.id} of {one.worker}, does not exist"
        if kept is None:
            yield Finding("rescue_gone", name, message, "git fsck --lost-found")
        else:
            hint = f"creates it again at {kept[:12]}"
            yield Finding("rescue_gone", name, message, hint, partial(_create, ref=name, oid=kept))


def check_anchors(picture: Picture) -> Iterator[Finding]:
    """Find anchors of a landing that is not open and whose branch does not exist."""
    wanted = {anchor_of(one.worker, one.task) for one in picture.operations if one.is_open}
    for ref, oid in picture.refs.items():
        branch = Ref(BRANCHES + ref.removeprefix(ANCHORS))
        if ref.startswith(ANCHORS) and ref not in wanted and branch not in picture.refs:
            yield Finding(
                "anchor_left", ref, f"{ref} is left from a landing that has ended",
                "deletes it; a commit that only it keeps gets a rescue ref",
                partial(_drop_anchor, ref=ref, oid=oid, exists=oid not in picture.missing),
            )  # fmt: skip


def _drop_anchor(session: Session, *, ref: Ref, oid: Oid, exists: bool) -> None:
    if exists:
        worker, task = task_of(ref)
        rescue(session.git, worker=worker, task=task, tip=oid, worktree=None)
    delete_branch(session.git, ref, oid)


def _drop(session: Session, *, ref: Ref, oid: Oid) -> None:
    data = FsckData({ref: oid})
    now = clock.now_ms()
    with session.store.write_own() as writer:
        number = begin_operation(
            writer, "fsck", worker=HQ, task="", actor=session.actor, now=now, data=data
        )
        close_operation(writer, number, status="done", step="noted", data=data, now=now)
    delete_branch(session.git, ref, oid)


def _create(session: Session, *, ref: Ref, oid: Oid) -> None:
    if find_ref(session.git, ref) is None:
        create_ref(session.git, ref, oid, reason="gitworker: fsck")
