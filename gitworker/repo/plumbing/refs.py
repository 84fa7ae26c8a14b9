"""Refs: read many at once, and move, create and delete one by compare-and-set."""

import os
from collections.abc import Mapping, Sequence

from gitworker.errors import Conflict
from gitworker.model.ids import Oid, Ref, is_oid
from gitworker.model.ref_names import BRANCHES
from gitworker.paths import open_regular, read_regular
from gitworker.repo.plumbing.git import Git, GitFailed

PACKED_AT_MOST_BYTES = 1024 * 1024  # git searches a larger file faster
LOOSE_AT_MOST = 2_000  # 11 µs each, a third of what git needs for a loose ref
# git compares each ref with each pattern: for many names it is faster to read and filter all refs.
NAMES_AT_MOST = 100
SYMBOLIC_AT_MOST = 5  # as git


def read_refs(git: Git, patterns: Sequence[str]) -> dict[Ref, Oid]:
    """Return the refs that match `patterns` (a prefix ending in '/', or a whole name) with ids."""
    done = git.run("for-each-ref", "--format=%(objectname) %(refname)", "--", *patterns)
    lines = (line.partition(" ") for line in done.text.splitlines())
    return {Ref(name): Oid(oid) for oid, _, name in lines}


def read_branches(
    git: Git, common_dir: str, names: Sequence[Ref], *, git_config: Mapping[str, str]
) -> dict[Ref, Oid]:
    """Return the ids of the branches that exist: few from files, many by one git process."""
    if len(names) <= LOOSE_AT_MOST and "extensions.refstorage" not in git_config:
        found = read_loose_refs(common_dir, names)
        if found is not None:
            return found
    if len(names) <= NAMES_AT_MOST:
        return read_refs(git, names)
    wanted = set(names)
    return {ref: oid for ref, oid in read_refs(git, [BRANCHES]).items() if ref in wanted}


def read_loose_refs(common_dir: str, refs: Sequence[Ref]) -> dict[Ref, Oid] | None:
    """Return refs read from their files without a process; None if only git can read them.

    For the files backend (gitrepository-layout(5)): a ref is a file, or else a line of packed-refs.
    Loose files are read first, so a ref that is packed meanwhile is found in the newer packed-refs.
    """
    found: dict[Ref, Oid] = {}
    for ref in refs:
        try:
            text = read_regular(f"{common_dir}/{ref}").decode("ascii").strip()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            continue
        except (OSError, UnicodeDecodeError):
            return None
        if not is_oid(text):
            return None
        found[ref] = Oid(text)
    missing = {ref for ref in refs if ref not in found}
    if missing:
        packed = _read_packed(f"{common_dir}/packed-refs", missing)
        if packed is None:
            return None
        found |= packed
    return found


def _read_packed(path: str, wanted: set[Ref]) -> dict[Ref, Oid] | None:
    try:
        if os.path.getsize(path) > PACKED_AT_MOST_BYTES:
            return None
        with open(path, encoding="utf-8", errors="surrogateescape", opener=open_regular) as file:
            lines = [line.rstrip("\n").partition(" ") for line in file if line[0] not in "#^"]
    except FileNotFoundError:
        return {}
    except OSError:
        return None
    return {Ref(name): Oid(oid) for oid, _, name in lines if Ref(name) in wanted}


def find_ref(git: Git, ref: Ref) -> Oid | None:
    """Return the object that a ref points at, None if the ref does not exist."""
    done = git.run("rev-parse", "--verify", "--quiet", "--end-of-options", ref, ok=(0, 1, 128))
    return Oid(done.text.strip()) if done.status == 0 else None


def find_tip(git: Git, common_dir: str, ref: Ref) -> Oid | None:
    """Return the commit that a branch points at, read from its file if possible."""
    found = read_loose_refs(common_dir, [ref])
    return find_ref(git, ref) if found is None or ref not in found else found[ref]


def follow_symbolic(common_dir: str, ref: Ref) -> Ref:
    """Return the branch that a symbolic branch points at (git-symbolic-ref(1)), else `ref` itself.

    It is read from the file: with other ref backends the name is returned unchanged.
    """
    for _ in range(SYMBOLIC_AT_MOST):
        try:
            with open(
                f"{common_dir}/{ref}",
                encoding="utf-8",
                errors="surrogateescape",
                opener=open_regular,
            ) as file:
                text = file.read()
        except OSError:
            break
        named = text.removeprefix("ref: ").strip()
        if named == text.strip() or not named.startswith(BRANCHES):
            break
        ref = Ref(named)
    return ref


def find_head_ref(git: Git) -> Ref | None:
    """Return the branch that HEAD is on in this worktree, None if HEAD is detached."""
    done = git.run("symbolic-ref", "--quiet", "HEAD", ok=(0, 1))
    return Ref(done.text.strip()) if done.status == 0 else None


def move_ref(git: Git, ref: Ref, *, old: Oid, new: Oid, reason: str) -> None:
    """Move a ref from `old` to `new`; raise Conflict if it is not at `old` any more.

    For `HEAD`, a detached HEAD itself is moved, never a branch.
    """
    try:
        git.run("update-ref", "--no-deref", "-m", reason, "--", ref, new, old)
    except GitFailed as failure:
        raise _lost_race(git, ref, expected=old, failure=failure) from failure


def create_ref(git: Git, ref: Ref, new: Oid, *, reason: str) -> None:
    """Create a ref at `new`; raise Conflict if it exists already."""
    absent = Oid("0" * len(new))
    try:
        git.run("update-ref", "--no-deref", "-m", reason, "--", ref, new, absent)
    except GitFailed as failure:
        raise _lost_race(git, ref, expected=None, failure=failure) from failure


def create_loose_ref(common_dir: str, ref: Ref, new: Oid) -> bool:
    """Create a ref by its file, without a process; return False if only git can do it.

    It takes git's own lock. The caller knows that the ref does not exist and the commit does.
    """
    path = f"{common_dir}/{ref}"
    lock = f"{path}.lock"
    if os.path.isdir(f"{common_dir}/reftable"):
        return False
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        descriptor = os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666)
    except OSError:
        return False
    try:
        with open(descriptor, "wb") as file:
            file.write(f"{new}\n".encode())
            file.flush()
            os.fsync(file.fileno())
        os.rename(lock, path)
    except OSError:
        os.unlink(lock)
        return False
    return True


def change_refs(git: Git, orders: Sequence[str], *, reason: str) -> bool:
    """Run `create REF NEW` and `delete REF OLD` orders (git-update-ref(1)), all or nothing.

    Returns False, with nothing changed, if one of them fails.
    """
    try:
        require_refs(git, orders, reason=reason)
    except GitFailed:
        return False
    return True


def require_refs(git: Git, orders: Sequence[str], *, reason: str) -> None:
    """Run orders as `change_refs` does; raise GitFailed, with nothing changed, if one fails."""
    text = "".join(f"{order}\n" for order in orders).encode()
    git.run("update-ref", "--no-deref", "-m", reason, "--stdin", stdin=text)


def delete_branch(git: Git, ref: Ref, old: Oid) -> None:
    """Delete a ref that is at `old`, if it exists; raise Conflict if it is at another commit."""
    try:
        git.run("update-ref", "--no-deref", "-d", ref, old)
    except GitFailed as failure:
        if find_ref(git, ref) is None:
            return
        raise _lost_race(git, ref, expected=old, failure=failure) from failure


def is_ancestor(git: Git, ancestor: Oid, descendant: Oid) -> bool:
    """Return whether `ancestor` is contained in `descendant` (a commit contains itself)."""
    done = git.run("merge-base", "--is-ancestor", ancestor, descendant, ok=(0, 1))
    return done.status == 0


def _lost_race(git: Git, ref: Ref, *, expected: Oid | None, failure: GitFailed) -> Conflict:
    actual = find_ref(git, ref)
    wanted = "no such ref" if expected is None else expected[:12]
    found = "no such ref" if actual is None else actual[:12]
    if actual == expected and failure.code != GitFailed.code:  # a lock, a full disk, permissions
        conflict = Conflict(failure.message, failure.hint, code=failure.code, detail=failure.detail)
        conflict.status = failure.status
        return conflict
    if actual == expected:
        message = f"git could not update {ref}"
    else:
        message = f"another process moved {ref}: expected {wanted}, found {found}"
    hint = "git worker fsck" if actual is None else f"git reflog show {ref}"
    return Conflict(message, hint, code="ref_moved", detail=failure.detail)
