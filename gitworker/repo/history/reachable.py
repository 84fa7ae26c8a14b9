"""The commits that a repository has, and those that its refs reach: few processes for many.

Plumbing works in every repository, and one walk answers for any number of commits.
"""

from collections.abc import Collection, Iterable, Mapping

from gitworker.model.ids import Oid
from gitworker.model.ref_names import ROUNDS
from gitworker.paths import require_repository
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.refs import is_ancestor
from gitworker.repo.worktrees.worktree_list import detached_heads


def find_missing(git: Git, oids: Collection[Oid]) -> set[Oid]:
    """Return the objects that the repository lacks, by at most one process."""
    if not oids:
        return set()
    asked = "".join(f"{oid}\n" for oid in oids).encode()
    answer = git.run("cat-file", "--batch-check=%(objectname)", "--buffer", stdin=asked).text
    return {Oid(line.split(" ")[0]) for line in answer.splitlines() if line.endswith(" missing")}


def find_unreachable(git: Git, commits: Collection[Oid], *, tips: Iterable[Oid]) -> list[Oid]:
    """Return the commits that no tip reaches; all of them must exist.

    If commits are older than their parents, git may exclude too few: a second walk, through the
    whole history, judges what the first one has found.
    """
    wanted, ends = set(commits), list(tips)
    if not wanted:
        return []
    asked = "".join(f"{oid}\n" for oid in (*wanted, *(f"^{tip}" for tip in ends)))
    walked = git.run("rev-list", "--stdin", stdin=asked.encode()).text.split()
    found = [Oid(line) for line in walked if line in wanted]
    if not found or not ends:
        return found
    asked = "".join(f"{tip}\n" for tip in ends)
    reached = set(git.run("rev-list", "--stdin", stdin=asked.encode()).text.split())
    return [oid for oid in found if oid not in reached]


def find_unreferenced(git: Git, commits: Collection[Oid]) -> list[Oid]:
    """Return the commits that no ref and no worktree's HEAD reaches; all must exist.

    The refs of rounds do not count, because they are deleted after the end of their task. It works
    while another worktree is being made or removed. The refs of a single worktree (refs/worktree/,
    refs/bisect/) count only for the worktree in which `git` runs.
    """
    heads = detached_heads(require_repository(git.directory).common_dir)
    lines = "".join(f"{oid}\n" for oid in (*commits, *(f"^{head}" for head in heads)))
    done = git.run(
        "rev-list", "--ignore-missing", "--stdin", "--single-worktree", "--not",
        f"--exclude={ROUNDS}*", "--all",
        stdin=lines.encode(),
    )  # fmt: skip
    wanted = set(commits)
    return [Oid(line) for line in done.text.split() if line in wanted]


def find_departed(git: Git, pairs: Collection[tuple[Oid, Oid]]) -> set[tuple[Oid, Oid]]:
    """Return the pairs (tip, commit) whose tip does not contain the commit.

    All of them must exist. One walk answers for all branches that only moved forward; each of the
    others costs one more process.
    """
    if not pairs:
        return set()
    asked = [*(tip for tip, _ in pairs), *(f"^{commit}" for _, commit in pairs)]
    text = git.run("rev-list", "--parents", "--stdin", stdin="\n".join((*asked, "")).encode()).text
    parents = {words[0]: words[1:] for words in map(str.split, text.splitlines())}
    return {
        (tip, commit)
        for tip, commit in pairs
        if not _leads_to(parents, tip, commit) and not is_ancestor(git, commit, tip)
    }


def _leads_to(parents: Mapping[str, list[str]], tip: str, commit: str) -> bool:
    """Return whether a walk through the known parents surely reaches a commit."""
    seen, left = {tip}, [tip]
    while left:
        at = left.pop()
        if at == commit:
            return True
        new = [parent for parent in parents.get(at, ()) if parent not in seen]
        seen.update(new)
        left += new
    return False


def heads_of(git: Git, commits: Collection[Oid]) -> list[Oid]:
    """Return the commits that are not ancestors of other commits among them."""
    if len(commits) < 2:
        return list(commits)
    return [Oid(line) for line in git.text("merge-base", "--independent", *commits).splitlines()]


def find_absent(git: Git, tips: Iterable[Oid], *, is_partial: bool) -> tuple[set[Oid], str]:
    """Return objects that these commits need and the repository lacks, and git's complaint.

    One walk through trees and history, for `fsck` only; tips that do not exist are skipped. The
    complaint is empty if the walk finished; git ends it at a missing commit, and in a partial clone
    at the first object that no remote has promised.
    """
    missing = "allow-promisor" if is_partial else "print"
    done = git.run(
        "rev-list", "--objects", "--quiet", "--ignore-missing", f"--missing={missing}", "--stdin",
        stdin="".join(f"{tip}\n" for tip in tips).encode(), ok=(0, 128),
    )  # fmt: skip
    found = {Oid(line[1:]) for line in done.text.splitlines() if line.startswith("?")}
    return found, done.complaint if done.status else ""
