"""Checks of workers against git and processes: worktrees, branches, the heartbeat daemon."""

import os
from collections.abc import Iterator

from gitworker.fsck.finding import Finding, fail, ok, warn
from gitworker.fsck.rules_records import holds_task
from gitworker.liveness.start_daemon import is_daemon_running
from gitworker.liveness.unserved import served_workers
from gitworker.observe.next_step.later_commits import read_left_branches
from gitworker.observe.next_step.trouble import read_trouble
from gitworker.observe.workers.rules_worker import has_landed
from gitworker.paths import read_worktree_owner
from gitworker.repo.plumbing.index_file import find_index_flaw
from gitworker.repo.plumbing.refs import read_refs
from gitworker.repo.worktrees.ownership import describe, find_flaw, owner_of
from gitworker.repo.worktrees.trouble import Trouble
from gitworker.repo.worktrees.worktree_list import Worktree, list_worktrees
from gitworker.rules_text import quoted
from gitworker.session import Session
from gitworker.store.records.landings import all_landings
from gitworker.store.workers import Worker, all_workers

REPAIR = "git worker fsck --repair   # without --repair it only lists the repairs"
BEATER = "beater"  # the name of the check in doctor's JSON
SHOWN = 5


def check_worktrees(session: Session) -> Iterator[Finding]:
    """Compare the workers' worktrees with git's list and with the directories on disk."""
    workers = _workers(session)
    listed = {os.path.realpath(tree.path): tree for tree in list_worktrees(session.git)}
    owned = {os.path.realpath(w.worktree) for w in workers if w.worktree}
    findings = [
        *(found for worker in workers for found in _of_worker(session, worker, set(listed))),
        *_lost(listed, owned),
        *_orphans(session, listed, owned),
    ]
    yield from findings or [ok("worktrees", f"{len(owned)} in use, all in place")]


def check_branches(session: Session) -> Iterator[Finding]:
    """Check that workers with a task have their branch, and that no work was left on others."""
    here = [w for w in _workers(session) if w.branch and w.elsewhere is None]
    holding = [w for w in here if holds_task(w.state)]
    present = read_refs(session.git, [worker.ref for worker in holding]) if holding else {}
    missing = [worker for worker in holding if worker.ref not in present]
    for worker in missing:
        trouble = read_trouble(session, worker)
        message = f"branch {worker.branch} of {worker.worker_id} does not exist"
        yield fail("branches", message, trouble.command if trouble else REPAIR)
    later = list(_later_commits(session))
    for trouble in later:
        yield warn("branches", trouble.words, trouble.command)
    if not missing and not later:
        yield ok("branches", f"{len(holding)} in use, all in place")


def check_heartbeat_daemon(session: Session) -> Iterator[Finding]:
    """Check that a heartbeat daemon runs for the workers' processes on this machine."""
    alive = served_workers(session)
    if alive and not is_daemon_running(session.paths):
        names = ", ".join(worker.worker_id for worker in alive[:SHOWN])
        pids = ", ".join(str(worker.pid) for worker in alive[:SHOWN])
        processes = f"process ({pids}) is" if len(alive) == 1 else f"processes ({pids}) are"
        yield warn(
            BEATER, f"no heartbeat daemon is running for {names}, whose {processes} alive",
            "git worker recover",
        )  # fmt: skip
    else:
        yield ok(BEATER, "heartbeat daemon is running" if alive else "not needed now")


def _workers(session: Session) -> list[Worker]:
    with session.store.read() as reader:
        return all_workers(reader)


def _later_commits(session: Session) -> Iterator[Trouble]:
    """Yield the branches that got commits after the landing of their task."""
    for worker in _workers(session):
        if has_landed(worker.state) and (trouble := read_trouble(session, worker)):
            yield trouble
    with session.store.read() as reader:
        yield from (left.trouble for left in read_left_branches(reader, session))


def _of_worker(session: Session, worker: Worker, listed: set[str]) -> Iterator[Finding]:
    """Yield the flaws of one worker's worktree."""
    path = worker.worktree
    holds = holds_task(worker.state)
    if path is None:
        if holds and worker.elsewhere is None:
            message = f"{worker.worker_id} holds a task but has no worktree"
            yield fail("worktrees", message, f"git worker cancel {worker.worker_id}")
        return
    trouble = read_trouble(session, worker) if holds else None
    owner = owner_of(session.repository.common_dir, worker)
    flaw = find_flaw(owner) if owner is not None else None
    if trouble is not None and not trouble.code.startswith("branch_"):
        yield fail("worktrees", trouble.words, trouble.command)
    elif owner is not None and flaw is not None:
        found = fail if holds or os.path.isdir(path) else warn
        yield found("worktrees", describe(owner, flaw), REPAIR)
    elif os.path.realpath(path) not in listed:
        yield fail("worktrees", f"git does not list {path} of {worker.worker_id}", REPAIR)
    elif holds and worker.admin_dir is not None:
        broken = find_index_flaw(session.git, path, worker.admin_dir)
        if broken is not None:
            yield fail("worktrees", f"the index of {path} {broken}", REPAIR)


def _lost(listed: dict[str, Worktree], owned: set[str]) -> Iterator[Finding]:
    """Yield our worktrees that git lists, that do not exist and that no worker has."""
    for path, tree in listed.items():
        if not os.path.isdir(path) and path not in owned and read_worktree_owner(tree.admin_dir):
            message = f"git lists {path}, which does not exist and belongs to no worker"
            yield warn("worktrees", message, f"git worktree remove {quoted(path)}")


def _orphans(session: Session, listed: dict[str, Worktree], owned: set[str]) -> Iterator[Finding]:
    """Yield directories beside the worktrees that belong to no worker.

    The worktree of a landed task that was kept (`merge --keep`) is not one of them.
    """
    with session.store.read() as reader:
        landed = {(one.worker_id, one.task_id) for one in all_landings(reader)}
    root = os.path.realpath(session.worktree_root)
    try:
        names = sorted(name for name in os.listdir(root) if not name.startswith("."))
    except OSError:
        return
    for name in names:
        path = f"{root}/{name}"
        if os.path.isdir(path) and not os.path.islink(path) and path not in owned:
            known = path in listed
            if known and read_worktree_owner(listed[path].admin_dir) in landed:
                continue
            hint = f"git worktree remove {quoted(path)}" if known else f"ls -la {quoted(path)}"
            kind = "worktree" if known else "directory"
            yield warn("worktrees", f"{kind} {path} belongs to no worker", hint)
