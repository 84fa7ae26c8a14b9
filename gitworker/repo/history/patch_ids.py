"""Patch ids: what an approval holds for, whatever commit carries the patch (DESIGN section 7)."""

from collections.abc import Sequence

from gitworker.model.ids import Oid
from gitworker.paths import require_repository
from gitworker.repo.history.diffs import BlobChange, diff_commits
from gitworker.repo.plumbing.commit_bytes import approved_text, parse_commit, rebased_text
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.objects import read_objects

EMPTY = "empty"  # stands for a commit that changes nothing and so has no patch
# Whatever a user may have configured about diffs, the same patch has the same text here.
SETTINGS = (
    "diff.suppressBlankEmpty=false",
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
    "log.showRoot=true",
    "log.follow=false",
    "core.quotePath=true",
    "core.attributesFile=/dev/null",
)
OPTIONS = (
    "--reverse", "--topo-order", "--no-merges", "--format=commit %H", "-p", "--full-index",
    "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-relative",
    "--no-indent-heuristic", "--diff-algorithm=myers", "--unified=3", "--inter-hunk-context=0",
    "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", "--ignore-submodules=none",
    "--no-notes", "--no-show-signature", "--no-decorate", "-O/dev/null",
)  # fmt: skip


def patch_ids(git: Git, base: Oid, tip: Oid) -> tuple[str, ...]:
    """Return the patch id of every commit in `base..tip`, oldest first, merges left out.

    White space counts; author, message and place do not. Two processes for the whole range. It
    runs as in a bare repository, so that no worktree's attributes change the text; a binary file
    counts by its blobs before and after.
    """
    return tuple(patches_by_commit(git, [f"{base}..{tip}"]).values())


def patches_by_commit(
    git: Git, revisions: Sequence[str], *, missing_ok: bool = False, walk: bool = True
) -> dict[Oid, str]:
    """Return the same by commit, for any revisions; `missing_ok`: those that are gone are none.

    Without `walk` of these commits alone, not of those before them.
    """
    bare = Git(require_repository(git.directory).common_dir)
    stdin = "".join(f"{revision}\n" for revision in revisions).encode()
    options = ["--ignore-missing"] * missing_ok + ["--no-walk"] * (not walk)
    log = bare.run(
        "--bare", "log", *OPTIONS, *options, "--stdin", stdin=stdin, settings=SETTINGS
    ).out
    if not log:
        return {}
    out = bare.run("--bare", "patch-id", "--verbatim", stdin=log).text
    by_commit = {commit: patch for patch, commit in (line.split() for line in out.splitlines())}
    commits = (line[7:].decode() for line in log.split(b"\n") if line.startswith(b"commit "))
    return {Oid(commit): by_commit.get(commit, EMPTY) for commit in commits}


def fingerprints(git: Git, base: Oid, tip: Oid) -> tuple[str, ...]:
    """Return what an approval records of every commit in `base..tip`, oldest first.

    Each is the patch id and a digest of author and message; a commit whose text a rebase changes
    (another encoding) has a second digest, of what the rebase makes of it. Merges are left out.
    """
    patches = patches_by_commit(git, [f"{base}..{tip}"])
    raws = read_objects(git, list(patches))
    return tuple(
        " ".join([patch, *_text_digests(oid, raw or b"")])
        for (oid, patch), raw in zip(patches.items(), raws, strict=True)
    )


def _text_digests(oid: Oid, raw: bytes) -> tuple[str, ...]:
    from hashlib import sha256  # 3 ms, not for every command

    commit = parse_commit(oid, raw)
    texts = [approved_text(raw)]
    if commit.is_rewritable:
        texts.append(rebased_text(commit))
    return tuple(dict.fromkeys(sha256(text).hexdigest() for text in texts))


def keeps_patches(
    git: Git,
    picks: Sequence[tuple[Oid, Oid]],
    *,
    known: dict[str, tuple[BlobChange, ...]] | None = None,
) -> bool:
    """Tell by one process whether each new commit surely carries the patch of its old one.

    `picks` are pairs (old, new). True where both change the same paths from the same blobs and
    modes to the same ones, so that their patch ids are equal; False says nothing, as where the
    target changed other lines of a file: ask `patch_ids`. `known` as in `diff_commits`.
    """
    changes = diff_commits(git, [oid for pair in picks for oid in pair], known=known)
    return changes is not None and changes[::2] == changes[1::2]
