"""Replay a branch onto a target with the result of `git rebase TARGET`, outside any worktree.

One merge-tree per commit runs git's own merge engine; differential tests show that the result is
identical to rebase. If that engine cannot give the exact result (signing, notes, the user's own
merge programs), a real rebase runs in a scratch worktree. Only new objects are written; no ref and
no worktree of the user changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.model.ids import Oid
from gitworker.paths import require_repository
from gitworker.repo.plumbing.commit_bytes import Commit
from gitworker.repo.plumbing.git import Git
from gitworker.repo.replay.picks import PickConflict, pick_all
from gitworker.repo.replay.rebase_plan import NeedsRebase, RebasePlan, load_commits, load_plan
from gitworker.repo.replay.replay_cache import ReplayCache

if TYPE_CHECKING:
    from gitworker.repo.replay.scratch_rebase import Rebased

# A prediction signs no commit and copies no note.
WITHOUT_RECORDS = ("commit.gpgSign=false", "notes.rewrite.rebase=false")


class PickedCommit(NamedTuple):
    """One commit of the branch and its replayed commit; `new` is None if it was dropped."""

    old: Oid
    new: Oid | None
    subject: str


class Replayed(NamedTuple):
    """A replay without conflicts: `new` is the branch's tip on the target.

    `picks` are the commits in order. Those that the target already has, or that became empty, have
    `new` None. Merge commits are flattened and not listed. `unchanged`: the branch was already
    linear on top of the target, so nothing was written and `picks` is empty.
    """

    new: Oid
    picks: tuple[PickedCommit, ...]
    unchanged: bool


class ReplayConflict(NamedTuple):
    """The first commit with a conflict, and the paths in conflict, sorted."""

    commit: Oid
    subject: str
    paths: tuple[str, ...]


ReplayResult = Replayed | ReplayConflict


def replay(
    git: Git,
    *,
    target: Oid,
    topic: Oid,
    scratch_dir: str,
    exclude: Oid | None = None,
    memory: ReplayCache | None = None,
) -> ReplayResult:
    """Return `topic` rebased onto `target`; write only the new commits.

    For a topic that is stacked on another branch only `exclude..topic` is replayed, as by
    `git rebase --onto target exclude topic`; commits whose patch the target has are dropped too.

    `git` may run in any worktree of the repository, whose settings apply. `scratch_dir` is a
    directory for private files and, if needed, the scratch worktree. The committer is the user,
    now. Hooks do not run. Raises GitFailed if git itself fails, for example if signing is
    configured and does not work. `memory` caches git's answers, and the results, of earlier replays
    of the same command in the same worktree.
    """
    memory = memory or ReplayCache()
    key = (git.directory, target, topic, exclude)
    known = memory.replays.get(key)
    if isinstance(known, Replayed):
        return known
    found = _replay(git, key[1:], scratch_dir=scratch_dir, memory=memory)
    memory.replays[key] = found
    return found


def predict_conflict(
    git: Git,
    *,
    target: Oid,
    topic: Oid,
    scratch_dir: str,
    exclude: Oid | None = None,
    memory: ReplayCache | None = None,
    runs_programs: bool = True,
) -> ReplayConflict | None:
    """Return the conflict of such a replay, or None; sign nothing and keep no commit.

    The arguments are those of `replay`. If the result depends on the user's own merge programs or
    settings, a real rebase runs in the scratch worktree; without `runs_programs` NeedsRebase is
    raised instead.
    """
    memory = memory or ReplayCache()
    plan = load_plan(git, target=target, topic=topic, exclude=exclude, memory=memory)
    if plan.is_unchanged:
        return None
    if not memory.settings(git).merges_otherwise:
        try:
            picked = pick_all(
                git, plan, memory=memory, repository=require_repository(git.directory),
                scratch_dir=scratch_dir, writes=False,
            )  # fmt: skip
            return _conflict_of(picked) if isinstance(picked, PickConflict) else None
        except NeedsRebase:
            pass
    if not runs_programs:
        raise NeedsRebase
    from gitworker.repo.replay.scratch_rebase import rebase_in_scratch  # 2 ms, rarely needed

    rebased = rebase_in_scratch(
        git, target=target, topic=topic, exclude=exclude, scratch_dir=scratch_dir,
        settings=WITHOUT_RECORDS,
    )  # fmt: skip
    return _stop_of(plan, rebased)


def _replay(
    git: Git, request: tuple[Oid, Oid, Oid | None], *, scratch_dir: str, memory: ReplayCache
) -> ReplayResult:
    target, topic, exclude = request
    plan = load_plan(git, target=target, topic=topic, exclude=exclude, memory=memory)
    if plan.is_unchanged:
        return Replayed(topic, (), unchanged=True)
    if not memory.settings(git).needs_rebase and all(commit.is_rewritable for commit in plan.todo):
        try:
            return _in_memory(git, plan, memory=memory, scratch_dir=scratch_dir)
        except NeedsRebase:
            pass
    return _for_real(git, plan, scratch_dir=scratch_dir)


def _in_memory(
    git: Git, plan: RebasePlan, *, memory: ReplayCache, scratch_dir: str
) -> ReplayResult:
    repository = require_repository(git.directory)
    outcome = pick_all(git, plan, memory=memory, repository=repository, scratch_dir=scratch_dir)
    if isinstance(outcome, PickConflict):
        return _conflict_of(outcome)
    kept = [oid for oid in outcome.values() if oid is not None]
    return _replayed(plan, outcome, new=kept[-1] if kept else plan.target)


def _for_real(git: Git, plan: RebasePlan, *, scratch_dir: str) -> ReplayResult:
    from gitworker.repo.replay.scratch_rebase import rebase_in_scratch  # 2 ms, rarely needed

    outcome = rebase_in_scratch(
        git, target=plan.target, topic=plan.topic, exclude=plan.exclude, scratch_dir=scratch_dir
    )
    return _stop_of(plan, outcome) or _replayed(
        plan, _match(git, plan, outcome.new), new=outcome.new
    )


def _conflict_of(picked: PickConflict) -> ReplayConflict:
    return ReplayConflict(picked.commit.oid, picked.commit.subject, picked.paths)


def _stop_of(plan: RebasePlan, rebased: Rebased) -> ReplayConflict | None:
    if rebased.conflict is None:
        return None
    subjects = {commit.oid: commit.subject for commit in plan.todo}
    return ReplayConflict(rebased.conflict, subjects.get(rebased.conflict, ""), rebased.paths)


def _match(git: Git, plan: RebasePlan, new: Oid) -> dict[Oid, Oid | None]:
    """Pair the commits of a real rebase with the plan, in order.

    If the rebase dropped some, a commit is identified by its author and the words of its message.
    """
    listed = git.text("rev-list", "--reverse", "--topo-order", f"{plan.target}..{new}").split()
    if len(listed) == len(plan.todo):
        return {old.oid: Oid(made) for old, made in zip(plan.todo, listed, strict=True)}
    made = load_commits(git, listed)
    pairs: dict[Oid, Oid | None] = {}
    at = 0
    for commit in plan.todo:
        pairs[commit.oid] = None
        if at < len(made) and _is_same(commit, made[at]):
            pairs[commit.oid] = made[at].oid
            at += 1
    return pairs


def _is_same(old: Commit, new: Commit) -> bool:
    return old.author == new.author and set(new.message.split()) <= set(old.message.split())


def _replayed(plan: RebasePlan, made: dict[Oid, Oid | None], *, new: Oid) -> Replayed:
    picks = tuple(
        PickedCommit(commit.oid, made.get(commit.oid), commit.subject) for commit in plan.commits
    )
    return Replayed(new, picks, unchanged=new == plan.topic)
