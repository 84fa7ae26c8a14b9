"""Compare two rounds commit by commit, or the newest round with the reviewer's last look.

git range-diff compares the commits, so that a rebase does not appear as a change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gitworker.errors import NotFound
from gitworker.lifecycle.find import require_worker
from gitworker.model.ids import Oid
from gitworker.repo.plumbing.git import GitFailed
from gitworker.review.looks import seen_before
from gitworker.review.round_refs import keep_rounds
from gitworker.review.rounds import require_round
from gitworker.review.rules_rounds import added_commit, has_same_commits, parse_rounds, without_same
from gitworker.store.reviewing.marks import find_look
from gitworker.store.reviewing.rounds import Round, rounds_of

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.workers import Worker


@dataclass(frozen=True, slots=True)
class Comparison:
    """The changes from one version to another; `text` is empty without any.

    `old` names the earlier version: `round 1` or `your last look`.
    """

    worker: str
    old: str
    new: int
    text: str


def compare(session: Session, name: str, rounds: str | None = None) -> Comparison:
    """Return the changes between two rounds, `N..M`, or since the caller's last look.

    Raises NotFound for a round that does not exist, without a look, and if git has deleted a
    version.
    """
    with session.store.read() as reader:
        worker = require_worker(reader, name, session)
    newest = require_round(session, worker)
    with session.store.read() as reader:
        known = {one.number: one for one in rounds_of(reader, worker.worker_id, worker.task_id)}
    known[newest.number] = newest
    keep_rounds(session, worker, list(known.values()))
    if rounds is None:
        label, old, new = "your last look", _last_look(session, worker, known), newest
    else:
        first, last = parse_rounds(rounds)
        label = f"round {first}"
        old, new = (_require(worker, known, one) for one in (first, last or newest.number))
    return Comparison(worker.worker_id, label, new.number, _difference(session, old, new))


def json_comparison(found: Comparison) -> dict[str, Any]:
    """Return the comparison as JSON data."""
    return {"worker": found.worker, "old": found.old, "round": found.new, "changes": found.text}


def render_comparison(found: Comparison, *, width: int | None, color: bool) -> str:
    """Return the changes; without any, a line that says so."""
    del width, color
    if found.old == f"round {found.new}" and not found.text:
        return f"round {found.new} of {found.worker} is the newest one"
    return found.text or f"round {found.new} of {found.worker} is unchanged since {found.old}"


def _last_look(session: Session, worker: Worker, known: dict[int, Round]) -> Round:
    with session.store.read() as reader:
        look = find_look(reader, session.actor, worker.worker_id, worker.task_id)
    seen = seen_before(look, sorted(known.values()))
    if seen is None:
        raise NotFound(
            f"you have not looked at the work of {worker.worker_id} yet",
            f"git worker review {worker.worker_id}",
        )
    base, tip = seen
    same = (one for one in known.values() if (one.base, one.tip) == seen)
    return next(same, Round(0, base, tip, (), 0))


def _require(worker: Worker, known: dict[int, Round], number: int) -> Round:
    if number not in known:
        raise NotFound(
            f"worker {worker.worker_id} has {len(known)} rounds: round {number} does not exist",
            f"git worker review {worker.worker_id}",
        )
    return known[number]


def _difference(session: Session, old: Round, new: Round) -> str:
    if (old.base, old.tip) == (new.base, new.tip) or has_same_commits(old.commits, new.commits):
        return ""
    git = session.git
    ranges = [f"{one.base}..{one.tip}" for one in (old, new)]
    try:
        text = git.run("range-diff", "--no-color", *ranges, "--").text
    except GitFailed as failure:
        raise NotFound(
            "the two versions cannot be compared: git has deleted one of them",
            "git worker review list",
            detail=failure.detail,
        ) from failure
    changes = without_same(text)
    if changes and _is_rebased_only(session, old, new):
        return ""
    return "\n".join(_with_patch(session, line) for line in changes.split("\n"))


def _with_patch(session: Session, line: str) -> str:
    """Return a line of range-diff; a new commit, which git only names, with its patch."""
    commit = added_commit(line)
    if commit is None:
        return line
    shown = session.git.run(
        "diff-tree",
        "-p",
        "--root",
        "--no-commit-id",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        commit,
    ).text.rstrip("\n")
    return "\n".join([line, *(f"    {one}" for one in shown.split("\n"))])


def _is_rebased_only(session: Session, old: Round, new: Round) -> bool:
    """Return whether a rebase of the old commits has exactly the files of the new ones.

    The context lines of a patch change if the target changed lines beside it.
    """
    if [one[2:] for one in old.commits] != [one[2:] for one in new.commits] or not old.commits:
        return False
    git = session.git
    merged = git.run("merge-tree", "--write-tree", new.base, old.tip, ok=(0, 1))
    tree = git.find_oid(new.tip, "tree")
    return merged.status == 0 and Oid(merged.text.split("\n", 1)[0]) == tree
