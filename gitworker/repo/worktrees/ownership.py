"""The proof that a directory is the worktree of one worker in this repository.

Every command that reads or changes a worker's worktree asks for it first. git itself searches the
parent directories if a worktree has lost its `.git` file, and a worktree usually lies inside the
main checkout: without the proof a command would read, commit or move the user's own files there.
Only files are read; git is started only for a HEAD that its file does not show (reftable).
"""

import os
import stat
from enum import StrEnum
from typing import NamedTuple, Protocol

from gitworker.errors import Conflict, NotFound, Refused
from gitworker.model.ids import Branch, Ref, is_oid
from gitworker.model.ref_names import ALL, BRANCHES, ref_of
from gitworker.paths import (
    OWNER_FILE,
    find_top,
    read_place,
    read_regular,
    read_worktree_owner,
    require_repository,
)
from gitworker.repo.plumbing.git import Git
from gitworker.rules_text import quoted

HEAD_PREFIX = "ref: "
REFTABLE_HEAD = f"{BRANCHES}.invalid"
UNUSUAL_NAMES = frozenset({"", ".", ".."})  # of a directory
# Without waiting for the writer of a FIFO; LINE_MAX is more than a path can have.
SHORT_READ, LINE_MAX = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, 8_192
USUAL_COMMON_DIR = "../.."  # of an admin directory, as git writes it


class Flaw(StrEnum):
    """The first reason why a directory is not the worktree of a worker."""

    MISSING = "missing"  # the place does not exist
    NOT_A_DIRECTORY = "not_a_directory"  # a symbolic link, or a file
    COPIED = "copied"  # the records name a worktree of the repository from which this was copied
    NO_GIT_FILE = "no_git_file"
    OWN_REPOSITORY = "own_repository"  # `.git` is a directory
    OTHER_WORKTREE = "other_worktree"  # `.git` leads to another worktree of this repository
    OTHER_REPOSITORY = "other_repository"
    NO_ADMIN_DIR = "unknown"  # git's own directory of the worktree does not exist
    DAMAGED = "damaged"  # git cannot read that directory: its HEAD or commondir is garbage
    OTHER_PLACE = "other_place"  # git's own directory belongs to a worktree at another path
    OTHER_WORKER = "other_worker"  # the mark there names another worker or task


# A repair of the two files by which worktree and repository name each other fixes these.
REJOINABLE = frozenset({Flaw.NO_GIT_FILE, Flaw.OTHER_WORKTREE, Flaw.OTHER_REPOSITORY})


class WorkerRecord(Protocol):
    """A worker's row: the facts that the proof compares with the disk."""

    @property
    def worker_id(self) -> str:
        """Return the worker's id."""

    @property
    def task(self) -> str:
        """Return the id of its task, or an empty string."""

    @property
    def branch(self) -> str | None:
        """Return its branch's short name."""

    @property
    def worktree(self) -> str | None:
        """Return the recorded path of its worktree."""

    @property
    def admin_dir(self) -> str | None:
        """Return git's own directory of the worktree."""


class OwnershipClaim(NamedTuple):
    """The statement to be proved: `place` is the worktree of this worker and task.

    `admin_dir` is git's own directory of the worktree, `ref` the worker's branch. An empty worker
    id leaves the mark of the worker unread: the caller knows only the two directories.
    """

    common_dir: str
    place: str
    admin_dir: str | None
    ref: Ref | None = None
    worker_id: str = ""
    task_id: str = ""


def owner_of(common_dir: str, worker: WorkerRecord) -> OwnershipClaim | None:
    """Return the statement that a worker's row makes; None if the row names no worktree."""
    if worker.worktree is None:
        return None
    ref = ref_of(Branch(worker.branch)) if worker.branch else None
    return OwnershipClaim(
        common_dir, worker.worktree, worker.admin_dir, ref, worker.worker_id, worker.task
    )


def find_flaw(owner: OwnershipClaim) -> Flaw | None:
    """Return why `place` is not the worktree of the owner, None if it is. HEAD does not count."""
    admin_dir = owner.admin_dir
    if admin_dir is None or not is_inside(owner.common_dir, admin_dir):
        return Flaw.COPIED if admin_dir else Flaw.NO_ADMIN_DIR
    try:
        mode = os.lstat(owner.place).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return Flaw.MISSING
    if not stat.S_ISDIR(mode):
        return Flaw.NOT_A_DIRECTORY
    flaw = _flaw_of_git_file(owner, admin_dir)
    if flaw is not None:
        return flaw
    if not _are_same(_named_place(admin_dir), owner.place):
        return Flaw.OTHER_PLACE
    mark = read_worktree_owner(admin_dir) if owner.worker_id else None
    return Flaw.OTHER_WORKER if mark not in (None, (owner.worker_id, owner.task_id)) else None


def is_in_order(owner: OwnershipClaim) -> bool:
    """Return whether `place` is surely the worktree, on the owner's branch.

    Compares texts as git and gitworker write them, for the many worktrees of `status`. False is
    inconclusive: use `find_flaw` and `read_head`.
    """
    place, admin_dir = owner.place, owner.admin_dir
    return (
        admin_dir is not None
        and owner.ref is not None
        and _is_usual(owner.common_dir, admin_dir)
        and _has_line(f"{place}/.git", f"gitdir: {admin_dir}")
        and _has_line(f"{admin_dir}/HEAD", f"{HEAD_PREFIX}{owner.ref}")
        and _has_line(f"{admin_dir}/gitdir", f"{place}/.git")
        and (
            _has_line(f"{admin_dir}/{OWNER_FILE}", f"{owner.worker_id} {owner.task_id}")
            or read_worktree_owner(admin_dir) in (None, (owner.worker_id, owner.task_id))
        )
        and not os.path.islink(place)
    )


def require_owned(owner: OwnershipClaim) -> None:
    """Raise NotFound, Refused or Conflict with the reason unless `place` is the worktree."""
    flaw = find_flaw(owner)
    if flaw is not None:
        raise refusal_of(owner, flaw)


def require_checkout(git: Git, place: str, admin_dir: str | None = None) -> str:
    """Return the git directory of the checkout at `place`, the main one included, proved.

    `git` runs in the repository that it must belong to. Raises Refused unless `.git` in `place`
    leads to this repository, to `admin_dir` if that is given, and from there back to `place`.
    """
    here = require_repository(git.directory)
    found = find_top(place)
    is_main = found is not None and found.git_dir == here.common_dir
    if found is not None and is_main and admin_dir in (None, found.git_dir):
        return found.git_dir
    if admin_dir is None and found is not None:
        admin_dir = found.git_dir
    owner = OwnershipClaim(here.common_dir, place, admin_dir)
    require_owned(owner)
    return admin_dir or ""


def has_worktree(owner: OwnershipClaim | None) -> bool:
    """Return whether the proved worktree exists; False if its path does not exist.

    Raises as `require_owned` if anything else is at the path.
    """
    flaw = None if owner is None else find_flaw(owner)
    if owner is not None and flaw is not None and flaw is not Flaw.MISSING:
        raise refusal_of(owner, flaw)
    return owner is not None and flaw is None


def is_lost(owner: OwnershipClaim) -> bool:
    """Return whether the worktree's path is missing while its admin directory exists.

    False if that directory is marked for another worker, or belongs to another path.
    """
    admin_dir = owner.admin_dir
    if find_flaw(owner) is not Flaw.MISSING or admin_dir is None or not os.path.isdir(admin_dir):
        return False
    is_marked = read_worktree_owner(admin_dir) == (owner.worker_id, owner.task_id)
    return is_marked and find_place(admin_dir) == os.path.realpath(owner.place)


def is_present(owner: OwnershipClaim | None) -> bool:
    """Return whether the proved worktree exists; False if git does not know it any more.

    Raises as `require_owned` for anything else, for example a directory that was moved by hand.
    """
    if owner is None:
        return False
    flaw = find_flaw(owner)
    if flaw is Flaw.MISSING and not os.path.isdir(owner.admin_dir or ""):
        return False  # the user removed it by `git worktree remove`
    if flaw is not None:
        raise refusal_of(owner, flaw)
    return True


def read_head(git: Git, owner: OwnershipClaim) -> Ref | None:
    """Return the branch of a proved worktree, None if HEAD is detached.

    During a rebase or bisect of that branch, that branch is returned.
    """
    from gitworker.repo.plumbing.refs import find_head_ref  # 10 ms, not needed by `exec`
    from gitworker.repo.worktrees.worktree_list import busy_branches

    text = _read_line(f"{owner.admin_dir}/HEAD")
    if not text or text == HEAD_PREFIX + REFTABLE_HEAD or os.path.islink(f"{owner.admin_dir}/HEAD"):
        head = find_head_ref(git.at(owner.place))
    else:
        head = Ref(text[len(HEAD_PREFIX) :]) if text.startswith(HEAD_PREFIX) else None
    if head is None and owner.ref in busy_branches(owner.admin_dir or ""):
        return owner.ref
    return head


def find_place(admin_dir: str) -> str | None:
    """Return the real path of the worktree that an admin directory names, existing or not."""
    place = _named_place(admin_dir)
    return None if place is None else os.path.realpath(place)


def find_named(place: str) -> str | None:
    """Return the real path of the git directory that the `.git` file in `place` names, or None."""
    named = _named_git_dir(place)
    return None if named is None else os.path.realpath(named)


def has_head(admin_dir: str) -> bool:
    """Return whether git can read the HEAD of an admin directory (is_git_directory of git)."""
    if os.path.islink(f"{admin_dir}/HEAD"):
        return True
    text = _read_line(f"{admin_dir}/HEAD").rstrip()
    is_symbolic = text.startswith("ref:") and text[4:].lstrip().startswith(ALL)
    return (is_symbolic and "\0" not in text) or is_oid(text)


def has_common_dir(admin_dir: str, common_dir: str) -> bool:
    """Return whether the file `commondir` of an admin directory leads to the repository."""
    text = _read_line(f"{admin_dir}/commondir")
    if not text or "\0" in text:
        return False
    return _are_same(os.path.join(admin_dir, text), common_dir)


def is_recorded_directory(admin_dir: str, place: str) -> bool | None:
    """Return whether `place` is the directory (device, inode) that the admin directory records.

    None if nothing is recorded. A rename keeps both numbers; a copy or a restored backup does not.
    """
    recorded = read_place(admin_dir)
    if recorded is None:
        return None
    try:
        found = os.lstat(place)
    except OSError:
        return False
    return recorded == (found.st_dev, found.st_ino)


def is_inside(common_dir: str, admin_dir: str) -> bool:
    """Return whether a path is that of an admin directory of the repository, existing or not."""
    # Of a usual path, only these two can be links that `common_dir` does not follow.
    links = (os.path.dirname(admin_dir), admin_dir)
    if _is_usual(common_dir, admin_dir) and not any(map(os.path.islink, links)):
        return True
    parent = os.path.dirname(os.path.realpath(admin_dir))
    return parent == f"{os.path.realpath(common_dir)}/worktrees"


def _is_usual(common_dir: str, admin_dir: str) -> bool:
    """Return whether a path is written as that of an admin directory of the repository."""
    folder, _, name = admin_dir.rpartition("/")
    return folder == f"{common_dir}/worktrees" and name not in UNUSUAL_NAMES


def describe(owner: OwnershipClaim, flaw: Flaw) -> str:
    """Return one sentence about a flaw."""
    place = owner.place
    name = f"the worktree of {owner.worker_id}" if owner.worker_id else "a worktree"
    return {
        Flaw.MISSING: f"{name} is not at {place}: deleted, moved or unmounted",
        Flaw.NOT_A_DIRECTORY: f"{place} is not a directory, so it is not {name}",
        Flaw.COPIED: f"{place} is a worktree of another repository: the records of this one were"
        " copied",
        Flaw.NO_GIT_FILE: f"{place} has no .git file, so git does not know it as {name}",
        Flaw.OWN_REPOSITORY: f"{place} holds a repository of its own in .git, so it is not {name}",
        Flaw.OTHER_WORKTREE: f"the .git file in {place} leads to another worktree",
        Flaw.OTHER_REPOSITORY: f"the .git file in {place} leads to another repository",
        Flaw.NO_ADMIN_DIR: f"git no longer knows the worktree {place}: {owner.admin_dir} does not"
        " exist",
        Flaw.DAMAGED: f"git does not work in {place}: HEAD or commondir in {owner.admin_dir} is"
        " damaged",
        Flaw.OTHER_PLACE: f"{owner.admin_dir} belongs to a worktree at another place than {place}",
        Flaw.OTHER_WORKER: f"{place} is marked as the worktree of another worker or task",
    }[flaw]


def refusal_of(owner: OwnershipClaim, flaw: Flaw) -> NotFound | Refused | Conflict:
    """Return the refusal for a flaw; its hint never runs git inside the directory."""

    place = quoted(owner.place)
    hint = "git worker fsck --repair"
    if flaw is Flaw.MISSING and not os.path.isdir(owner.admin_dir or ""):
        words = f"the worktree of {owner.worker_id} was removed: {owner.place}"
        return Refused(words, hint, code="worktree_gone")
    if flaw is Flaw.MISSING:
        hint = (
            f"git worker cancel {owner.worker_id} && git worker undo   # makes it again; if it was"
            " moved: git worktree repair <new-place>"
        )
    elif flaw is Flaw.OTHER_PLACE and not os.path.lexists(find_place(owner.admin_dir or "") or ""):
        pass  # git's own directory names no existing path
    elif flaw in (Flaw.NOT_A_DIRECTORY, Flaw.OTHER_PLACE):
        hint = f"mv {place} {place}.old && git worker fsck --repair"
    elif flaw is Flaw.OWN_REPOSITORY:
        hint = f"mv {place}/.git {place}.git-aside && git worker fsck --repair"
    return Refused(describe(owner, flaw), hint, code=f"worktree_{flaw}")


def _flaw_of_git_file(owner: OwnershipClaim, admin_dir: str) -> Flaw | None:
    try:
        mode = os.stat(f"{owner.place}/.git").st_mode
    except OSError:
        return Flaw.NO_GIT_FILE
    if stat.S_ISDIR(mode):
        return Flaw.OWN_REPOSITORY
    named = _named_git_dir(owner.place)
    if named is None:
        return Flaw.NO_GIT_FILE
    if not _are_same(named, admin_dir):
        inside = is_inside(owner.common_dir, named)
        return Flaw.OTHER_WORKTREE if inside else Flaw.OTHER_REPOSITORY
    if not os.path.isdir(admin_dir):
        return Flaw.NO_ADMIN_DIR
    # `admin_dir` is inside the repository, so the usual text leads there.
    has_common = _read_line(f"{admin_dir}/commondir") == USUAL_COMMON_DIR or has_common_dir(
        admin_dir, owner.common_dir
    )
    return None if has_common and has_head(admin_dir) else Flaw.DAMAGED


def _named_place(admin_dir: str) -> str | None:
    """Return the path of the worktree that an admin directory names, as it is written there."""
    pointer = _read_line(f"{admin_dir}/gitdir")
    if not pointer or "\0" in pointer:
        return None
    dot_git = os.path.join(admin_dir, pointer)  # relative with worktree.useRelativePaths
    return os.path.dirname(dot_git)


def _named_git_dir(place: str) -> str | None:
    """Return the path of the git directory that the `.git` file in `place` names, as it says."""
    line = _read_line(f"{place}/.git")
    if not line.startswith("gitdir: ") or "\0" in line:
        return None
    return os.path.join(place, line[len("gitdir: ") :])


def _are_same(one: str | None, other: str) -> bool:
    """Return whether two paths lead to the same place; links are followed if the texts differ."""
    return one == other or (one is not None and os.path.realpath(one) == os.path.realpath(other))


def _has_line(path: str, line: str) -> bool:
    """Return whether a file, and no link to one, holds just this line; faster than `_read_line`."""
    try:
        fd = os.open(path, SHORT_READ)
        try:
            return os.read(fd, LINE_MAX) == os.fsencode(f"{line}\n")
        finally:
            os.close(fd)
    except (OSError, ValueError):
        return False


def _read_line(path: str) -> str:
    try:
        text = read_regular(path).decode("utf-8", "surrogateescape")
    except (OSError, ValueError):
        return ""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.removesuffix("\n")  # git allows line feeds inside a path
