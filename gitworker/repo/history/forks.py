"""Find the commits at which branches left the target, and the paths that they changed since.

Read-only. Changes are listed without renames: a check whether two branches may conflict needs both
names of a renamed file.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gitworker.model.ids import Oid
from gitworker.paths import require_repository
from gitworker.repo.history.diffs import NO_INDEX
from gitworker.repo.plumbing.git import Git, GitFailed

# A fork is searched so far back on the target's first-parent line; an older one gives None.
TRUNK_AT_MOST = 5000
STATUSES = frozenset("ADMT")

PathChange = tuple[str, str]  # A, D, M or T, and the path


@dataclass(frozen=True, slots=True)
class Forks:
    """How branches are connected with the target.

    `bases` maps each tip with commits of its own to the commit at which it left the target's
    first-parent line (the newest one if it merged the target since), or to None if there is no
    single such commit. `trunk` holds these commits and the target, oldest first. `related` maps
    each tip to the other tips with which it shares a commit that the target lacks. `lines` lists
    the commits of a linear branch, each with its parent.
    """

    bases: Mapping[Oid, Oid | None]
    trunk: tuple[Oid, ...]
    related: Mapping[Oid, frozenset[Oid]]
    lines: Mapping[Oid, tuple[tuple[Oid, Oid], ...]]


def read_forks(git: Git, *, target: Oid, tips: Sequence[Oid]) -> Forks:
    """Return how these tips are connected with the target, by at most two processes.

    A tip that does not exist has no base. Raises GitFailed if git cannot walk the history.
    """
    parents = _read_missing(git, target, tips)
    holders: dict[Oid, set[Oid]] = {}
    ends: dict[Oid, set[Oid | None]] = {}
    for tip in dict.fromkeys(tips):
        if tip in parents:
            ends[tip] = set(_walk(parents, tip, holders))
    related = {tip: set[Oid]() for tip in ends}
    for together in {frozenset(tips) for tips in holders.values() if len(tips) > 1}:
        for tip in together:
            related[tip] |= together - {tip}
    forks = {end for found in ends.values() for end in found if end is not None}
    places = _read_places(git, target, forks)
    bases = {tip: _newest(found, places) for tip, found in ends.items()}
    used = {base for base in bases.values() if base is not None} | {target}
    trunk = sorted(used, key=places.__getitem__, reverse=True)
    return Forks(
        bases,
        tuple(trunk),
        {tip: frozenset(found) for tip, found in related.items()},
        {tip: line for tip in ends if (line := _line_of(parents, tip))},
    )


def read_path_changes(
    git: Git, requests: Sequence[tuple[Oid, Oid]]
) -> dict[tuple[Oid, Oid], tuple[PathChange, ...]]:
    """Return the paths that differ between the two commits of each pair, by one process.

    No commit may be second in two pairs: git remembers the first parent that it was given.
    """
    if not requests:
        return {}
    out = git.run(
        "diff-tree", "--stdin", "--always", "-r", "-z", "--name-status", "--no-renames",
        "--ignore-submodules=none",
        stdin="".join(f"{new} {old}\n" for old, new in requests).encode(),
        env={"GIT_INDEX_FILE": f"{require_repository(git.directory).common_dir}/{NO_INDEX}"},
    ).text  # fmt: skip
    found: dict[str, list[PathChange]] = {}
    changes: list[PathChange] = []
    fields = iter(out.split("\0"))
    for field in fields:
        if field in STATUSES:
            changes.append((field, next(fields)))
        elif field:
            changes = found[field.strip()] = []
    missing = [new for _, new in requests if new not in found]
    if missing:
        raise GitFailed(f"git cannot list the changes of {missing[0]}")
    return {(old, new): tuple(found[new]) for old, new in requests}


def _read_missing(git: Git, target: Oid, tips: Sequence[Oid]) -> dict[Oid, tuple[Oid, ...]]:
    """Return the commits of these tips that the target lacks, with their parents.

    Tips that do not exist are ignored, so one broken branch does not hide the others.
    """
    request = "".join(f"{oid}\n" for oid in (*dict.fromkeys(tips), f"^{target}")).encode()
    done = git.run("rev-list", "--parents", "--stdin", stdin=request, ok=(0, 128))
    if done.status != 0:
        present = _find_present(git, tips)
        if present == set(tips):
            raise GitFailed("git cannot read the branches' commits", detail=done.complaint)
        return _read_missing(git, target, sorted(present)) if present else {}
    words = (line.split(" ") for line in done.text.splitlines())
    return {Oid(oid): tuple(map(Oid, parents)) for oid, *parents in words}


def _find_present(git: Git, tips: Sequence[Oid]) -> set[Oid]:
    asked = "".join(f"{oid}^{{commit}}\n" for oid in tips).encode()
    answer = git.run("cat-file", "--batch-check=%(objectname)", stdin=asked).text
    return {Oid(line) for line in answer.splitlines() if " " not in line}


def _walk(
    parents: Mapping[Oid, tuple[Oid, ...]], tip: Oid, holders: dict[Oid, set[Oid]]
) -> Iterator[Oid | None]:
    """Add `tip` as holder of its commits; yield the target's commits below, None for a root."""
    seen = {tip}
    waiting = [tip]
    while waiting:
        commit = waiting.pop()
        holders.setdefault(commit, set()).add(tip)
        if not parents[commit]:
            yield None
        for parent in parents[commit]:
            if parent not in parents:
                yield parent
            elif parent not in seen:
                seen.add(parent)
                waiting.append(parent)


def _line_of(parents: Mapping[Oid, tuple[Oid, ...]], tip: Oid) -> tuple[tuple[Oid, Oid], ...]:
    """Return the commits from `tip` down to the target, each after its parent; () with a merge."""
    line = []
    while tip in parents:
        if len(parents[tip]) != 1:
            return ()
        line.append((parents[tip][0], tip))
        tip = parents[tip][0]
    return tuple(line)


def _read_places(git: Git, target: Oid, forks: set[Oid]) -> dict[Oid, int]:
    """Return the distance of the needed commits from the target on its first-parent line."""
    if forks <= {target}:
        return {target: 0}
    line = git.text("rev-list", "--first-parent", f"--max-count={TRUNK_AT_MOST}", target)
    return {Oid(oid): place for place, oid in enumerate(line.split())}


def _newest(ends: set[Oid | None], places: Mapping[Oid, int]) -> Oid | None:
    """Return the newest of these commits if all are on the target's line, else None."""
    known = [end for end in ends if end is not None and end in places]
    return min(known, key=places.__getitem__) if len(known) == len(ends) else None
