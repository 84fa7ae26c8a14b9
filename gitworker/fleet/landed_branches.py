"""Delete the branches of landed work from the remote, by which they went to other machines.

A background job of the machine that landed them runs this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.branches.remote import open_remote
from gitworker.model.ids import Ref
from gitworker.model.ref_names import tracking_ref
from gitworker.repo.plumbing.refs import find_ref
from gitworker.repo.remote.push import delete_branches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.session import Session


def delete_landed(session: Session, refs: Sequence[str]) -> None:
    """Delete branches from the remote whose commits, as last seen there, have all landed there.

    Another commit there stays, since the deletion is a compare-and-set.
    """
    remote = open_remote(session)
    if remote is None:
        return
    tips = {
        Ref(ref): tip
        for ref in refs
        if (tip := find_ref(remote.git, tracking_ref(remote.name, Ref(ref)))) is not None
        and remote.has_patches_of(tip)
    }
    if tips:
        limit_s = session.settings.merge_remote_timeout_s
        delete_branches(remote.git, remote=remote.name, tips=tips, limit_s=limit_s)
