"""Undo a gc: make the refs that it deleted again, while their commits exist."""

from collections.abc import Sequence

from gitworker.errors import Refused
from gitworker.journal.undo.undoable import Undoable, close
from gitworker.model.ids import Oid, Ref
from gitworker.model.ref_names import task_of
from gitworker.repo.history.reachable import find_missing
from gitworker.repo.plumbing.git import GitFailed
from gitworker.repo.plumbing.refs import read_refs, require_refs
from gitworker.repo.rescue.rescue_refs import rescue
from gitworker.session import Session
from gitworker.store.api import Reader
from gitworker.store.operations import Operation
from gitworker.store.payloads.payload import GcData
from gitworker.store.workers import Worker


def _expired_refs(done: Operation) -> dict[Ref, Oid]:
    """Return the rescue refs and rounds that a gc deleted, with their commits."""
    return {Ref(ref): Oid(oid) for ref, oid in done.payload(GcData).refs.items()}


def _require_commits(session: Session, done: Operation) -> None:
    """Raise Refused if a gc deleted no ref, or git has deleted some of the commits since."""
    refs = _expired_refs(done)
    if not refs:
        raise Refused(
            f"gc {done.id} deleted no ref; deleted files cannot be restored",
            "git worker undo --list",
            code="nothing_kept",
        )
    missing = find_missing(session.git, list(refs.values()))
    if missing:
        raise Refused(
            f"git has deleted {len(missing)} of the {len(refs)} commits that gc {done.id} released",
            "git fsck --lost-found",
            code="commits_gone",
            detail="\n".join(f"{ref} {oid}" for ref, oid in refs.items() if oid in missing),
        )


def _carry_out(session: Session, operation: Operation, done: Operation) -> None:
    """Make the refs again, under a new number if another rescue has the old one."""
    refs = _expired_refs(done)
    present = read_refs(session.git, list(refs))
    for ref in present:
        if present[ref] != refs[ref]:
            worker, task = task_of(ref)
            rescue(session.git, worker=worker, task=task, tip=refs[ref], worktree=None)
    orders = [f"create {ref} {oid}" for ref, oid in refs.items() if ref not in present]
    try:
        if orders:
            require_refs(session.git, orders, reason="gitworker: undo of gc")
    except GitFailed as failure:
        with session.store.write() as writer:
            close(writer, operation, "rolled_back")
        if failure.code != GitFailed.code:  # a lock, a full disk, rights
            raise
        raise Refused(
            f"git could not make the refs of gc {done.id} again",
            "git fsck",
            code="commits_gone",
            detail=failure.detail,
        ) from failure
    with session.store.write() as writer:
        close(writer, done, "undone")
        close(writer, operation, "done")


def _needs_number(_: Reader, done: Operation) -> bool:
    """Return whether a gc ran by itself or deleted no ref.

    Otherwise `undo` could revert an automatic gc instead of the user's last command.
    """
    data = done.payload(GcData)
    return not data.refs or data.by_itself


def _describe(undone: Sequence[Operation], _: Sequence[Worker]) -> str:
    number = len(undone[0].payload(GcData).refs)
    return f"{number} refs are back; deleted files are not"


COLLECTION = Undoable(_require_commits, _carry_out, _describe, needs_number=_needs_number)
