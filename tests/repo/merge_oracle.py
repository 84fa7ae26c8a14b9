"""The oracle of the radar's tests: a real `git merge` in a worktree."""

import os

from fixtures.repos import Repo
from gitworker.model.ids import Oid
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.opening import CONFIG
from gitworker.repo.replay.merge_pairs import UNNAMED, Batch, Merged, merge_pairs

Pair = tuple[Oid, Oid]


def merge_outcome(repo: Repo, one: str, other: str) -> tuple[str, ...]:
    """Merge `other` into `one` for real and return the paths in conflict, none for a clean merge.

    Paths that git moves aside are reported under their names in the commits. A conflict in
    no file at all is one of directories.
    """
    worktree = repo.root.parent / "oracle"
    oracle = Repo(worktree)
    if not worktree.exists():
        repo.git("worktree", "add", "-q", "--detach", str(worktree), one)
    oracle.git("checkout", "-q", "--force", "--detach", one)
    done = oracle.run("merge", "-q", "--no-edit", "--allow-unrelated-histories", other)
    out = os.fsdecode(oracle.run("diff", "--name-only", "--diff-filter=U", "-z").stdout)
    paths = {path.partition("~HEAD")[0].partition(f"~{other}")[0] for path in out.split("\0")}
    oracle.run("merge", "--abort")
    oracle.git("reset", "-q", "--hard", one)
    oracle.git("clean", "-ffdxq")
    found = tuple(sorted(paths - {""}))
    if done.returncode and not found:
        assert b"CONFLICT" in done.stdout, done
        return (UNNAMED,)
    assert bool(found) == (done.returncode != 0), (found, done)
    return found


def merged(repo: Repo, *pairs: Pair, attributes: dict[str, bytes] | None = None) -> Merged:
    """Merge pairs in memory, with git's own settings as the program reads them."""
    fields = repo.git(*CONFIG).split("\0")
    settings = dict(entry.split("\n", 1) for entry in fields[1::2] if "\n" in entry)
    return merge_pairs(
        Git(str(repo.root)).text("rev-parse", "--path-format=absolute", "--git-common-dir"),
        [Batch(pairs, attributes or {})],
        scratch_dir=str(repo.root.parent / "scratch"),
        git_config=settings,
    )


def agree(repo: Repo, one: str, other: str) -> tuple[str, ...]:
    """Require that memory and a real merge agree about a pair; return the paths in conflict."""
    pair = (Oid(one), Oid(other))
    found = merged(repo, pair)
    assert found.complaint == ""
    assert found.files[pair] == merge_outcome(repo, *pair)
    return found.files[pair]
