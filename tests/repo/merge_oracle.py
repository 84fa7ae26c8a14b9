"""The oracle of the radar's tests: a real `git merge` in a worktree."""

import os

from fixtures.repos import Repo
from gitworker.model.ids import Oid
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.opening import CONFIG
from gitworker.repo.replay.merge_pairs import UNNAMED, Batch, Merged, merge_pairs

Pair = tuple[Oid, Oid]
SUBMODULE = "160000"


Entries = dict[str, frozenset[str]]


def merge_outcome(repo: Repo, one: str, other: str) -> tuple[str, ...]:
    """Merge `other` into `one` for real and return the paths in conflict, none for a clean merge.

    Paths that git moves aside are reported under their names in the commits. A conflict in
    no file at all is one of directories.
    """
    return tuple(sorted(merge_entries(repo, one, other)))


def merge_entries(repo: Repo, one: str, other: str) -> Entries:
    """Merge for real; return the unmerged entries of the index by path, without labels."""
    worktree = repo.root.parent / "oracle"
    oracle = Repo(worktree)
    if not worktree.exists():
        repo.git("worktree", "add", "-q", "--detach", str(worktree), one)
    oracle.git("checkout", "-q", "--force", "--detach", one)
    done = oracle.run("merge", "-q", "--no-edit", "--allow-unrelated-histories", other)
    out = os.fsdecode(oracle.run("ls-files", "--unmerged", "-z").stdout)
    oracle.run("merge", "--abort")
    oracle.git("reset", "-q", "--hard", one)
    oracle.git("clean", "-ffdxq")
    found: dict[str, set[str]] = {}
    for entry in out.split("\0")[:-1]:
        blob, _, path = entry.partition("\t")
        mode, oid, stage = blob.split(" ")
        text = repo.run("cat-file", "blob", oid).stdout if mode != SUBMODULE else oid.encode()
        text = text.replace(b"<<<<<<< HEAD", b"<<<<<<< ").replace(other.encode(), b"")
        path = path.partition("~HEAD")[0].partition(f"~{other}")[0]
        found.setdefault(path, set()).add(f"{mode} {hash(text)} {stage}")
    assert bool(found) <= (done.returncode != 0), (found, done)
    if done.returncode and not found:
        assert b"CONFLICT" in done.stdout, done
        return {UNNAMED: frozenset()}
    return {path: frozenset(blobs) for path, blobs in found.items()}


def own_outcome(repo: Repo, one: str, other: str, *, target: str) -> tuple[str, ...]:
    """Merge for real; return the paths in conflict to which both branches contribute.

    A path is left out if one branch has the same conflict with the target's commit at which the
    other left the target.
    """
    found = merge_entries(repo, one, other)
    if target in (one, other):
        return tuple(sorted(found))
    for held, start in ((one, fork_of(repo, other, target)), (other, fork_of(repo, one, target))):
        if found and start and start not in (one, other):
            sides = (one, start) if held == one else (start, other)
            with_target = merge_entries(repo, *sides)
            found = {path: blobs for path, blobs in found.items() if with_target.get(path) != blobs}
    return tuple(sorted(found))


def fork_of(repo: Repo, tip: str, target: str) -> str:
    """Return the newest commit of the target that a branch contains, if there is one."""
    return repo.run("merge-base", target, tip).stdout.decode().strip()


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
