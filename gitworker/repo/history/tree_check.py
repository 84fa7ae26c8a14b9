"""Check that git can check out every commit of a branch, before the branch is accepted.

Only trees that the branch changes are read: `git log` lists them, `git cat-file` reads them.
`merge-tree` and `read-tree` accept trees that the next checkout refuses, so no other step finds
them.
"""

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gitworker.model.ids import Oid
from gitworker.repo.plumbing.git import Git, GitFailed
from gitworker.repo.plumbing.objects import read_objects
from gitworker.repo.plumbing.rules_tree import ALL, TREE, Protection, read_entries, tree_fault

WALK = (
    "log", "--format=commit %H %T", "--raw", "-t", "-r", "--root", "--diff-merges=separate",
    "--no-abbrev", "--no-renames", "--no-relative", "--ignore-submodules=none", "--no-notes",
    "--no-show-signature", "--no-color", "--no-ext-diff", "-O/dev/null",
)  # fmt: skip
SETTINGS = ("log.showRoot=true", "log.follow=false", "core.quotePath=false")


class BadTree(NamedTuple):
    """The first entry that git cannot check out: its commit, its path, the reason."""

    commit: Oid
    path: str
    reason: str


class _Tree(NamedTuple):
    commit: Oid
    path: str  # empty, or it ends with a slash
    oid: Oid


def find_bad_tree(git: Git, tips: Sequence[Oid], *, base: Oid) -> BadTree | None:
    """Return the first entry in `base..tips` that git refuses to check out, None if all pass."""
    tips = [tip for tip in dict.fromkeys(tips) if tip != base]
    if not tips:
        return None
    try:
        trees = _changed_trees(git, tips, base)
    except GitFailed:  # git cannot read a tree: find that tree
        bad = _walk_all(git, tips, base)
        if bad is None:
            raise
        return bad
    found = _first_bad(git, trees, ALL)
    if found is None:
        return None
    protection = _protection(git)  # read only now: the settings may allow this entry
    return found if protection == ALL else _first_bad(git, trees, protection)


def _changed_trees(git: Git, tips: Sequence[Oid], base: Oid) -> list[_Tree]:
    """Return the trees that each commit changes, the oldest commit first."""
    out = git.run(*WALK, "--reverse", "--topo-order", *_range(tips, base), settings=SETTINGS).out
    trees: dict[Oid, _Tree] = {}
    commit = Oid("")
    for line in os.fsdecode(out).split("\n"):
        if line.startswith("commit "):
            _, oid, root = line.split(" ")
            commit = Oid(oid)
            trees.setdefault(Oid(root), _Tree(commit, "", Oid(root)))
        elif line.startswith(":"):
            facts, _, path = line.partition("\t")
            _, mode, _, new, _ = facts.split(" ")
            if mode == "040000":
                trees.setdefault(Oid(new), _Tree(commit, f"{path}/", Oid(new)))
    return list(trees.values())


def _first_bad(git: Git, trees: Sequence[_Tree], protection: Protection) -> BadTree | None:
    for tree, raw in zip(trees, _read(git, trees), strict=True):
        fault = _fault(tree, raw, protection)
        if fault is not None:
            return BadTree(tree.commit, f"{tree.path}{fault[0]}", fault[1])
    return None


def _fault(tree: _Tree, raw: bytes | None, protection: Protection) -> tuple[str, str] | None:
    if raw is None:
        return "", f"the tree {tree.oid} is missing"
    return tree_fault(raw, oid_size=len(tree.oid) // 2, protection=protection)


def _walk_all(git: Git, tips: Sequence[Oid], base: Oid) -> BadTree | None:
    """Read whole trees level by level, for branches that `git log` cannot show."""
    listed = git.text("rev-list", "--reverse", "--topo-order", *_range(tips, base)).split()
    commits = [Oid(oid) for oid in listed]
    for commit, raw in zip(commits, read_objects(git, commits), strict=True):
        root = Oid((raw or b"")[5 : 5 + len(commit)].decode("ascii", "replace"))
        bad = _walk_tree(git, _Tree(commit, "", root))
        if bad is not None:
            return bad
    return None


def _walk_tree(git: Git, root: _Tree) -> BadTree | None:
    level = [root]
    while level:
        below: list[_Tree] = []
        for tree, raw in zip(level, _read(git, level), strict=True):
            fault = _fault(tree, raw, ALL)
            if fault is not None:
                return BadTree(tree.commit, f"{tree.path}{fault[0]}", fault[1])
            below += _subtrees(tree, raw or b"")
        level = below
    return None


def _subtrees(tree: _Tree, raw: bytes) -> Iterator[_Tree]:
    for entry in read_entries(raw, oid_size=len(tree.oid) // 2):
        if entry.mode == TREE:
            yield _Tree(tree.commit, f"{tree.path}{entry.name}/", entry.oid)


def _read(git: Git, trees: Sequence[_Tree]) -> list[bytes | None]:
    return read_objects(git, [tree.oid for tree in trees])


def _range(tips: Sequence[Oid], base: Oid) -> tuple[str, ...]:
    return (*tips, f"^{base}")


def _protection(git: Git) -> Protection:
    """Return the spellings of `.git` that count: all, unless a setting disables some."""
    asked = git.run(
        "config", "--type=bool", "--get-regexp", r"^core\.protect(hfs|ntfs)$", ok=(0, 1)
    )
    off = {line.split(" ")[0] for line in asked.text.splitlines() if line.endswith(" false")}
    return Protection("core.protecthfs" not in off, "core.protectntfs" not in off)
