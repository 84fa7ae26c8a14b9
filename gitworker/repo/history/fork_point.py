"""Where the own commits of a branch that was started on another branch begin. Read-only.

The other branch goes on, is amended, rebased and lands, and the branch on top may have been rebased
by hand meanwhile; what is left are commits that the other is known to have been at, and patches.
"""

from collections.abc import Collection, Sequence

from gitworker.model.ids import Oid, Ref
from gitworker.repo.history.patch_ids import EMPTY, patches_by_commit
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.refs import is_ancestor


def past_tips(git: Git, ref: Ref) -> set[Oid]:
    """Return the commits that a branch was at, by its reflog; empty where it is gone."""
    done = git.run("rev-list", "--walk-reflogs", ref, "--", ok=(0, 128))
    return {Oid(line) for line in done.text.split()} if done.status == 0 else set()


def find_start(
    git: Git, tip: Oid, *, target: Oid, others: Collection[Oid], last: Oid
) -> Oid | None:
    """Return the newest commit of a branch that is not its own, None where all of it is.

    Not its own is what `target` or one of `others`, commits of the other branch, contains; those
    that are gone from the repository do not count. Where `last`, the newest that the branch was
    known to contain, is not in it any more, it was rebased by hand: then commits at its beginning
    that have the patch of one of the other's are not its own either. `tip` where nothing is.
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
    """Return the commit that leaves the fewest of the branch's; there are several after merges."""
    if len(edges) < 2:
        return edges[0] if edges else None
    return min(edges, key=lambda edge: int(git.text("rev-list", "--count", tip, f"^{edge}", "--")))
