"""Delete the branches of landed work from the remote, by which they went to other machines.

A background job of the machine that landed them runs this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.branches.remote import open_remote
from gitworker.lifecycle.rules import FREE
from gitworker.model.ids import Ref
from gitworker.model.ref_names import REMOTES, tracking_ref
from gitworker.repo.plumbing.refs import read_refs
from gitworker.repo.remote.push import delete_branches
from gitworker.store.operations import all_operations
from gitworker.store.payloads.payload import MergeData
from gitworker.store.workers import all_workers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.session import Session


def delete_landed(session: Session, refs: Sequence[str]) -> None:
    """Delete branches from the remote whose commits, as last seen there, have all landed there.

    Another commit there stays, since the deletion is a compare-and-set. Branches that an earlier
    job was killed before it deleted, or that the remote kept, are tried again.
    """
    remote = open_remote(session)
    if remote is None:
        return
    known = read_refs(remote.git, [f"{REMOTES}{remote.name}/"])
    found = {
        Ref(ref): known.get(tracking_ref(remote.name, ref)) for ref in {*refs, *_left(session)}
    }
    tips = {ref: tip for ref, tip in found.items() if tip and remote.has_patches_of(tip)}
    if tips:
        limit_s = session.settings.merge_remote_timeout_s
        delete_branches(remote.git, remote=remote.name, tips=tips, limit_s=limit_s)


def _left(session: Session) -> set[Ref]:
    """Return the branches that landings of this machine have pushed, and no worker has now."""
    with session.store.read() as reader:
        taken = {worker.ref for worker in all_workers(reader) if worker.state not in FREE}
        ended = [one for one in all_operations(reader) if one.kind == "merge"]
    landings = [one.payload(MergeData) for one in ended if one.status == "done"]
    return {one.ref for one in landings if one.pushed and not one.keep} - taken
