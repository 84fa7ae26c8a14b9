"""The commits on the branch of a worker in review that were not handed in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.model.ref_names import short_name
from gitworker.observe.text import count_text
from gitworker.observe.workers.rules import is_handed_in
from gitworker.repo.plumbing.refs import read_refs
from gitworker.repo.worktrees.trouble import Trouble
from gitworker.store.records.reviews import seen_commits

if TYPE_CHECKING:
    from gitworker.model.ids import Oid, Ref
    from gitworker.session import Session
    from gitworker.store.workers import Worker


def read_unsubmitted(session: Session, worker: Worker) -> Trouble | None:
    """Return that the branch of a worker in review has later commits, or None."""
    if worker.branch is None or not is_handed_in(worker.state, stale_from=worker.stale_from):
        return None
    with session.store.read() as reader:
        seen = seen_commits(reader, worker.worker_id, worker.task_id)
    tip = read_refs(session.git, [worker.ref]).get(worker.ref)
    return find_unsubmitted(session, worker.worker_id, worker.ref, tip=tip, seen=seen)


def find_unsubmitted(
    session: Session, worker: str, ref: Ref, *, tip: Oid | None, seen: tuple[Oid, ...]
) -> Trouble | None:
    """Return that a branch has commits with other patches than the newest of the `seen` ones.

    `seen` were handed in or approved. Starts git only if the branch has moved since.
    """
    if tip is None or not seen or tip in seen:
        return None
    done = session.git.run(
        "rev-list", "--count", "--no-merges", "--cherry-pick", "--right-only",
        f"{seen[0]}...{tip}", f"^{session.target}", "--", ok=(0, 128),
    )  # fmt: skip
    number = int(done.text.strip() or 0) if done.status == 0 else 0
    if number == 0:
        return None
    verb = "is" if number == 1 else "are"
    words = f"{count_text(number, 'commit')} of {short_name(ref)} {verb} not handed in"
    return Trouble("not_handed_in", words, f"git worker done {worker}")
