"""Parked worktrees: complete checkouts that wait for a task, so that a spawn needs two renames.

An entry `<pool>/<name>/` holds a worktree as `tree`, its admin directory as `admin` and, when it is
ready, a `record`. git does not list it, so git does not prune or remove it. The entry's name shows
its state, and a process takes an entry by renaming it: two spawns never take the same one.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from gitworker.clock import sleep
from gitworker.crashpoint import crash_point
from gitworker.errors import Naming
from gitworker.model.ids import Oid, Ref, is_oid
from gitworker.paths import AGENT_LOG, Repository, open_regular, require_repository
from gitworker.repo.hooks.install import install
from gitworker.repo.plumbing.disk import (
    copy_index,
    is_mounted_in,
    remove_tree,
    write_atomically,
    write_hint,
)
from gitworker.repo.plumbing.git import Git, GitFailed
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.repo.pool.prefetched_status import (
    INDEX,
    LIST,
    PARKED_GIT_FILE,
    STATUS,
    UNWATCHED,
    is_parked_for,
    read_list,
)

READY = "parked-"
MAKING, MOVING, RETURNED, TAKEN = ".making-", ".moving-", ".returned-", ".taken-"
LENT = ".lent-"  # to verify, under the worktree lock: a visible one was left by a killed process


class Pool(NamedTuple):
    """The place of parked worktrees; `stamp` identifies the input of a checkout except its commit.

    `git` runs in the main checkout; `lock` is the lock file for adding worktrees.
    """

    root: str
    repository: Repository
    git: Git
    lock: str
    stamp: str
    settings: tuple[str, ...] = ()


class ParkedWorktree(NamedTuple):
    """A ready worktree: its commit, whether it has files of earlier tasks, and its stamps.

    `admin` holds times and sizes in the admin directory, which an untouched checkout still has.
    """

    path: str
    commit: Oid
    is_warm: bool
    stamp: str
    admin: str

    @property
    def tree(self) -> str:
        """Return the path of the worktree."""
        return f"{self.path}/tree"


def list_parked(pool: Pool) -> list[ParkedWorktree]:
    """Return this repository's ready worktrees, the newest last."""
    common_dir = pool.repository.common_dir
    paths = [f"{pool.root}/{name}" for name in list_names(pool) if name.startswith(READY)]
    found = [_read(path) for path in paths if is_parked_for(common_dir, path)]
    return sorted((one for one in found if one is not None), key=_made_ns)


def list_names(pool: Pool) -> list[str]:
    """Return the names of all entries of the pool directory."""
    if os.path.islink(pool.root):  # not the pool: a link may lead to a user's files
        return []
    try:
        return sorted(name for name in os.listdir(pool.root) if name != ".git")
    except (FileNotFoundError, NotADirectoryError):
        return []


def claim(pool: Pool, parked: ParkedWorktree, name: str) -> ParkedWorktree | None:
    """Take a ready worktree by renaming it; return None if another process was faster."""
    path = f"{pool.root}/{name}"
    try:
        os.rename(parked.path, path)
    except OSError:  # taken meanwhile
        return None
    return parked._replace(path=path)


def has_stamps(parked: ParkedWorktree) -> bool:
    """Return whether the admin directory is unchanged since the worktree was parked."""
    return _admin_stamp(parked.path) == parked.admin


def is_clean(pool: Pool, path: str, commit: Oid) -> bool:
    """Return whether an entry is whole, and holds its commit and ignored files only."""
    from gitworker.repo.status.checkout_status import (
        open_operation,  # 3 ms, only after something was touched
    )
    from gitworker.repo.status.hidden_files import holds_work

    if not is_parked_for(pool.repository.common_dir, path) or open_operation(f"{path}/admin"):
        return False
    here = pool.git.at(f"{path}/tree")
    try:
        return here.find_oid("HEAD") == commit and not holds_work(here)
    except GitFailed:  # a damaged index
        return False


def switch_commit(pool: Pool, path: str, *, old: Oid, new: Oid) -> None:
    """Switch an entry's worktree, overwriting ignored files in the way; raise GitFailed."""
    if old == new:
        return
    from gitworker.repo.checkout.move_branch import (
        read_tree,  # 3 ms, only if the target has moved
    )

    here = pool.git.at(f"{path}/tree")
    read_tree(here, old=old, new=new, index=f"{path}/admin/index")
    here.run("update-ref", "--no-deref", "-m", "gitworker: park", "HEAD", new, old)


def register_worktree(
    pool: Pool, parked: ParkedWorktree, place: str, *, is_relative: bool = False
) -> str:
    """Register a claimed worktree with git at `place`, a free path; return its admin directory.

    The worktree moves first, since git never lists a worktree without its directory. `is_relative`
    is git's worktree.useRelativePaths.
    """
    worktrees = f"{pool.repository.common_dir}/worktrees"
    os.makedirs(worktrees, exist_ok=True)
    admin = _reserve(f"{worktrees}/{os.path.basename(place)}")
    admin_dir, dot_git = f"{parked.path}/admin", f"{place}/.git"
    _write(f"{admin_dir}/commondir", "../..")
    _write(f"{admin_dir}/gitdir", os.path.relpath(dot_git, admin) if is_relative else dot_git)
    pointer = os.path.relpath(admin, place) if is_relative else admin
    _write(f"{parked.tree}/.git", f"gitdir: {pointer}")
    try:
        os.rename(parked.tree, place)
    except OSError:
        os.rmdir(admin)
        raise
    crash_point("pool.moved")
    os.rename(admin_dir, admin)
    crash_point("pool.handed")
    remove_tree(parked.path)
    return admin


def switch(pool: Pool, parked: ParkedWorktree, ref: Ref) -> None:
    """Put a claimed worktree's HEAD on a branch that is at its commit.

    If HEAD is a file, no process is needed: no other command knows this worktree yet.
    """
    head = f"{parked.path}/admin/HEAD"
    if is_oid(_reads(head).strip()):
        _write(head, f"ref: {ref}")
    else:
        pool.git.at(parked.tree).run("symbolic-ref", "HEAD", ref)


def make(pool: Pool, commit: Oid) -> None:
    """Park one more worktree at a commit; it is visible only when it is ready."""
    path = _begin(pool)
    _add_bare(pool, path, commit)
    crash_point("pool.added")
    pool.git.at(f"{path}/tree").run(
        "reset",
        "--hard",
        "--quiet",
        "--no-recurse-submodules",
        commit,
        settings=(UNWATCHED, *pool.settings),
    )
    _park(pool, path, commit, is_warm=False)


def advance(pool: Pool, parked: ParkedWorktree, new: Oid) -> str | None:
    """Bring a ready worktree to another commit; return its path if that fails.

    Do nothing if another process has taken it meanwhile.
    """
    claimed = claim(pool, parked, MOVING + os.path.basename(parked.path))
    if claimed is None:
        return None
    try:
        if is_clean(pool, claimed.path, claimed.commit):
            switch_commit(pool, claimed.path, old=claimed.commit, new=new)
            crash_point("pool.advanced")
            if is_clean(pool, claimed.path, new):  # another commit may ignore other files
                _park(pool, claimed.path, new, is_warm=claimed.is_warm)
                return None
    except GitFailed:
        return claimed.path
    return claimed.path


def is_returnable(pool: Pool, path: str, commit: Oid) -> bool:
    """Return whether a removed worktree (`tree` and `admin` in `path`) holds only its commit.

    Ignored files do not count, and its branch may be deleted. False for a worktree with submodules,
    bytes that git strips from a file, an index that hides changes, a detached HEAD, or refs of its
    own (refs/worktree/ in git-worktree(1)), since only they may keep some commits.
    """
    from gitworker.repo.status.checkout_status import open_operation
    from gitworker.repo.status.converted_files import find_converted
    from gitworker.repo.status.hidden_files import may_hide

    admin = f"{path}/admin"
    if os.path.lexists(f"{admin}/modules") or open_operation(admin) or may_hide(f"{admin}/index"):
        return False
    if os.path.lexists(f"{admin}/reftable") or any(
        names for _, _, names in os.walk(f"{admin}/refs")
    ):
        return False
    if not _reads(f"{admin}/HEAD").startswith("ref: ") or is_mounted_in(path):
        return False
    here = pool.git.at(f"{path}/tree")
    env = {
        "GIT_DIR": pool.repository.common_dir,
        "GIT_WORK_TREE": f"{path}/tree",
        "GIT_INDEX_FILE": f"{admin}/index",
    }
    here.run("update-index", "-q", "--refresh", env=env, ok=(0, 1))
    same = here.run(
        "diff-index", "--quiet", "--ignore-submodules=none", commit, "--", env=env, ok=(0, 1)
    )
    others = here.run("ls-files", "--others", "--exclude-standard", env=env)
    if same.status != 0 or others.out:
        return False
    try:
        return not find_converted(here, env, scratch_dir=path)
    except (GitFailed, OSError):  # a filter that fails
        return False


def park_removed(pool: Pool, path: str, *, commit: Oid, new: Oid) -> bool:
    """Park a removed worktree at `new` with its ignored files; return whether that worked.

    git makes a new admin directory for it; of the old one only the index is kept.
    """
    os.rename(f"{path}/tree", f"{path}/was-tree")
    os.rename(f"{path}/admin", f"{path}/was-admin")
    _add_bare(pool, path, commit)
    os.rename(f"{path}/tree/.git", f"{path}/was-tree/.git")
    os.rmdir(f"{path}/tree")
    os.rename(f"{path}/was-tree", f"{path}/tree")
    os.replace(f"{path}/was-admin/index", f"{path}/admin/index")
    if not Git(f"{path}/tree").run("ls-files", "-z", "--", AGENT_LOG).out:  # the project's
        with suppress(FileNotFoundError, IsADirectoryError, PermissionError):
            os.unlink(f"{path}/tree/{AGENT_LOG}")
    for name in set(os.listdir(path)) - {"tree", "admin"}:
        remove_tree(f"{path}/{name}")
    crash_point("pool.returned")
    try:
        switch_commit(pool, path, old=commit, new=new)
    except GitFailed:
        return False
    if not is_clean(pool, path, new):
        return False
    _park(pool, path, new, is_warm=True)
    return True


def drop_registration(pool: Pool, path: str) -> None:
    """Remove an entry whose making was killed from git's list of worktrees."""
    from gitworker.repo.worktrees.worktree_list import find_admin_dir

    admin = find_admin_dir(pool.repository.common_dir, f"{path}/tree")
    if admin is not None:
        remove_tree(admin)


def _begin(pool: Pool) -> str:
    path = f"{pool.root}/{MAKING}{os.urandom(4).hex()}"
    os.mkdir(path)
    return path


def _add_bare(pool: Pool, path: str, commit: Oid) -> None:
    """Let git make an empty worktree, and take it off git's list."""
    tree = f"{path}/tree"
    with hold(pool.lock, name="worktree"):
        pool.git.run("worktree", "add", "--quiet", "--detach", "--no-checkout", "--", tree, commit)
        crash_point("pool.listed")
        admin = require_repository(tree, {}).git_dir
        _write(f"{admin}/commondir", pool.repository.common_dir)
        _write(f"{tree}/.git", PARKED_GIT_FILE)
        os.rename(admin, f"{path}/admin")


def _park(pool: Pool, path: str, commit: Oid, *, is_warm: bool) -> None:
    """Install the hooks, record the stamps of the untouched checkout, and make it available.

    git reads each file that is as young as its index again in every check. If the index is a second
    younger, git need not do that.
    """
    here = pool.git.at(f"{path}/tree")
    install(pool.git, pool.repository, here)
    index_ns = os.stat(f"{path}/admin/index").st_mtime_ns
    sleep(1.01 - index_ns % 1_000_000_000 / 1e9)
    here.run(*STATUS, settings=(UNWATCHED,))
    fields = [commit, "warm" if is_warm else "", pool.stamp, _admin_stamp(path)]
    write_atomically(f"{path}/record", os.fsencode("\0".join(fields)))
    crash_point("pool.recorded")
    ready = f"{pool.root}/{READY}{os.urandom(4).hex()}"
    os.rename(path, ready)
    _prepare_status(ready)


def _prepare_status(path: str) -> None:
    """Make the private index for later checks of an entry, at the path that they use."""
    with suppress(OSError, GitFailed):  # another process has taken it meanwhile
        copy_index(f"{path}/admin/index", f"{path}/{INDEX}")
        env = {"GIT_INDEX_FILE": f"{path}/{INDEX}"}
        Git(f"{path}/tree").run(*STATUS, settings=(UNWATCHED, "core.untrackedCache=true"), env=env)


def keep_list(state_root: str, paths: Sequence[str]) -> None:
    """Write the list of parked worktrees if it differs from the file."""
    if read_list(state_root) == list(paths) or any("\n" in path for path in paths):
        return
    write_hint(f"{state_root}/{LIST}", os.fsencode("".join(f"{path}\n" for path in paths)))


def _read(path: str) -> ParkedWorktree | None:
    try:
        with open(f"{path}/record", "rb", opener=open_regular) as file:
            commit, warm, stamp, admin = os.fsdecode(file.read()).split("\0")
    except (OSError, ValueError):
        return None
    return ParkedWorktree(path, Oid(commit), bool(warm), stamp, admin)


def _made_ns(parked: ParkedWorktree) -> int:
    try:
        return os.stat(f"{parked.path}/record").st_mtime_ns
    except OSError:  # taken meanwhile
        return 0


def _admin_stamp(path: str) -> str:
    """Return names, sizes and times of the files that git commands in a worktree write."""
    found = []
    for name in ("HEAD", "index", "config.worktree", "logs/HEAD", "reftable/tables.list"):
        with suppress(OSError):
            status = os.lstat(f"{path}/admin/{name}")
            found.append(f"{name} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(found)


def _reserve(place: str) -> str:
    """Make an empty directory of that name, or with the next free number."""
    number, candidate = 0, place
    while True:
        try:
            os.mkdir(candidate)
            return candidate
        except FileExistsError:
            number += 1
            candidate = f"{place}{number}"


def _reads(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", opener=open_regular) as file:
            return file.read()
    except OSError:
        return ""


def _write(path: str, line: str) -> None:
    with (
        Naming(path),
        open(path, "w", encoding="utf-8", errors="surrogateescape", opener=open_regular) as file,
    ):
        file.write(f"{line}\n")
