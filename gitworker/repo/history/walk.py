"""Read history: tips of many branches, commits that would land, parents of all commits.

git's plumbing answers the short commands. Measured on flask (5,531 commits), import included:
pygit2 takes 6 times as long as two git processes for ahead/behind and 20 subjects, so `show` and
`diff` ask git. For the whole history with parents it takes 2.2 times as long, all of it for its
import (the walks alone are equally fast). So only `doctor`, whose duration matters least, uses
pygit2, and plumbing if pygit2 is missing or cannot open the repository (sha256, reftable).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.model.ids import Oid, Ref
from gitworker.repo.plumbing.git import Git, GitFailed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

    Parents = Mapping[Oid, tuple[Oid, ...]]
    Tips = dict[Ref, "Tip"]

FIELD = "\x1f"
COUNTS_SINCE = (2, 41)  # %(ahead-behind:…) of git-for-each-ref(1)
# An older git counts against the branch that a push would update. This remote, which exists for one
# process, maps every branch to the one that we compare with.
COUNTED_REMOTE = "gitworker-status"
# git counts all branches in one walk, which has a price: 1,000 branches take 65 ms with counts,
# 27 ms without (git 2.55). In a list that long only the states are read.
COUNTED_AT_MOST = 50


class Tip(NamedTuple):
    """The tip of a branch; ahead and behind are None if they are not counted."""

    oid: Oid
    subject: str
    ahead: int | None
    behind: int | None


class CommitLine(NamedTuple):
    """One commit in a list: id, author's name, subject."""

    oid: Oid
    author: str
    subject: str


def read_tips(git: Git, refs: Mapping[Ref, Oid], *, against: Ref, named: Set[Oid]) -> Tips:
    """Return these branches with ahead and behind, and the subjects of the commits in `named`.

    Ahead and behind are counted only for few branches; then all subjects are filled. Starts one
    process at most, two if the counts fail, and none without work.
    """
    if refs and len(refs) <= COUNTED_AT_MOST:
        counted = _counted(git, list(refs), against)
        if counted is not None:
            return counted
    subjects = read_subjects(git, named & set(refs.values()))
    return {ref: Tip(oid, subjects.get(oid, ""), None, None) for ref, oid in refs.items()}


def read_subjects(git: Git, commits: Set[Oid]) -> dict[Oid, str]:
    """Return the first lines of commits' messages, by one process at most.

    A missing commit is left out, at the cost of two more processes, so one broken branch does not
    hide the others.
    """
    if not commits:
        return {}
    asked = "".join(f"{oid}\n" for oid in commits).encode()
    done = git.run(
        "log", "-z", "--no-walk=unsorted", "--stdin", "--no-show-signature", "--encoding=UTF-8",
        f"--format=%H{FIELD}%s", stdin=asked, ok=(0, 128),
    )  # fmt: skip
    if done.status != 0:
        answer = git.run("cat-file", "--batch-check=%(objectname)", stdin=asked).text
        present = {Oid(line) for line in answer.splitlines() if " " not in line}
        if present == commits:
            raise GitFailed("git cannot read the branches' commits", detail=done.complaint)
        return read_subjects(git, present)
    records = (record.partition(FIELD) for record in done.text.split("\0") if record)
    return {Oid(oid): subject for oid, _, subject in records}


def count_divergence(git: Git, *, ours: Oid, theirs: Oid) -> tuple[int, int]:
    """Return how many commits `ours` has that `theirs` lacks, and the reverse."""
    words = git.text("rev-list", "--left-right", "--count", f"{ours}...{theirs}", "--").split()
    return int(words[0]), int(words[1])


def list_commits(git: Git, *, base: Oid, tip: Oid, limit: int) -> tuple[CommitLine, ...]:
    """Return the newest commits of `tip` that `base` lacks, newest first."""
    out = git.run(
        "log", "-z", "--topo-order", "--no-show-signature", f"--max-count={limit}",
        "--encoding=UTF-8", f"--format=%H{FIELD}%an{FIELD}%s", f"{base}..{tip}", "--",
    ).text  # fmt: skip
    records = [record.split(FIELD, 2) for record in out.split("\0") if record]
    return tuple(CommitLine(Oid(oid), author, subject) for oid, author, subject in records)


def list_changed_files(git: Git, *, base: Ref | Oid, tip: Ref) -> tuple[str, ...]:
    """Return the paths that `tip` changed since it left `base`; empty for unrelated histories."""
    done = git.run(
        "diff", "--name-only", "--no-ext-diff", "-z", "--find-renames", "-l0", "--no-relative",
        "--ignore-submodules=none", "-O/dev/null", f"{base}...{tip}", "--", ok=(0, 128),
    )  # fmt: skip
    return tuple(path for path in done.text.split("\0") if path and done.status == 0)


def read_diff(
    git: Git,
    *,
    base: Ref | Oid,
    tip: Ref,
    options: Sequence[str] = (),
    paths: Sequence[str] = (),
) -> str:
    """Return `git diff BASE...TIP` as the user's git shows it, with undecodable bytes escaped."""
    return git.run("diff", *options, f"{base}...{tip}", "--", *paths).text


def read_parents(git: Git, *, tip: Oid, since: Oid | None) -> Parents:
    """Return every commit of `tip` that `since` lacks, with its parents, by pygit2 or by git.

    A `since` that does not exist counts as None: the whole history.
    """
    found = walk_by_pygit2(git, tip=tip, since=since)
    return walk_by_plumbing(git, tip=tip, since=since) if found is None else found


def walk_by_pygit2(git: Git, *, tip: Oid, since: Oid | None) -> Parents | None:
    """Return the result of `read_parents`; None if pygit2 cannot open or read the repository."""
    try:
        import pygit2  # 60 ms, only for doctor
    except ImportError:
        return None
    try:
        repository = pygit2.Repository(git.directory)
        walker = repository.walk(tip)
        if since is not None and since in repository:
            walker.hide(since)
        return {
            Oid(str(commit.id)): tuple(Oid(str(parent)) for parent in commit.parent_ids)
            for commit in walker
        }
    except (pygit2.GitError, KeyError, ValueError):
        return None


def walk_by_plumbing(git: Git, *, tip: Oid, since: Oid | None) -> Parents:
    """Return the result of `read_parents` by one git process, two if `since` does not exist."""
    excluded = [] if since is None else [f"^{since}"]
    done = git.run("rev-list", "--parents", tip, *excluded, "--", ok=(0, 128))
    if done.status != 0:
        if since is None:
            raise GitFailed(f"git cannot read the history of {tip}", detail=done.complaint)
        return walk_by_plumbing(git, tip=tip, since=None)
    lines = (line.split(" ") for line in done.text.splitlines())
    return {Oid(oid): tuple(map(Oid, parents)) for oid, *parents in lines}


def _counted(git: Git, refs: Sequence[Ref], against: Ref) -> Tips | None:
    """Return the tips with their counts, None if `against` has no commit."""
    knows_counts = git.version() >= COUNTS_SINCE
    counts = f"%(ahead-behind:{against})" if knows_counts else "%(push) %(push:track,nobracket)"
    form = f"%(objectname)%1f%(refname)%1f{counts}%1f%(contents:subject)"
    done = git.run(
        "for-each-ref", f"--format={form}", "--", *refs, ok=(0, 128),
        settings=() if knows_counts else _counted_settings(refs, against),
    )  # fmt: skip
    if done.status != 0:
        return None
    wanted = set(refs)
    tips = {}
    for line in done.text.split("\n"):
        fields = line.split(FIELD, 3)
        if len(fields) == 4 and fields[1] in wanted:
            ref = Ref(fields[1])
            words = fields[2].split()
            if knows_counts:
                ahead, behind = _numbers(words)
            else:
                ahead, behind = (0, 0) if ref == against else _tracked(words, against)
            tips[ref] = Tip(Oid(fields[0]), fields[3], ahead, behind)
    return tips


def _counted_settings(refs: Sequence[Ref], against: Ref) -> list[str]:
    """Return the settings by which a push of each branch updates `against`."""
    remote = f"remote.{COUNTED_REMOTE}"
    pushes = [f"{remote}.push={ref}:{against}" for ref in refs]
    return [
        f"remote.pushDefault={COUNTED_REMOTE}", f"{remote}.url=.",
        f"{remote}.fetch={against}:{against}", *pushes,
    ]  # fmt: skip


def _numbers(words: Sequence[str]) -> tuple[int | None, int | None]:
    """Return ahead and behind from `%(ahead-behind:…)`."""
    return int(words[0]), int(words[1])


def _tracked(words: Sequence[str], against: Ref) -> tuple[int | None, int | None]:
    """Return ahead and behind from `%(push:track)`: `ahead 1, behind 2`, or nothing if equal.

    Return None if the user's settings push the branch elsewhere, or if `against` has no commit.
    """
    if words[:1] != [against] or "gone" in words[1:]:
        return None, None
    counts = {words[at]: int(words[at + 1].rstrip(",")) for at in range(1, len(words), 2)}
    return counts.get("ahead", 0), counts.get("behind", 0)
