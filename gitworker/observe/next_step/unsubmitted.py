"""The commits on the branch of a worker in review that were not handed in, or are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.model.ref_names import short_name
from gitworker.observe.workers.rules_worker import is_handed_in
from gitworker.repo.plumbing.refs import read_refs
from gitworker.repo.worktrees.trouble import Trouble
from gitworker.rules_text import count_text, quoted
from gitworker.store.records.reviews import seen_commits
from gitworker.store.stacks import find_stack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.model.ids import Oid, Ref
    from gitworker.session import Session
    from gitworker.store.api import Reader
    from gitworker.store.records.screens import WorkerRow
    from gitworker.store.workers import Worker


def read_unsubmitted(session: Session, worker: Worker) -> Trouble | None:
    """Return that the branch of a worker in review has later commits or lost some, or None."""
    if worker.branch is None or not is_handed_in(worker.state, stale_from=worker.stale_from):
        return None
    tip = read_refs(session.git, [worker.ref]).get(worker.ref)
    with session.store.read() as reader:
        return find_unsubmitted(session, reader, worker, worker.ref, tip=tip)


def find_unsubmitted(
    session: Session, reader: Reader, worker: Worker | WorkerRow, ref: Ref, *, tip: Oid | None
) -> Trouble | None:
    """Return that a branch has other commits than those handed in or approved last, or None.

    That is a commit with another patch, a lost one, or one whose author or message has changed.
    Starts git only if the branch has moved since.
    """
    session = session.aimed_at(worker.lands_on)
    seen = seen_commits(reader, worker.worker_id, worker.task_id)
    if tip is None or not seen or tip in seen:
        return None
    done = session.git.run(
        "rev-list", "--count", "--no-merges", "--cherry-pick", "--right-only",
        f"{seen[0]}...{tip}", f"^{session.target}", "--", ok=(0, 128),
    )  # fmt: skip
    number = int(done.text.strip() or 0) if done.status == 0 else 0
    if number == 0:
        if find_stack(reader, worker.worker_id, worker.task_id) is not None:
            return None  # its parent's commits may have been replaced
        dropped = _find_dropped(session, worker, ref, tip=tip, handed_in=seen[0])
        return dropped or _find_reworded(session, worker, ref, tip=tip, seen=seen)
    verb = "is" if number == 1 else "are"
    words = f"{count_text(number, 'commit')} of {short_name(ref)} {verb} not handed in"
    return Trouble("not_handed_in", words, f"git worker done {worker.worker_id}")


def _find_reworded(
    session: Session, worker: Worker | WorkerRow, ref: Ref, *, tip: Oid, seen: Sequence[Oid]
) -> Trouble | None:
    """Return that commits have another author or message than when they were handed in, or None.

    Those of an approval count as well: it may have rewritten them.
    """
    old = [oid for oid in seen if session.git.find_oid(oid) is not None]
    if not old:
        return None
    from gitworker.repo.history.patch_ids import fingerprints_by_commit  # 3 ms, rarely needed
    from gitworker.repo.history.rules_approval import is_covered

    others = [f"^{session.target}", *(f"^{oid}" for oid in old)]
    present = fingerprints_by_commit(session.git, [tip, *others])
    before = fingerprints_by_commit(session.git, [*old, f"^{session.target}", f"^{tip}"])
    changed = [one for one in present.values() if not is_covered(list(before.values()), one)]
    if not changed:
        return None
    commits = "a commit" if len(changed) == 1 else f"{len(changed)} commits"
    words = f"the author or message of {commits} of {short_name(ref)} has changed since the hand-in"
    return Trouble("not_handed_in", words, f"git worker done {worker.worker_id}")


def _find_dropped(
    session: Session, worker: Worker | WorkerRow, ref: Ref, *, tip: Oid, handed_in: Oid
) -> Trouble | None:
    """Return that a branch lost commits that were handed in and have not landed, or None."""
    missing = _without(session, handed_in, tip) & _without(session, handed_in, session.target)
    if not missing or worker.worktree is None:
        return None
    commits = count_text(len(missing), "handed-in commit")
    return _dropped(worker, ref, last=handed_in, commits_are=f"{commits} {_are(missing)}")


def find_lost_commits(session: Session, worker: Worker, last: Oid) -> Trouble | None:
    """Return that a branch without own commits lost some of those below `last`, or None.

    None also if they have landed. `last` is the newest commit that the worker has published.
    """
    session = session.aimed_at(worker.lands_on)
    missing = _without(session, last, session.target)
    if not missing or worker.worktree is None:
        return None
    text = f"{count_text(len(missing), 'commit')} {_are(missing)}"
    return _dropped(worker, worker.ref, last=last, commits_are=text)


def _dropped(worker: Worker | WorkerRow, ref: Ref, *, last: Oid, commits_are: str) -> Trouble:
    place = quoted(worker.worktree or "")
    return Trouble(
        "commits_dropped",
        f"{commits_are} not on {short_name(ref)} any more; {last[:12]} has all",
        f"git -C {place} reset --keep {last[:12]}   # or hand in the rest: git worker done"
        f" {worker.worker_id}",
    )


def _are(commits: set[str]) -> str:
    return "is" if len(commits) == 1 else "are"


def _without(session: Session, handed_in: Oid, other: str) -> set[str]:
    """Return the handed-in commits above the target whose patches `other` does not have."""
    done = session.git.run("cherry", other, handed_in, session.target, ok=(0, 128))
    lines = done.text.splitlines() if done.status == 0 else []
    return {line[2:] for line in lines if line.startswith("+ ")}
