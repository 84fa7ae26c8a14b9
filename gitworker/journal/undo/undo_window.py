"""A landed window as a whole: the move of the target, why it cannot be undone, a whole branch."""

from typing import NamedTuple

from gitworker.claims.leases import find_claim
from gitworker.errors import GitWorkerError, Refused
from gitworker.journal.undo.rules_undo import (
    LandedWindow,
    landing_refusal,
    return_refusal,
    worker_refusal,
)
from gitworker.model.ids import Branch, Oid, Ref
from gitworker.model.ref_names import BRANCHES, REMOTES, ref_of, short_name
from gitworker.repo.plumbing.refs import create_ref, find_ref
from gitworker.session import Session
from gitworker.store.api import Reader, Writer
from gitworker.store.operations import LAND, Operation, landings_of_window
from gitworker.store.payloads.payload import MergeData
from gitworker.store.planning.workstreams import (
    members_of,
    set_workstream_archived,
    set_workstream_landed,
)
from gitworker.store.stacks import tasks_on
from gitworker.store.tasks import find_task
from gitworker.store.workers import all_workers, load_worker


class UndoWindow(NamedTuple):
    """The landings of one fast-forward in their order; some may have been rolled back since."""

    landings: tuple[Operation, ...]

    @property
    def landed(self) -> tuple[Operation, ...]:
        """Return those of workers that were recorded and not undone."""
        return tuple(
            landing
            for landing in self.landings
            if landing.status == "done" and landing.kind != LAND
        )

    @property
    def workstream(self) -> Operation | None:
        """Return the landing if it is that of a workstream's branch, which lands alone."""
        first = self.landings[0]
        return first if first.kind == LAND else None

    @property
    def ref(self) -> Ref:
        """Return the target's full name."""
        return self.landings[0].payload(MergeData).target_ref

    @property
    def old(self) -> Oid:
        """Return the target's commit before the window."""
        return self.landings[0].payload(MergeData).target_old

    @property
    def new(self) -> Oid:
        """Return the target's commit with the whole window."""
        return self.landings[-1].payload(MergeData).new

    @property
    def name(self) -> str:
        """Return the target's short name."""
        return short_name(self.ref)


def read_window(reader: Reader, landing: Operation) -> UndoWindow:
    """Return the window that a landing belongs to."""
    return UndoWindow(tuple(landings_of_window(reader, landing)))


def window_refusal(session: Session, window: UndoWindow) -> GitWorkerError | None:
    """Return why a landing cannot be undone now, or None; the cheap checks come first."""
    tip = find_ref(session.git, window.ref)
    pushed = next(filter(None, map(_remote_of, window.landings)), None)
    refusal = landing_refusal(LandedWindow(window.name, window.old, window.new, tip, pushed))
    if refusal is None:
        with session.store.read() as reader:
            refusal = next(
                filter(None, (reassign_refusal(reader, landing) for landing in window.landed)), None
            )
    if refusal is not None or window.old == window.new:
        return refusal
    remote, builders = _find_users(session, window)
    return landing_refusal(
        LandedWindow(window.name, window.old, window.new, tip, remote, builders=builders)
    )


def _remote_of(landing: Operation) -> str | None:
    """Return the remote that a landing was pushed to."""
    data = landing.payload(MergeData)
    return (data.remote or "a remote") if data.pushed else None


def reassign_refusal(reader: Reader, landing: Operation) -> GitWorkerError | None:
    """Return why a landed worker cannot have its task back."""
    worker = load_worker(reader, landing.worker_id)
    task = find_task(reader, landing.task_id)
    refusal = worker_refusal(
        worker.worker_id,
        worker.state,
        same_task=worker.task_id == landing.task_id,
        has_task=worker.task_id is not None,
    )
    if refusal is not None or task is None:
        return refusal
    claim = find_claim(reader, task.id)
    holder = task.assigned_agent_id or (claim.holder if claim and claim.is_valid else None)
    return return_refusal(
        task.id, task.status, holder=None if holder == worker.worker_id else holder
    )


def _find_users(session: Session, window: UndoWindow) -> tuple[str | None, tuple[str, ...]]:
    """Return a remote's branch that has some of the window, and the workers that build on it."""
    first = session.git.text("rev-list", "--reverse", f"{window.old}..{window.new}", "--")
    begun = first.partition("\n")[0]
    if not begun:
        return None, ()
    found = session.git.text(
        "for-each-ref", f"--contains={begun}", "--format=%(refname)", REMOTES, BRANCHES
    ).splitlines()
    with session.store.read() as reader:
        ours = {(landing.worker_id, landing.task_id) for landing in window.landings}
        for landing in window.landings:
            ours |= tasks_on(reader, landing.worker_id, landing.task_id)
        workers = [worker for worker in all_workers(reader) if worker.branch]
        if window.workstream is not None:  # kept worktrees of its tasks
            members = {one.id for one in members_of(reader, window.workstream.task_id)}
            ours |= {(one.worker_id, one.task) for one in workers if one.task in members}
    own = {landing.payload(MergeData).ref for landing in window.landings}
    builders = []
    for worker in workers:
        ref = worker.ref
        if (worker.worker_id, worker.task_id) in ours:
            own.add(ref)
        elif ref in found:
            builders.append(worker.worker_id)
    remotes = [ref for ref in found if ref.startswith(REMOTES)]  # branches in review are no landing
    pushed = [ref for ref in remotes if ref_of(Branch(ref.split("/", 3)[-1])) not in own]
    return pushed[0].removeprefix(REMOTES) if pushed else None, tuple(builders)


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
