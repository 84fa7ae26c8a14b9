"""The part of an undone landing that concerns a workstream: its branch, and its row."""

from gitworker.errors import Refused
from gitworker.model.ref_names import short_name
from gitworker.repo.plumbing.refs import create_ref, find_ref
from gitworker.session import Session
from gitworker.store.api import Writer
from gitworker.store.operations import Operation
from gitworker.store.payloads.payload import MergeData
from gitworker.store.planning.workstreams import set_workstream_archived, set_workstream_landed


def require_branch(session: Session, landing: Operation) -> None:
    """Raise Refused if the branch has other commits than those that landed, or lost them."""
    data = landing.payload(MergeData)
    name = short_name(data.ref)
    if session.git.find_oid(data.old) is None:
        raise Refused(
            f"the commits of {name} before the landing do not exist ({data.old[:12]})",
            "git worker fsck",
            code="commits_gone",
        )
    if find_ref(session.git, data.ref) not in (None, data.old):
        raise Refused(
            f"the branch {name} has changed since it landed; an undo would abandon that",
            "git worker undo --list",
            code="branch_moved",
        )


def bring_branch_back(session: Session, landing: Operation) -> None:
    """Create the branch again at the commit that it had; safe to repeat."""
    data = landing.payload(MergeData)
    if find_ref(session.git, data.ref) is None:
        create_ref(session.git, data.ref, data.old, reason="gitworker: undo")


def reopen_workstream(writer: Writer, landing: Operation) -> None:
    """Record that the branch has not landed; the workstream is shown again until it has."""
    set_workstream_landed(writer, landing.task_id, None)
    set_workstream_archived(writer, landing.task_id, now=None)
