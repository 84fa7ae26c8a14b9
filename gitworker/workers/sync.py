"""sync: from the worktree, rebase my branch onto the target now, by a real git rebase."""

import os
from dataclasses import dataclass

from gitworker.bus.drain import drain, record_rewrite
from gitworker.errors import Conflict, NotFound, Refused
from gitworker.model.ids import Branch, Oid, Ref, ref_of
from gitworker.repo.checks import open_operation
from gitworker.repo.refs import find_head_ref, read_refs
from gitworker.session import Session, missing_target
from gitworker.store.heartbeats import touch
from gitworker.store.workers import Worker
from gitworker.workers.find import require_worker


@dataclass(frozen=True, slots=True)
class Synced:
    """Where the branch was and is, and the target it stands on now."""

    worker: Worker
    old: Oid
    new: Oid
    target: Oid


def sync(session: Session, mode: str = "start", *, attached: bool = True) -> Synced:
    """Rebase the worker's branch onto the target; `mode` is start, continue or abort.

    git's own output goes to standard error where `attached`. Raises Conflict with the files when
    the rebase stops, Refused outside a worker's worktree or where git refuses to begin.
    """
    with session.store.read() as reader:
        worker = require_worker(reader, None, session)
    if worker.worktree is None or not os.path.isdir(worker.worktree):
        raise Refused(
            f"worker {worker.worker_id} has no worktree", f"git worker show {worker.worker_id}"
        )
    drain(session)
    ref = ref_of(Branch(worker.branch or ""))
    old, target = _tips(session, worker, ref)
    if mode == "start" and find_head_ref(session.git.at(worker.worktree)) != ref:
        raise Refused(
            f"{worker.worktree} is not on {worker.branch}",
            f"git -C {worker.worktree} switch {worker.branch}   (or: git worker sync --abort)",
            code="wrong_branch",
        )
    _rebase(session, worker, mode, target, attached=attached)
    new, _ = _tips(session, worker, ref)
    with session.store.write() as writer:
        if new != old:
            record_rewrite(writer, ref, old=old, new=new)
        touch(writer, worker.worker_id, task=worker.task_id)
    drain(session)
    return Synced(worker, old, new, target)


def _tips(session: Session, worker: Worker, ref: Ref) -> tuple[Oid, Oid]:
    """Return where the worker's branch and the target are; raise where one of them is gone."""
    refs = read_refs(session.git, [session.target, ref])
    if session.target not in refs:
        raise missing_target(session)
    if ref not in refs:
        raise NotFound(f"the branch {worker.branch} is gone", "git reflog")
    return refs[ref], refs[session.target]


def _rebase(session: Session, worker: Worker, mode: str, target: Oid, *, attached: bool) -> None:
    """Run git rebase in the worktree; git itself keeps what it replaces in the reflog."""
    top = worker.worktree or ""
    arguments = {
        "start": ["--no-autostash", "--no-update-refs", "--no-autosquash", target],
        "continue": ["--continue"],
        "abort": ["--abort"],
    }[mode]
    git = session.git.at(top)
    environment = {"GIT_EDITOR": ":"} if mode == "continue" else {}
    done = git.run("rebase", *arguments, env=environment, ok=range(256))
    if done.status == 0:
        return
    if open_operation(worker.admin_dir or "") is None:
        raise Refused(
            "git did not begin the rebase", "git status", detail=done.complaint or done.text
        )
    paths = git.run("diff", "--name-only", "--diff-filter=U", "-z").text.split("\0")
    files = [path for path in paths if path]
    raise Conflict(
        f"the rebase of {worker.branch} stopped with {len(files)} file(s) in conflict",
        "edit them, git add them, then: git worker sync --continue   (or: --abort)",
        code="rebase_conflict",
        detail="\n".join(f"  {name}" for name in files),
    )
