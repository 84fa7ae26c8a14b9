"""Commits that only a worktree's own git directory reaches, and that would be lost with it.

Operations in progress name some (an autostash, MERGE_HEAD), `refs/worktree/` of the user name
others, and the log of HEAD names amended and reset commits. git keeps them as long as it knows the
worktree.
"""

import os
from collections.abc import Iterator
from contextlib import suppress

from gitworker.model.ids import Oid
from gitworker.paths import open_regular, require_repository
from gitworker.repo.history.reachable import find_unreferenced, heads_of
from gitworker.repo.plumbing.git import Git

FILES = (
    "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_HEAD", "MERGE_AUTOSTASH",
    "rebase-merge/autostash", "rebase-merge/orig-head", "rebase-merge/onto",
    "rebase-apply/autostash", "rebase-apply/orig-head", "rebase-apply/onto", "sequencer/head",
    "sequencer/abort-safety",
)  # fmt: skip
PAST = ("ORIG_HEAD", "REBASE_HEAD")  # of finished operations; git itself keeps neither reachable
LENGTHS = (40, 64)  # of an id: sha1, sha256
# Log entries of HEAD after which the previous commit is a parent, or is kept by a rescue ref.
FORWARD = (
    "commit: ",
    "commit (merge): ",
    "merge ",
    "cherry-pick: ",
    "am: ",
    "revert: ",
    "gitworker: ",
)
VISITS = ("checkout: ", "reset: ", "rebase (start): ")  # all other entries make a commit


def find_worktree_only_commits(git: Git, admin_dir: str, *, log: bool) -> list[Oid]:
    """Return the newest commits that a worktree's directory names and no ref reaches.

    With `log`, earlier positions of its HEAD count too. `git` runs elsewhere, so that the
    worktree's own refs do not count.
    """
    named = _named(admin_dir, log=log)
    if os.path.isdir(f"{admin_dir}/reftable"):
        named |= _named_in_tables(git, admin_dir, log=log)
    if not named:
        return []
    asked = "".join(f"{oid}^{{commit}}\n" for oid in sorted(named)).encode()
    answer = git.run("cat-file", "--batch-check=%(objectname)", "--buffer", stdin=asked).text
    there = {Oid(line) for line in answer.splitlines() if len(line) in LENGTHS}
    if not there:
        return []
    return heads_of(git, sorted(find_unreferenced(git, there)))


def has_abandoned_commits(admin_dir: str) -> bool:
    """Return whether a worktree's HEAD ever left a commit made there for one not on top of it.

    Starts no process. If it returns False, `find_worktree_only_commits` need not search for amended
    or reset commits. A log in reftables is not read: the answer is True then.
    """
    if os.path.isdir(f"{admin_dir}/reftable"):
        return True
    is_made, last = False, ""
    for line in _lines(f"{admin_dir}/logs/HEAD"):
        facts, _, reason = line.partition("\t")
        old, new = [*facts.split(" ", 2), "", ""][:2]
        is_forward = reason.startswith(FORWARD) and old == last
        if is_made and old != new and not is_forward:
            return True
        is_made |= bool(reason) and old != new and not reason.startswith(VISITS)
        last = new
    return False


def _named(admin_dir: str, *, log: bool) -> set[str]:
    words: set[str] = set()
    files = FILES + PAST if log else FILES
    for path in (*(f"{admin_dir}/{name}" for name in files), *_own_refs(admin_dir)):
        words.update(line.split(" ", 1)[0] for line in _lines(path))
    if log:
        for line in _lines(f"{admin_dir}/logs/HEAD"):
            words.update(line.split(" ", 2)[:2])
    return {word for word in words if len(word) in LENGTHS and word.strip("0")}


def _named_in_tables(git: Git, admin_dir: str, *, log: bool) -> set[str]:
    """Return the commits in a worktree's own reftables, and refs of the whole repository."""
    env = {"GIT_COMMON_DIR": require_repository(git.directory).common_dir}
    here = Git(git.directory, git_dir=admin_dir)
    listing = ("for-each-ref", "--include-root-refs", "--format=%(objectname) %(refname)")
    words: set[str] = set()
    for line in here.run(*listing, env=env, ok=(0, 128)).text.splitlines():
        oid, _, name = line.partition(" ")
        if log or name not in PAST:
            words.add(oid)
    if log:  # in the trash HEAD does not exist any more
        walk = here.run("rev-list", "--walk-reflogs", "HEAD", "--", env=env, ok=(0, 128))
        words.update(walk.text.split())
    return words


def _own_refs(admin_dir: str) -> Iterator[str]:
    for directory, _, names in os.walk(f"{admin_dir}/refs"):
        yield from (f"{directory}/{name}" for name in names)


def _lines(path: str) -> list[str]:
    with (
        suppress(OSError),
        open(path, encoding="utf-8", errors="surrogateescape", opener=open_regular) as file,
    ):
        return file.read().splitlines()
    return []
