"""Push the commits of this machine's workers as they are made, if `fleet.push_commits` is set.

The drain, which a commit's hook starts, starts this as a background job. A failure is recorded for
`fleet status` and `doctor`, and tried again at the next commit.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from gitworker.branches.publish_branch import choose_remote, publish_branch
from gitworker.errors import Conflict, GitWorkerError
from gitworker.lifecycle.rules import is_landed
from gitworker.processes.jobs import start_job
from gitworker.repo.plumbing.refs import read_branches
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.store.fleet.machines import set_push_failure
from gitworker.store.pushes import published_tips
from gitworker.store.workers import Worker, all_workers

if TYPE_CHECKING:
    from gitworker.session import Session


def start_push_job(session: Session) -> None:
    """Start the job if a branch has commits that this machine has not pushed."""
    if find_unpushed(session):
        start_job("push-commits", session.repository.common_dir)


def push_commits(session: Session) -> None:
    """Push what is not pushed, until nothing is left but what cannot be; one job does it at a time.

    A branch on the remote that has commits from elsewhere stays as it is.
    """
    failed: dict[str, str] = {}
    with suppress(Conflict), hold(f"{session.paths.locks}/push", name="push", timeout_s=0):
        while waiting := [one for one in find_unpushed(session) if one.worker_id not in failed]:
            for worker in waiting:
                try:
                    publish_branch(session, worker, choose_remote(session, worker))
                except GitWorkerError as error:
                    failed[worker.worker_id] = error.message
        set_push_failure(session.store, next(iter(failed.values()), ""))


def _remote_of(session: Session, worker: Worker) -> str:
    """Return the remote that a worker's branch goes to; empty without one."""
    with suppress(GitWorkerError):
        return choose_remote(session, worker)
    return ""


def find_unpushed(session: Session) -> list[Worker]:
    """Return the workers of this machine whose branches have commits that it has not pushed."""
    with session.store.read() as reader:
        found = [
            (one, published_tips(reader, _remote_of(session, one), one.branch)[:1])
            for one in all_workers(reader)
            if one.branch and one.elsewhere is None and not is_landed(one.state)
        ]
    tips = read_branches(
        session.git,
        session.repository.common_dir,
        [one.ref for one, _ in found],
        git_config=session.git_config,
    )
    return [
        one
        for one, pushed in found
        if (tip := tips.get(one.ref)) not in (None, one.base_oid) and pushed != [tip]
    ]
