"""diff: the changes that would land, shown by git: from the fork point to the branch.

Also the changes since the last hand-in or verdict, and those that are not committed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.errors import NotFound
from gitworker.model.ids import Branch, Oid, Ref
from gitworker.model.ref_names import ref_of
from gitworker.observe.next_step.trouble import missing_branch
from gitworker.observe.workers.stack_base import own_fork_point
from gitworker.repo.history.walk import read_diff as read_git_diff
from gitworker.repo.plumbing.objects import read_objects
from gitworker.repo.plumbing.refs import find_ref
from gitworker.repo.worktrees.ownership import owner_of, require_owned
from gitworker.rules_text import printable
from gitworker.store.records.reviews import find_review
from gitworker.store.stacks import find_stack

if TYPE_CHECKING:
    from collections.abc import Callable

    from gitworker.session import Session
    from gitworker.store.workers import Worker

SHORT = 10
REQUEST, REVIEW = "request", "review"
REBASED = "the branch was rebased since: changes of the target are left out"
BY_COMMIT = "the branch was rebased over conflicts since: the commits are compared one by one"


class DiffOptions(NamedTuple):
    """The range and the form of a diff.

    `since` is "request" or "review", or None for all changes that would land. `paths` are git's
    pathspecs, from the top of the repository. `stat` and `names` print only the summary by file, as
    wide as `width`, or only the names.
    """

    paths: tuple[str, ...] = ()
    stat: bool = False
    names: bool = False
    since: str | None = None
    uncommitted: bool = False
    color: bool = False
    width: int | None = None


@dataclass(frozen=True, slots=True)
class Diff:
    """The changes of a worker; `text` is git's output, with surrogate escapes.

    `since` is the commit that was handed in or judged. `note` explains the way of a comparison.
    `is_painted`: git coloured the text.
    """

    worker: str
    branch: str
    target: str
    text: str
    is_painted: bool = False
    since: str | None = None
    note: str = ""


class _Source(NamedTuple):
    """A function that runs git with options of form, and the facts about the range."""

    read: Callable[[list[str]], str]
    since: str | None = None
    note: str = ""


def read_diff(session: Session, worker: Worker, options: DiffOptions) -> Diff:
    """Run git's diff with the user's settings; raise NotFound without a branch.

    The diff of a branch that is stacked on another worker's shows its own commits only. A diff that
    contains escape sequences is not coloured, since they could not be distinguished from git's.
    """
    branch = worker.branch
    session = session.aimed_at(worker.lands_on)
    if branch is None or find_ref(session.git, ref_of(Branch(branch))) is None:
        raise missing_branch(session, worker)
    source = _source(session, worker, options)
    form = ["--name-only"] if options.names else []
    if options.stat:
        form.append("--stat" if options.width is None else f"--stat={options.width}")
    text = source.read(["--color=never", *form])
    paint = options.color and "\x1b" not in text
    if paint:
        text = source.read(["--color=always", *form])
    return Diff(
        worker.worker_id, branch, session.target_name, text, is_painted=paint,
        since=source.since, note=source.note,
    )  # fmt: skip


def is_path(session: Session, worker: Worker, word: str) -> bool:
    """Return whether a word is a path in the worktree, on the branch, or on its target."""
    if worker.worktree and os.path.lexists(f"{worker.worktree}/{word}"):
        return True
    target = session.aimed_at(worker.lands_on).target
    found = read_objects(session.git, [f"{ref}:{word}" for ref in (worker.ref, target)])
    return any(one is not None for one in found)


def _source(session: Session, worker: Worker, options: DiffOptions) -> _Source:
    ref, paths = worker.ref, options.paths
    if options.uncommitted:
        return _uncommitted(session, worker, paths)
    if options.since is not None:
        return _since(session, worker, options)
    base = _base(session, worker, ref)

    def read(form: list[str]) -> str:
        return read_git_diff(session.git, base=base, tip=ref, options=form, paths=paths)

    return _Source(read)


def _uncommitted(session: Session, worker: Worker, paths: tuple[str, ...]) -> _Source:
    from gitworker.repo.history.interdiff import read_uncommitted  # only on request

    owner = owner_of(session.repository.common_dir, worker)
    if owner is None:
        raise NotFound(
            f"worker {worker.worker_id} has no worktree", f"git worker show {worker.worker_id}"
        )
    require_owned(owner)
    here = session.git.at(owner.place)
    return _Source(lambda form: read_uncommitted(here, options=form, paths=paths))


def _since(session: Session, worker: Worker, options: DiffOptions) -> _Source:
    """Return the changes since a commit that the worker handed in or that was judged."""
    from gitworker.repo.history.interdiff import (  # only on request
        compare_versions,
        read_interdiff,
    )

    git = session.git
    old = _judged(session, worker) if options.since == REVIEW else _requested(session, worker)
    hint = f"git worker diff {worker.worker_id}"
    if old is None:
        event = "judged" if options.since == REVIEW else "handed in"
        raise NotFound(f"the work of {worker.worker_id} was not {event} yet", hint)
    tip, target = find_ref(git, worker.ref), find_ref(git, session.target)
    known = git.find_oid(old)
    found = None
    if tip is not None and target is not None and known is not None:
        found = compare_versions(git, old=known, tip=tip, target=target)
    if found is None:
        raise NotFound(f"commit {old[:SHORT]} cannot be compared with {worker.branch}", hint)
    note = "" if not found.is_rebased else REBASED if found.tree else BY_COMMIT

    def read(form: list[str]) -> str:
        return read_interdiff(git, found, options=form, paths=options.paths)

    return _Source(read, old, note)


def _requested(session: Session, worker: Worker) -> str | None:
    """Return the commit that was handed in last."""
    with session.store.read() as reader:
        found = find_review(reader, worker.worker_id, worker.task_id, "requested")
    return found.commit_oid if found else None


def _judged(session: Session, worker: Worker) -> str | None:
    """Return the commit of the last verdict: of the return, else of the newest review."""
    if worker.returned_tip:
        return worker.returned_tip
    with session.store.read() as reader:
        reviews = [
            find_review(reader, worker.worker_id, worker.task_id, verdict)
            for verdict in ("approved", "changes_requested")
        ]
    newest = max((one for one in reviews if one), key=lambda one: one.id, default=None)
    return newest.commit_oid if newest else None


def _base(session: Session, worker: Worker, ref: Ref) -> Ref | Oid:
    """Return the base of the diff: of a stacked branch the commit before its own commits."""
    with session.store.read() as reader:
        if find_stack(reader, worker.worker_id, worker.task_id) is None:
            return session.target
    tip, target = find_ref(session.git, ref), find_ref(session.git, session.target)
    own_base = None
    if tip is not None and target is not None:
        own_base = own_fork_point(session, worker, tip=tip, target=target)
    return own_base or session.target


def render_diff(diff: Diff, *, width: int | None, color: bool) -> str:
    """Return git's text without the final newline; text that git did not colour stays plain."""
    del width
    text = diff.text.removesuffix("\n")
    return printable(text) if color and not diff.is_painted else text


def json_diff(diff: Diff) -> dict[str, Any]:
    """Return the diff as JSON data."""
    return {
        "worker": diff.worker, "branch": diff.branch, "target": diff.target, "diff": diff.text,
        "since": diff.since, "note": diff.note or None,
    }  # fmt: skip
