"""diff: the changes that would land, shown by git: from the fork point to the branch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gitworker.errors import NotFound
from gitworker.model.ids import Branch, Oid, Ref
from gitworker.model.ref_names import ref_of
from gitworker.observe.workers.stack_base import own_fork_point
from gitworker.repo.history.walk import read_diff as read_git_diff
from gitworker.repo.plumbing.refs import find_ref
from gitworker.rules_text import printable
from gitworker.store.stacks import find_stack

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.workers import Worker


@dataclass(frozen=True, slots=True)
class Diff:
    """The changes that would land; `text` is git's output, with surrogate escapes.

    `is_painted`: git coloured it.
    """

    worker: str
    branch: str
    target: str
    text: str
    is_painted: bool = False


def read_diff(
    session: Session, worker: Worker, *, stat: bool, color: bool, width: int | None
) -> Diff:
    """Run `git diff TARGET...BRANCH` with the user's settings; raise NotFound without a branch.

    The diff of a branch that is stacked on another worker's shows its own commits only. A diff that
    contains escape sequences is not coloured, since they could not be distinguished from git's.
    `stat` requests the summary by file, as wide as `width`.
    """
    branch = worker.branch
    if branch is None or find_ref(session.git, ref_of(Branch(branch))) is None:
        raise NotFound(
            f"worker {worker.worker_id} has no branch: it is {worker.state}",
            f"git worker show {worker.worker_id}",
        )
    options = [] if not stat else ["--stat" if width is None else f"--stat={width}"]
    ref = ref_of(Branch(branch))
    base = _base(session, worker, ref)
    text = read_git_diff(session.git, base=base, tip=ref, options=["--color=never", *options])
    paint = color and "\x1b" not in text
    if paint:
        text = read_git_diff(session.git, base=base, tip=ref, options=["--color=always", *options])
    target = session.target_name
    return Diff(worker.worker_id, branch, target, text, is_painted=paint)


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
    }  # fmt: skip
