"""Check that git accepts every commit of a branch, before the branch is accepted.

Only the branch's commits and the trees that they change are read: `git log` lists them, one
`git cat-file` reads them. `merge-tree` and `read-tree` accept trees that the next checkout refuses,
and `git log` shows commits that `git fsck` and remotes refuse, so no other step finds them.
"""

import os
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gitworker.model.ids import Oid
from gitworker.paths import open_regular, require_repository
from gitworker.repo.history.rules_commit import commit_fault
from gitworker.repo.plumbing.git import Git, GitFailed
from gitworker.repo.plumbing.objects import read_objects
from gitworker.repo.plumbing.rules_tree import ALL, TREE, Protection, read_entries, tree_fault

WALK = (
    "log", "--format=commit %H %T", "--raw", "-t", "-r", "--root", "--diff-merges=separate",
    "--no-abbrev", "--no-renames", "--no-relative", "--ignore-submodules=none", "--no-notes",
    "--no-show-signature", "--no-color", "--no-ext-diff", "-O/dev/null",
)  # fmt: skip
SETTINGS = ("log.showRoot=true", "log.follow=false", "core.quotePath=false")


DEEPEST = 256  # levels that are read one by one, only if git has failed on the branch
SHOWN = 200  # characters of a path in a message
NAMED = re.compile(r"\bcommit(?: object)? ([0-9a-f]{64}|[0-9a-f]{40})\b")


class BadCommit(NamedTuple):
    """The first commit that git refuses and the reason.

    `path` is the entry of its tree that git cannot check out; None if its header is malformed.
    """

    commit: Oid
    path: str | None
    reason: str


class _Tree(NamedTuple):
    commit: Oid
    path: str  # empty, or it ends with a slash
    oid: Oid


def find_bad_commit(git: Git, tips: Sequence[Oid], *, base: Oid) -> BadCommit | None:
    """Return the first commit in `base..tips` that git refuses, or None."""
    tips = [tip for tip in dict.fromkeys(tips) if tip != base]
    if not tips:
        return None
    try:
        commits, trees = _changes(git, tips, base)
    except GitFailed as failure:  # git cannot read a commit or a tree: find out which
        named = [Oid(oid) for oid in NAMED.findall(failure.detail)]
        bad = _bad_header(named, read_objects(git, named)) or _walk_all(git, tips, base)
        if bad is None:
            raise
        return bad
    bad = _cut_off(git, commits)
    if bad is not None:
        return bad
    raws = read_objects(git, [*commits, *(tree.oid for tree in trees)])
    bad = _bad_header(commits, raws[: len(commits)])
    if bad is not None:
        return bad
    del raws[: len(commits)]
    found = _first_bad(trees, raws, ALL)
    if found is None:
        return None
    protection = _protection(git)  # read only now: it may allow a name that is refused otherwise
    return found if protection == ALL else _first_bad(trees, raws, protection)


def _changes(git: Git, tips: Sequence[Oid], base: Oid) -> tuple[list[Oid], list[_Tree]]:
    """Return the commits, the oldest first, and the trees that each changes."""
    out = git.run(*WALK, "--reverse", "--topo-order", *_range(tips, base), settings=SETTINGS).out
    trees: dict[Oid, _Tree] = {}
    commits: list[Oid] = []
    for line in os.fsdecode(out).split("\n"):
        if line.startswith("commit "):
            _, oid, root = line.split(" ")
            commits.append(Oid(oid))
            trees.setdefault(Oid(root), _Tree(commits[-1], "", Oid(root)))
        elif line.startswith(":"):
            facts, _, path = line.partition("\t")
            _, mode, _, new, _ = facts.split(" ")
            if mode == "040000":
                trees.setdefault(Oid(new), _Tree(commits[-1], f"{path}/", Oid(new)))
    return commits, list(trees.values())


def _cut_off(git: Git, commits: Sequence[Oid]) -> BadCommit | None:
    """Return the first commit whose parents a shallow repository hides.

    The file `shallow` can list any commit. A replay would take such a commit for the first one of
    all, and the branch's commits before it would be lost.
    """
    path = f"{require_repository(git.directory).common_dir}/shallow"
    try:
        with open(path, encoding="ascii", errors="replace", opener=open_regular) as file:
            listed = file.read().split()
    except FileNotFoundError:
        return None
    cut = set(listed)
    found = next((commit for commit in commits if commit in cut), None)
    return BadCommit(found, None, f"its parents are hidden by {path}") if found else None


def _bad_header(commits: Sequence[Oid], raws: Sequence[bytes | None]) -> BadCommit | None:
    for commit, raw in zip(commits, raws, strict=True):
        fault = None if raw is None else commit_fault(raw, oid_length=len(commit))
        if fault is not None:
            return BadCommit(commit, None, fault)
    return None


def _first_bad(
    trees: Sequence[_Tree], raws: Sequence[bytes | None], protection: Protection
) -> BadCommit | None:
    for tree, raw in zip(trees, raws, strict=True):
        fault = _fault(tree, raw, protection)
        if fault is not None:
            return BadCommit(tree.commit, _shortened(f"{tree.path}{fault[0]}"), fault[1])
    return None


def _shortened(path: str) -> str:
    return path if len(path) <= SHOWN else f"{path[:SHOWN]}…"


def _fault(tree: _Tree, raw: bytes | None, protection: Protection) -> tuple[str, str] | None:
    if raw is None:
        return "", f"the tree {tree.oid} is missing"
    above = len(os.fsencode(tree.path))
    return tree_fault(raw, oid_size=len(tree.oid) // 2, protection=protection, above=above)


def _walk_all(git: Git, tips: Sequence[Oid], base: Oid) -> BadCommit | None:
    """Read whole trees level by level, for branches that `git log` cannot show."""
    listed = git.text("rev-list", "--reverse", "--topo-order", *_range(tips, base)).split()
    commits = [Oid(oid) for oid in listed]
    raws = read_objects(git, commits)
    bad = _bad_header(commits, raws)
    for commit, raw in zip(commits, raws, strict=True):
        if bad is not None:
            break
        root = Oid((raw or b"")[5 : 5 + len(commit)].decode("ascii", "replace"))
        bad = _walk_tree(git, _Tree(commit, "", root))
    return bad


def _walk_tree(git: Git, root: _Tree) -> BadCommit | None:
    level, seen = [root], {root.oid}
    for _ in range(DEEPEST):
        raws = read_objects(git, [tree.oid for tree in level])
        bad = _first_bad(level, raws, ALL)
        if bad is not None:
            return bad
        found = [
            below
            for tree, raw in zip(level, raws, strict=True)
            for below in _subtrees(tree, raw or b"")
        ]
        level = list({tree.oid: tree for tree in found if tree.oid not in seen}.values())
        if not level:
            return None
        seen.update(tree.oid for tree in level)
    return BadCommit(root.commit, _shortened(level[0].path), "the path is too long for git")


def _subtrees(tree: _Tree, raw: bytes) -> Iterator[_Tree]:
    for entry in read_entries(raw, oid_size=len(tree.oid) // 2):
        if entry.mode == TREE:
            yield _Tree(tree.commit, f"{tree.path}{entry.name}/", entry.oid)


def _range(tips: Sequence[Oid], base: Oid) -> tuple[str, ...]:
    return (*tips, f"^{base}")


def _protection(git: Git) -> Protection:
    """Return the spellings of `.git` that count: all, unless a setting disables some."""
    asked = git.run(
        "config", "--type=bool", "--get-regexp", r"^core\.protect(hfs|ntfs)$", ok=(0, 1)
    )
    off = {line.split(" ")[0] for line in asked.text.splitlines() if line.endswith(" false")}
    return Protection("core.protecthfs" not in off, "core.protectntfs" not in off)
