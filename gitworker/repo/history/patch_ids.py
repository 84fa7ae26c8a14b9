"""Patch ids: identify a patch in any commit that carries it, for approvals."""

import os
from collections.abc import Sequence
from typing import NamedTuple

from gitworker.model.ids import Oid
from gitworker.paths import require_repository
from gitworker.repo.history.diffs import diff_commits
from gitworker.repo.plumbing.commit_bytes import approved_text, parse_commit, rebased_text
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.objects import read_objects
from gitworker.repo.status.path_changes import Change

EMPTY = "empty"  # the patch of a commit that changes nothing
# The same patch has the same text under every diff configuration of the user.
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
    "--reverse", "--topo-order", "-p", "--full-index",
    "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-relative",
    "--no-indent-heuristic", "--diff-algorithm=myers", "--unified=3", "--inter-hunk-context=0",
    "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", "--ignore-submodules=none",
    "--no-notes", "--no-show-signature", "--no-decorate", "-O/dev/null",
)  # fmt: skip
HEAD = b"commit "
# Parents, author and message are indented, since patch-id takes a line that begins with an id or
# with "diff " for a new commit or a patch.
TEXT = "%n %P%w(0,1,1)%n%an <%ae>%n%B"


class PatchedCommit(NamedTuple):
    """A commit with its patch id, its author as `Name <mail>`, and its message."""

    commit: Oid
    patch: str
    parents: tuple[Oid, ...]
    author: str
    message: str


def patch_ids(git: Git, base: Oid, tip: Oid) -> tuple[str, ...]:
    """Return the patch id of every commit in `base..tip`, oldest first, without merges.

    White space counts; author, message and position do not. Two processes for the whole range. git
    runs as in a bare repository, so that no attributes of a worktree change the text. A binary file
    counts by its blobs before and after.
    """
    return tuple(patches_by_commit(git, [f"{base}..{tip}"]).values())


def patches_by_commit(
    git: Git, revisions: Sequence[str], *, missing_ok: bool = False, walk: bool = True
) -> dict[Oid, str]:
    """Return the patch id of each commit, for any revisions; `missing_ok` ignores absent ones.

    Without `walk` only the given commits count, not their ancestors.
    """
    options = ["--no-merges", *["--ignore-missing"] * missing_ok, *["--no-walk"] * (not walk)]
    log, patches = _read_patches(git, revisions, options)
    commits = (Oid(line[7:].decode()) for line in log.split(b"\n") if line.startswith(HEAD))
    return {commit: patches.get(commit, EMPTY) for commit in commits}


def has_all_patches(git: Git, tip: Oid, *, of: Oid) -> bool:
    """Return whether each commit below `of` is below `tip`, maybe under another id.

    A merge that is not there itself counts as absent, as does a commit without changes, and
    everything if a commit is missing.
    """
    done = git.run("rev-list", "--cherry-mark", "--left-right", f"{tip}...{of}", "--", ok=(0, 128))
    if done.status:
        return False
    lines = done.text.split()
    own = set(git.text("rev-list", of, f"^{tip}", "--").split())
    alike = {Oid(line[1:]) for line in lines if line[0] == "="}
    if not own <= alike:
        return False
    # git's own comparison ignores white space and modes.
    patches = patches_by_commit(git, sorted(alike), walk=False)
    theirs = {patch for commit, patch in patches.items() if commit not in own} - {EMPTY}
    return all(patches.get(Oid(commit)) in theirs for commit in own)


def read_patched(git: Git, revisions: Sequence[str]) -> list[PatchedCommit]:
    """Return the commits of any revisions with patch and text, oldest first; two processes.

    Merges are included, with the patch EMPTY. Text is converted to UTF-8.
    """
    log, patches = _read_patches(git, revisions, ["--encoding=UTF-8"], text=TEXT)
    found = []
    lines = iter(log.split(b"\n"))
    for line in lines:
        if not line.startswith(HEAD):
            continue
        texts = []
        for text in lines:
            if not text.startswith(b" "):  # the empty line before the patch, or the end
                break
            texts.append(os.fsdecode(text[1:]))
        commit = Oid(line[7:].decode())
        parents = tuple(Oid(one) for one in texts[0].split())
        message = "\n".join(texts[2:]).strip("\n") + "\n"
        found.append(PatchedCommit(commit, patches.get(commit, EMPTY), parents, texts[1], message))
    return found


def _read_patches(
    git: Git, revisions: Sequence[str], options: Sequence[str], *, text: str = ""
) -> tuple[bytes, dict[Oid, str]]:
    """Return the log with `text` below each id, and the patch ids of its commits."""
    bare = Git(require_repository(git.directory).common_dir)
    stdin = "".join(f"{revision}\n" for revision in revisions).encode()
    log = bare.run(
        "--bare", "log", f"--format=commit %H{text}", *OPTIONS, *options, "--stdin",
        stdin=stdin, settings=SETTINGS,
    ).out  # fmt: skip
    if not log:
        return b"", {}
    out = bare.run("--bare", "patch-id", "--verbatim", stdin=log).text
    pairs = (line.split() for line in out.splitlines())
    return log, {Oid(commit): patch for patch, commit in pairs}


def fingerprints(git: Git, base: Oid, tip: Oid) -> tuple[str, ...]:
    """Return the texts that an approval records for every commit in `base..tip`, oldest first.

    Each is the patch id and a digest of author and message. If a rebase changes the text of the
    commit (another encoding), a second digest of the rebased text follows. Merges are left out.
    """
    return tuple(fingerprints_by_commit(git, [f"{base}..{tip}"]).values())


def fingerprints_by_commit(git: Git, revisions: Sequence[str]) -> dict[Oid, str]:
    """Return the fingerprint of each commit, oldest first, for any revisions."""
    patches = patches_by_commit(git, revisions)
    raws = read_objects(git, list(patches))
    return {
        oid: " ".join([patch, *_text_digests(oid, raw or b"")])
        for (oid, patch), raw in zip(patches.items(), raws, strict=True)
    }


def _text_digests(oid: Oid, raw: bytes) -> tuple[str, ...]:
    from hashlib import sha256  # 3 ms, not needed by every command

    commit = parse_commit(oid, raw)
    texts = [approved_text(raw)]
    if commit.is_rewritable:
        texts.append(rebased_text(commit))
    return tuple(dict.fromkeys(sha256(text).hexdigest() for text in texts))


def keeps_patches(
    git: Git,
    picks: Sequence[tuple[Oid, Oid]],
    *,
    known: dict[str, tuple[Change, ...]] | None = None,
) -> bool:
    """Return whether each new commit surely has the patch of its old one; start one process.

    `picks` are pairs (old, new). True means that both change the same paths from the same blobs and
    modes to the same ones, so their patch ids are equal. False is inconclusive, for example if the
    target changed other lines of a file: use `patch_ids`. `known` is as in `diff_commits`.
    """
    changes = diff_commits(git, [oid for pair in picks for oid in pair], known=known)
    return changes is not None and changes[::2] == changes[1::2]
