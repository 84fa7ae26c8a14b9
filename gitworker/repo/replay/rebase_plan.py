"""The list of commits of a rebase, and the base from which picking starts.

A linear topic, the usual case, is listed by one walk and read by two more processes. For any other
topic git is asked with the options of rebase itself. Read-only.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gitworker.model.ids import Oid
from gitworker.repo.history.diffs import diff_commits, is_submodule
from gitworker.repo.plumbing.commit_bytes import Commit, parse_commit
from gitworker.repo.plumbing.git import Git, GitFailed
from gitworker.repo.plumbing.objects import read_objects
from gitworker.repo.replay.attributes import (
    ancestors_of,
    list_attribute_directories,
    name_attributes,
)
from gitworker.repo.replay.replay_cache import ReplayCache
from gitworker.repo.status.path_changes import Change

SAME_PATCH = "="
TARGET_SIDE = "<"
TOPIC_SIDE = ">"
# The changes of so many commits on the target's side are compared here; more are left to git.
COMPARED_AT_MOST = 1000
SPACE = str.maketrans("", "", "\t\n\r ")  # ignored by a patch id, in names too


class NeedsRebase(Exception):
    """merge-tree may give another result than rebase here."""


class ReplayBase(NamedTuple):
    """The base from which picking starts.

    `heads` are the commit on which the first pick is applied, and the fork point if there is one.
    `changed` are the paths that the topic changes. `places` are the directories whose attributes
    may matter; `attributes` maps each directory to its attributes file, if it has one.
    """

    heads: tuple[Commit, ...]
    changed: frozenset[str]
    places: tuple[str, ...]
    attributes: Mapping[str, bytes]


class RebasePlan(NamedTuple):
    """The steps of a rebase of `topic` onto `target`.

    `commits` are all considered commits in order; `todo` are those that the target lacks. `ground`
    is None if it has not been read yet. Commits in `exclude` do not belong to the topic.
    """

    target: Oid
    topic: Oid
    bases: tuple[Oid, ...]
    is_linear: bool
    commits: tuple[Commit, ...] = ()
    todo: tuple[Commit, ...] = ()
    ground: ReplayBase | None = None
    exclude: Oid | None = None

    @property
    def ours(self) -> tuple[str, ...]:
        """Return the options that limit a walk of git to the topic's own commits."""
        return () if self.exclude is None else (f"^{self.exclude}",)

    @property
    def is_unchanged(self) -> bool:
        """Return whether rebase would report that the branch is up to date."""
        return self.is_linear and self.bases == (self.target,)


def load_plan(
    git: Git,
    *,
    target: Oid,
    topic: Oid,
    exclude: Oid | None = None,
    memory: ReplayCache | None = None,
) -> RebasePlan:
    """Return the plan for `topic`, or only for `exclude..topic` if `exclude` is given.

    The commits of an up-to-date branch are not read.
    """
    known = None if memory is None else memory.changes
    plan = RebasePlan(target, topic, (topic,), is_linear=True, exclude=exclude)
    walked = git.text(
        "rev-list", "--reverse", "--topo-order", "--parents", "--left-right",
        f"{target}...{topic}", *plan.ours,
    ).splitlines()  # fmt: skip
    ours = [line[1:].split(" ") for line in walked if line[0] == TOPIC_SIDE]
    if not ours:
        return plan
    if not _is_line(ours):
        return _load_any_plan(git, plan)
    plan = plan._replace(bases=(Oid(ours[0][1]),))
    if plan.is_unchanged:
        return plan
    theirs = [line[1:].split(" ") for line in walked if line[0] == TARGET_SIDE]
    line = [Oid(oid) for oid, _ in ours]
    compared = [oid for oid, *parents in theirs if len(parents) < 2]
    return _load_line(git, plan, line, theirs=compared, known=known)


def load_replay_base(
    git: Git, plan: RebasePlan, *, tip: Oid, waiting: Sequence[Commit]
) -> ReplayBase:
    """Return the base for picking the `waiting` commits onto `tip`, for any plan."""
    base = plan.bases[0] if plan.bases else None
    oids = [commit.oid for commit in waiting]
    changes = diff_commits(git, [*oids, f"{tip} {base or tip}"])
    if changes is None:
        raise NeedsRebase
    places: set[str] = set()
    if not plan.is_linear or len(plan.bases) != 1:
        places = list_attribute_directories(git, tip)
    return _read(git, [], changes, tip=tip, base=base, places=places)[1]


def load_commits(git: Git, oids: Sequence[str]) -> tuple[Commit, ...]:
    """Return commits by id, in order, read by one process."""
    return _parse(oids, read_objects(git, oids))


def starts_empty(git: Git, commit: Commit, trees: dict[Oid, Oid]) -> bool:
    """Return whether a commit changes nothing; `trees` caches the trees by commit."""
    if not commit.parents:
        return not git.run("ls-tree", "-z", commit.tree).out
    parent = commit.parents[0]
    if parent not in trees:
        trees[parent] = load_commits(git, [parent])[0].tree
    return trees[parent] == commit.tree


def _is_line(commits: Sequence[Sequence[str]]) -> bool:
    """Return whether each commit (with its parents) has one parent, the commit before it."""
    return all(len(commit) == 2 for commit in commits) and all(
        commit[1] == before[0] for before, commit in zip(commits, commits[1:], strict=False)
    )


def _load_line(
    git: Git,
    plan: RebasePlan,
    line: Sequence[Oid],
    *,
    theirs: list[str],
    known: dict[str, tuple[Change, ...]] | None,
) -> RebasePlan:
    """Return the plan of a linear topic; `theirs` are the target's own commits without merges."""
    compared = theirs if len(theirs) <= COMPARED_AT_MOST else []
    base = plan.bases[0]
    changes = diff_commits(git, [*line, *compared, f"{plan.target} {base}"], known=known)
    if changes is None:  # a graft appeared between two calls: ask git instead
        return _load_any_plan(git, plan)
    ours, others, incoming = changes[: len(line)], changes[len(line) : -1], changes[-1]
    commits, ground = _read(git, line, [*ours, incoming], tip=plan.target, base=base)
    plan = plan._replace(commits=commits, todo=commits, ground=ground)
    same = {_patched_names(one) for one in ours if one}
    if compared == theirs and not any(_patched_names(one) in same for one in others):
        return plan
    marks = _list_marked(git, plan)
    return plan._replace(todo=_without_known(git, commits, marks, ground.heads))


def _load_any_plan(git: Git, plan: RebasePlan) -> RebasePlan:
    """Return the plan of a topic with merges, root commits or several forks."""
    upstream = plan.exclude or plan.target
    bases = git.text("merge-base", "--all", upstream, plan.topic, ok=(0, 1)).split()
    merges = git.text(
        "rev-list", "--min-parents=2", "--max-count=1", plan.topic, f"^{plan.target}", *plan.ours
    )
    plan = plan._replace(bases=tuple(map(Oid, bases)), is_linear=not merges)
    if plan.is_unchanged:
        return plan
    marked = _list_marked(git, plan)
    commits = load_commits(git, list(marked))
    return plan._replace(commits=commits, todo=_without_known(git, commits, marked))


def _without_known(
    git: Git, commits: Sequence[Commit], marks: Mapping[Oid, str], heads: Sequence[Commit] = ()
) -> tuple[Commit, ...]:
    """Return the commits without those that the target has; rebase keeps commits made empty."""
    trees = {commit.oid: commit.tree for commit in (*commits, *heads)}
    return tuple(
        commit
        for commit in commits
        if marks.get(commit.oid) != SAME_PATCH or starts_empty(git, commit, trees)
    )


def _list_marked(git: Git, plan: RebasePlan) -> dict[Oid, str]:
    """Return rebase's own list, each commit with a mark that shows whether the target has it."""
    lines = git.text(
        "rev-list", "--reverse", "--topo-order", "--no-merges", "--cherry-mark", "--right-only",
        f"{plan.target}...{plan.topic}", *plan.ours,
    ).split()  # fmt: skip
    return {Oid(line[1:]): line[0] for line in lines}


def _patched_names(changes: Iterable[Change]) -> frozenset[str]:
    """Return the names in a patch; commits with equal patch ids have the same names.

    Submodules are left out, since settings may hide them from a patch.
    """
    return frozenset(one.path.translate(SPACE) for one in changes if not is_submodule(one))


def _read(
    git: Git,
    oids: Sequence[Oid],
    changes: Sequence[Sequence[Change]],
    *,
    tip: Oid,
    base: Oid | None,
    places: Iterable[str] = (),
) -> tuple[tuple[Commit, ...], ReplayBase]:
    """Read commits, heads and attributes by one process.

    `changes` are those of each commit and, last, those of the target since the fork: a rename may
    lead to a file that it added. `places` are further directories whose attributes matter.
    """
    *ours, theirs = changes
    changed = frozenset(one.path for commit in ours for one in commit)
    added = (one.path for one in theirs if one.status == "A")
    folders = tuple(sorted(ancestors_of((*changed, *added)).union(places)))
    named = [*oids, tip, *([base] if base else [])]
    found = read_objects(git, [*named, *name_attributes(tip, folders)])
    commits = _parse(named, found[: len(named)])
    texts = zip(folders, found[len(named) :], strict=True)
    attributes = {place: text for place, text in texts if text is not None}
    ground = ReplayBase(commits[len(oids) :], changed, folders, attributes)
    return commits[: len(oids)], ground


def _parse(oids: Sequence[str], found: Sequence[bytes | None]) -> tuple[Commit, ...]:
    commits = []
    for oid, raw in zip(oids, found, strict=True):
        if raw is None:
            raise GitFailed(f"commit {oid} is missing from this repository")
        commits.append(parse_commit(Oid(oid), raw))
    return tuple(commits)
