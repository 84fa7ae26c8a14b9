"""done --push: push a worker's branch to a remote as it is now, rebased or not.

A rebased branch replaces the commit that we pushed before, by a lease on exactly that commit.
Commits that another clone pushed there are never replaced.
"""

from typing import NamedTuple

from gitworker import clock
from gitworker.branches.remote import known_remotes, require_remote
from gitworker.branches.rules_remote import is_relative
from gitworker.errors import Conflict, NotFound, Refused
from gitworker.model.ids import Branch, Oid
from gitworker.model.ref_names import ref_of
from gitworker.repo.plumbing.refs import find_tip
from gitworker.repo.remote.push import push_commit
from gitworker.repo.worktrees.ownership import find_flaw, owner_of
from gitworker.session import Session
from gitworker.store.pushes import begin_push, end_push, published_tips
from gitworker.store.workers import Worker


class PublishedBranch(NamedTuple):
    """A published branch: the remote, its name there and the commit."""

    remote: str
    branch: str
    commit: Oid


def choose_remote(session: Session, worker: Worker, name: str | None = None) -> str:
    """Return the remote to publish to; raise Refused without a remote or with several to choose.

    The choice, in order: `name`, the remote for landings, the branch's own remote, the only remote.
    """
    remotes = known_remotes(session)
    own = session.git_config.get(f"branch.{worker.branch}.remote")
    only = next(iter(remotes)) if len(remotes) == 1 else None
    chosen = name or session.settings.merge_remote or own or only
    if chosen is None or chosen == ".":
        if not remotes:
            raise Refused(
                "git knows no remote to push to", "git remote add origin <url>", code="no_remote"
            )
        raise Refused(
            f"which remote should be used? git knows {', '.join(sorted(remotes))}",
            f"git worker done {worker.worker_id} --push --remote {min(remotes)}",
            code="no_remote",
        )
    require_remote(session, chosen)
    return chosen


def publish_branch(session: Session, worker: Worker, remote: str) -> PublishedBranch:
    """Push a worker's branch to a remote under its own name.

    Raises Conflict if the remote's branch has commits that we did not push, TransferFailed if the
    push is not possible.
    """
    branch = Branch(worker.branch or "")
    ref = ref_of(branch)
    tip = find_tip(session.git, session.repository.common_dir, ref)
    if tip is None:
        raise NotFound(f"branch {branch} does not exist", "git reflog")
    with session.store.write_own() as writer:
        own_tips = published_tips(writer, remote, branch)
        begin_push(writer, remote, branch, oid=tip, now=clock.now_ms())
    git = session.git.at(_find_top(session, worker, remote))
    for expect in (*own_tips, None):
        if push_commit(
            git,
            remote=remote,
            ref=ref,
            new=tip,
            expect=expect,
            report=session.transfer_report,
            limit_s=session.settings.merge_remote_timeout_s,
        ):
            with session.store.write_own() as writer:
                end_push(writer, remote, branch, oid=tip, now=clock.now_ms())
            return PublishedBranch(remote, branch, tip)
    raise Conflict(
        f"branch {branch} on {remote} has commits from elsewhere; nothing there was replaced",
        f"git fetch {remote} {branch} && git log {branch}..FETCH_HEAD",
        code="remote_has_others",
    )


def _find_top(session: Session, worker: Worker, remote: str) -> str:
    """Return the directory for git: the verified worktree, whose files a pre-push hook may test.

    A relative address is relative to the main worktree, in which the user added it.
    """
    owner = owner_of(session.repository.common_dir, worker)
    if owner is None or find_flaw(owner) or is_relative(known_remotes(session)[remote]):
        return session.main_top
    return owner.place
