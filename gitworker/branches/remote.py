"""Landing on a remote: fetch the target, push to it by compare-and-set, then follow it locally.

The loop: `fetch`, `follow_remote`, prepare on the target, verify, `push`; after MOVED wait
`push_delay_s` and begin again. After a push without an answer `fetch` and `contains` decide.
"""

from contextlib import suppress
from enum import Enum

from gitworker.errors import Conflict, GitWorkerError, Internal, Refused
from gitworker.model.ids import Oid, Ref
from gitworker.model.ref_names import short_name, tracking_ref
from gitworker.repo.checkout.fastforward import fast_forward
from gitworker.repo.history.patch_ids import has_all_patches
from gitworker.repo.plumbing.refs import find_ref, find_tip, is_ancestor
from gitworker.repo.plumbing.repository_lock import descriptor_of
from gitworker.repo.remote.fetch import fetch_branch
from gitworker.repo.remote.push import push_commit
from gitworker.repo.remote.rules_transfer import TransferFailed
from gitworker.repo.worktrees.worktree_list import find_checkout
from gitworker.rules_text import count_text
from gitworker.session import Session, missing_target

# Errors that prove that the remote did not take the commit.
NOT_TAKEN_CODES = {
    "remote_protected", "remote_hook_declined", "remote_authentication", "remote_permission",
    "remote_not_found", "pre_push_declined",
}  # fmt: skip
CHECK_LIMIT_S = 60.0


class PushResult(Enum):
    """The result of a push: the remote has it, or another push was faster."""

    LANDED = "landed"
    MOVED = "moved"


class Remote:
    """The target's branch on the configured remote."""

    def __init__(self, session: Session, name: str) -> None:
        self.session = session
        self.name = name
        self.git = session.git.at(session.main_top)  # a relative address starts there
        self.ref = session.target

    @property
    def branch(self) -> str:
        """Return the branch's short name."""
        return short_name(self.ref)

    @property
    def tracking(self) -> Ref:
        """Return the ref that holds the last known tip of the remote's branch."""
        return tracking_ref(self.name, self.ref)

    def fetch(self) -> Oid:
        """Fetch only the target's branch and return its tip.

        Raises TransferFailed if the remote cannot be read, NotFound if it has no such branch.
        """
        return fetch_branch(
            self.git,
            remote=self.name,
            branch=self.branch,
            report=self.session.transfer_report,
            limit_s=self.session.settings.merge_remote_timeout_s,
        )

    def push(self, new: Oid, *, expect: Oid) -> PushResult:
        """Move the remote's branch from `expect` to its descendant `new`, or not at all.

        If the answer is lost, a fetch decides. Raises TransferFailed if the remote, a hook or the
        connection does not allow it.
        """
        if not is_ancestor(self.git, expect, new):
            raise Internal(f"{new[:12]} does not descend from {expect[:12]}; it is not pushed")
        try:
            pushed = push_commit(
                self.git,
                remote=self.name,
                ref=self.ref,
                new=new,
                expect=expect,
                report=self.session.transfer_report,
                limit_s=self.session.settings.merge_remote_timeout_s,
            )
        except TransferFailed as failure:
            if failure.code in NOT_TAKEN_CODES:
                raise
            return self._look(new, expect, failure)
        return PushResult.LANDED if pushed else PushResult.MOVED

    def contains(self, oid: Oid) -> bool:
        """Return True if the remote's branch, as last seen, contains a commit."""
        tip = find_ref(self.git, self.tracking)
        return tip is not None and is_ancestor(self.git, oid, tip)

    def has_patches_of(self, oid: Oid) -> bool:
        """Return whether the remote's branch, as last seen, has the patch of each commit below."""
        tip = find_ref(self.git, self.tracking)
        return tip is not None and has_all_patches(self.git, tip, of=oid)

    def _look(self, new: Oid, expect: Oid, failure: TransferFailed) -> PushResult:
        """Return the result of a push that failed on the way; raise its error if still unknown."""
        tip = None
        with suppress(GitWorkerError):
            tip = fetch_branch(
                self.git, remote=self.name, branch=self.branch, limit_s=CHECK_LIMIT_S
            )
        if tip is None or tip == expect:
            raise failure
        return PushResult.LANDED if self.contains(new) else PushResult.MOVED


def open_remote(session: Session) -> Remote | None:
    """Return the remote for landings, None if the target is only local.

    Raises Refused if the setting names a remote that git does not know.
    """
    name = session.settings.merge_remote
    if not name:
        return None
    require_remote(session, name)
    return Remote(session, name)


def find_newest(session: Session, ref: Ref, tip: Oid) -> Oid:
    """Return the tip of the remote's branch, as last seen, if it is ahead of the local `tip`.

    A machine of a fleet follows what others have landed, but not over changes in its checkout.
    """
    remote = session.settings.merge_remote
    if session.store.fleet_machine is None or not remote:
        return tip
    seen = find_ref(session.git, tracking_ref(remote, ref))
    return seen if seen is not None and is_ancestor(session.git, tip, seen) else tip


def require_remote(session: Session, name: str) -> None:
    """Raise Refused if git knows no remote of that name."""
    if known_remotes(session).get(name) is None:
        listed = ", ".join(sorted(known_remotes(session))) or "none"
        raise Refused(
            f"remote {name!r} does not exist (git knows: {listed})",
            f"git remote add {name} <url>   # or: git config worker.merge.remote <name>",
            code="no_remote",
        )


def known_remotes(session: Session) -> dict[str, str]:
    """Return the address of each remote in git's configuration."""
    return {
        key.removeprefix("remote.").removesuffix(".url"): value
        for key, value in session.git_config.items()
        if key.startswith("remote.") and key.endswith(".url")
    }


def follow_remote(session: Session, tip: Oid) -> None:
    """Move the local target and its checkout forward to the remote's tip.

    The caller holds the landing lock. Does nothing if another command has fetched a later tip and
    followed that meanwhile; a push that expects `tip` comes too late then. Raises Refused, before
    any change, if the local target has commits that the remote lacks, or if its checkout blocks the
    move.
    """
    local = find_tip(session.git, session.repository.common_dir, session.target)
    if local is None:
        raise missing_target(session)
    if local == tip:
        return
    name = session.settings.merge_remote
    if not is_ancestor(session.git, local, tip):
        seen = find_ref(session.git, tracking_ref(name, session.target))
        if seen is not None and all(is_ancestor(session.git, one, seen) for one in (local, tip)):
            return
        raise _ahead(session, local, tip)
    fast_forward(
        session.git,
        ref=session.target,
        old=local,
        new=tip,
        worktree=find_checkout(session.git, session.target),
        reason=f"git worker merge: follow {name}",
        lock_fd=descriptor_of(session.landing_lock),
    )


def _ahead(session: Session, local: Oid, tip: Oid) -> GitWorkerError:
    """Return the error for commits of the local target that the remote lacks."""
    name, remote = session.target_name, session.settings.merge_remote
    count = int(session.git.text("rev-list", "--count", f"{tip}..{local}", "--"))
    text = f"{name} has {count_text(count, 'commit')} that {remote} has not"
    if is_ancestor(session.git, tip, local):
        return Refused(text, f"git push {remote} {name}", code="target_ahead")
    return Conflict(
        f"{text}, and {remote} has others",
        f"git rebase {remote}/{name} {name}   # or move your commits to a branch of their own",
        code="target_diverged",
    )
