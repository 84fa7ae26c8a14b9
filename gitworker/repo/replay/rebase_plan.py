"""Rebase's list of commits, and what picking them starts from.

A topic in one line, the usual case, is listed by one walk and read by two more processes. Anything
else is asked of git in rebase's own words. Read-only.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gitworker.model.ids import Oid
from gitworker.repo.history.diffs import BlobChange, diff_commits, is_submodule
from gitworker.repo.plumbing.commit_bytes import Commit, parse_commit
from gitworker.repo.plumbing.git import Git, GitFailed
from gitworker.repo.plumbing.objects import read_objects
from gitworker.repo.replay.attributes import (
    ancestors_of,
    list_attribute_directories,
    name_attributes,
)
from gitworker.repo.replay.replay_cache import Memory

SAME_PATCH = "="
TARGET_SIDE = "<"
TOPIC_SIDE = ">"
# Of so many commits on the target's side we read what they change; more we leave to git.
COMPARED_AT_MOST = 1000
SPACE = str.maketrans("", "", "\t\n\r ")  # what a patch id leaves out, of names too


class NeedsRebase(Exception):
    """merge-tree cannot be trusted to give what rebase gives here."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What picking starts from.

    `heads` are the commit that the first pick goes onto and, where there is one, the fork point;
    `changed` the paths that the topic changes; `places` the directories whose attributes may
    matter, and `attributes` those that there are, by directory.
    """

    heads: tuple[Commit, ...]
    changed: frozenset[str]
    places: tuple[str, ...]
    attributes: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a rebase of `topic` onto `target` would do.

    `commits` are all commits considered, in order; `todo` those that the target has not already.
    `ground` is there where it was read along. What `exclude` contains is not the topic's own.
    """

    target: Oid
    topic: Oid
    bases: tuple[Oid, ...]
    is_linear: bool
    commits: tuple[Commit, ...] = ()
    todo: tuple[Commit, ...] = ()
    ground: Ground | None = None
    exclude: Oid | None = None

    @property
    def ours(self) -> tuple[str, ...]:
        """Return the words that limit a walk of git's to the topic's own commits."""
        return () if self.exclude is None else (f"^{self.exclude}",)

    @property
    def is_unchanged(self) -> bool:
        """Tell whether rebase would say that the branch is up to date."""
        return self.is_linear and self.bases == (self.target,)


def load_plan(
    git: Git,
    *,
    target: Oid,
    topic: Oid,
    exclude: Oid | None = None,
    memory: Memory | None = None,
) -> Plan:
    """Return the plan, of `exclude..topic` alone where that is given.

    An up-to-date branch is not read any further.
    """
    known = None if memory is None else memory.changes
    plan = Plan(target, topic, (topic,), is_linear=True, exclude=exclude)
    walked = git.text(
        "rev-list", "--reverse", "--topo-order", "--parents", "--left-right",
        f"{target}...{topic}", *plan.ours,
    ).splitlines()  # fmt: skip
    ours = [line[1:].split(" ") for line in walked if line[0] == TOPIC_SIDE]
    if not ours:
        return plan
    if not _is_line(ours):
        return _load_any_plan(git, plan)
    plan = replace(plan, bases=(Oid(ours[0][1]),))
    if plan.is_unchanged:
        return plan
    theirs = [line[1:].split(" ") for line in walked if line[0] == TARGET_SIDE]
    line = [Oid(oid) for oid, _ in ours]
    compared = [oid for oid, *parents in theirs if len(parents) < 2]
    return _load_line(git, plan, line, theirs=compared, known=known)


def load_ground(git: Git, plan: Plan, *, tip: Oid, waiting: Sequence[Commit]) -> Ground:
    """Return what picking the `waiting` commits onto `tip` starts from, for any plan."""
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
    """Tell whether a commit changes nothing; `trees` by commit are known, and more are added."""
    if not commit.parents:
        return not git.run("ls-tree", "-z", commit.tree).out
    parent = commit.parents[0]
    if parent not in trees:
        trees[parent] = load_commits(git, [parent])[0].tree
    return trees[parent] == commit.tree


def _is_line(commits: Sequence[Sequence[str]]) -> bool:
    """Tell whether each commit (with its parents) has one parent, the commit before it."""
    return all(len(commit) == 2 for commit in commits) and all(
        commit[1] == before[0] for before, commit in zip(commits, commits[1:], strict=False)
    )


def _load_line(
    git: Git,
    plan: Plan,
    line: Sequence[Oid],
    *,
    theirs: list[str],
    known: dict[str, tuple[BlobChange, ...]] | None,
) -> Plan:
    """Return the plan of a topic in one line; `theirs` are the target's own commits, not merges."""
    compared = theirs if len(theirs) <= COMPARED_AT_MOST else []
    base = plan.bases[0]
    changes = diff_commits(git, [*line, *compared, f"{plan.target} {base}"], known=known)
    if changes is None:  # a graft between two calls: ask as if we had not looked
        return _load_any_plan(git, plan)
    ours, others, incoming = changes[: len(line)], changes[len(line) : -1], changes[-1]
    commits, ground = _read(git, line, [*ours, incoming], tip=plan.target, base=base)
    plan = replace(plan, commits=commits, todo=commits, ground=ground)
    same = {_patched_names(one) for one in ours if one}
    if compared == theirs and not any(_patched_names(one) in same for one in others):
        return plan
    marks = _list_marked(git, plan)
    return replace(plan, todo=_without_known(git, commits, marks, ground.heads))


def _load_any_plan(git: Git, plan: Plan) -> Plan:
    """Return the plan of a topic with merges, root commits or several forks."""
    upstream = plan.exclude or plan.target
    bases = git.text("merge-base", "--all", upstream, plan.topic, ok=(0, 1)).split()
    merges = git.text(
        "rev-list", "--min-parents=2", "--max-count=1", plan.topic, f"^{plan.target}", *plan.ours
    )
    plan = replace(plan, bases=tuple(map(Oid, bases)), is_linear=not merges)
    if plan.is_unchanged:
        return plan
    marked = _list_marked(git, plan)
    commits = load_commits(git, list(marked))
    return replace(plan, commits=commits, todo=_without_known(git, commits, marked))


def _without_known(
    git: Git, commits: Sequence[Commit], marks: Mapping[Oid, str], heads: Sequence[Commit] = ()
) -> tuple[Commit, ...]:
    """Return the commits but those that the target has; rebase keeps what started empty."""
    trees = {commit.oid: commit.tree for commit in (*commits, *heads)}
    return tuple(
        commit
        for commit in commits
        if marks.get(commit.oid) != SAME_PATCH or starts_empty(git, commit, trees)
    )


def _list_marked(git: Git, plan: Plan) -> dict[Oid, str]:
    """Return rebase's own list, each commit with a mark that says whether the target has it."""
    lines = git.text(
        "rev-list", "--reverse", "--topo-order", "--no-merges", "--cherry-mark", "--right-only",
        f"{plan.target}...{plan.topic}", *plan.ours,
    ).split()  # fmt: skip
    return {Oid(line[1:]): line[0] for line in lines}


def _patched_names(changes: Iterable[BlobChange]) -> frozenset[str]:
    """Return what two commits have in common where their patch ids are equal: the names in them.

    Submodules are left out, since settings may keep them out of a patch.
    """
    return frozenset(one.path.translate(SPACE) for one in changes if not is_submodule(one))


def _read(
    git: Git,
    oids: Sequence[Oid],
    changes: Sequence[Sequence[BlobChange]],
    *,
    tip: Oid,
    base: Oid | None,
    places: Iterable[str] = (),
) -> tuple[tuple[Commit, ...], Ground]:
    """Read commits, heads and attributes by one process.

    `changes` are those of each commit and, last, what the target changed since the fork: where it
    added files a rename may lead. `places` are more directories whose attributes matter.
    """
    *ours, theirs = changes
    changed = frozenset(one.path for commit in ours for one in commit)
    added = (one.path for one in theirs if one.status == "A")
    where = tuple(sorted(ancestors_of((*changed, *added)).union(places)))
    named = [*oids, tip, *([base] if base else [])]
    found = read_objects(git, [*named, *name_attributes(tip, where)])
    commits = _parse(named, found[: len(named)])
    texts = zip(where, found[len(named) :], strict=True)
    attributes = {place: text for place, text in texts if text is not None}
    ground = Ground(commits[len(oids) :], changed, where, attributes)
    return commits[: len(oids)], ground


def _parse(oids: Sequence[str], found: Sequence[bytes | None]) -> tuple[Commit, ...]:
    commits = []
    for oid, raw in zip(oids, found, strict=True):
        if raw is None:
            raise GitFailed(f"commit {oid} is missing from this repository")
        commits.append(parse_commit(Oid(oid), raw))
    return tuple(commits)
