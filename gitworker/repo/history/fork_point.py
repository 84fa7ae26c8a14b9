"""Find the fork point of a branch that was started on another branch. Read-only.

Meanwhile the other branch may be amended, rebased or landed, and the branch on top may be rebased
by hand. The evidence that remains: commits that the other branch is known to have pointed at, and
equal patches.
"""

from collections.abc import Collection, Sequence

from gitworker.model.ids import Oid, Ref
from gitworker.repo.history.patch_ids import EMPTY, patches_by_commit
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.refs import is_ancestor


def past_tips(git: Git, ref: Ref) -> set[Oid]:
    """Return the commits that a branch pointed at, by its reflog; empty if the branch is absent."""
    done = git.run("rev-list", "--walk-reflogs", ref, "--", ok=(0, 128))
    return {Oid(line) for line in done.text.split()} if done.status == 0 else set()


def find_start(
    git: Git, tip: Oid, *, target: Oid, others: Collection[Oid], last: Oid
) -> Oid | None:
    """Return the newest commit that does not belong to a branch itself; None if all belong to it.

    Commits in `target` or in one of `others`, commits of the other branch, do not belong to it.
    Missing objects among them are ignored. `last` is the newest foreign commit that the branch was
    known to contain. If the branch does not contain it any more, it was rebased by hand: then
    commits at its start with the patch of a commit of the other branch do not belong to it either.
    Returns `tip` if the branch has no commits of its own.
    """
    walked = _walk(git, [tip, f"^{target}", *(f"^{oid}" for oid in sorted(others))])
    own = [line.split(" ") for line in walked if line[0] != "-"]
    edges = [Oid(line[1:].split(" ")[0]) for line in walked if line[0] == "-"]
    if not own:
        return tip
    start = _nearest(git, tip, edges)
    is_line = len(edges) <= 1 and all(len(commit) == 2 for commit in own)
    if not is_line or last in edges or is_ancestor(git, last, tip):
        return start
    theirs = patches_by_commit(git, [f"^{target}", *sorted(others)], missing_ok=True)
    patches = patches_by_commit(git, [tip, *(f"^{edge}" for edge in edges)])
    known = set(theirs.values()) - {EMPTY}
    for oid, *_ in reversed(own):
        if patches.get(Oid(oid)) not in known:
            break
        start = Oid(oid)
    return start


def _walk(git: Git, revisions: Sequence[str]) -> list[str]:
    done = git.run(
        "rev-list", "--ignore-missing", "--topo-order", "--parents", "--boundary", "--stdin",
        stdin="".join(f"{revision}\n" for revision in revisions).encode(),
    )  # fmt: skip
    return done.text.splitlines()


def _nearest(git: Git, tip: Oid, edges: Sequence[Oid]) -> Oid | None:
    """Return the commit that leaves the fewest commits on the branch (merges give several)."""
    if len(edges) < 2:
        return edges[0] if edges else None
    return min(edges, key=lambda edge: int(git.text("rev-list", "--count", tip, f"^{edge}", "--")))
