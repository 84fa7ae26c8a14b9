"""Why git failed, if the cause is in the system: a stale lock, a full disk, missing permissions.

Pure: maps git's untranslated standard error to the cause, the file and a command that helps.
"""

import re
from typing import NamedTuple

from gitworker.model.ref_names import ALL
from gitworker.rules_text import quoted

LOCKED = (
    re.compile(r"[Uu]nable to create '(?P<path>[^'\n]+\.lock)': File exists"),
    re.compile(r"could not lock config file (?P<path>[^\n]+): File exists"),
)
STORE = re.compile(
    r"insufficient permission for adding an object to repository database (?P<path>[^\n]+)"
)
# A killed `git worktree add` leaves an empty file in the admin directory. git reports the errno of
# an earlier call then.
EMPTY = re.compile(
    r"failed to read (?P<path>[^\n]+/commondir): (?:Success|No such file or directory)"
)
HOLLOW = re.compile(r"object file (?P<path>[^\n]+) is empty")
# A damaged index, and git's own directory of a worktree with a damaged HEAD or commondir.
INDEX = re.compile(
    r"(?P<path>[^\s]+): index file smaller than expected|index file corrupt"
    r"|bad (?:index version|index file sha1 signature)\b"
)
SHALLOW = re.compile(r"bad (?:shallow|graft) line: ")
ADMIN = re.compile(r"not a git repository: (?P<path>[^\n]+)/worktrees/(?P<name>[^/\n]+)$", re.M)
CAUSES = {  # the texts of strerror(3), with the error code of gitworker
    "No space left on device": "disk",
    "Out of diskspace": "disk",  # git's own words if a write stops without an error
    "Disk quota exceeded": "disk",
    "Read-only file system": "read_only",
    "Permission denied": "no_permission",
    "Operation not permitted": "no_permission",
    "Input/output error": "disk",
    "Too many open files": "system",
}
# The file is quoted, or it is the word before the last colon.
NAMED = re.compile(r"'(?P<quoted>[^'\n]+)'|(?P<bare>\S+): [^:\n]+$")
# git names the file or the directory of a ref, or the file of an index, that it could not write,
# without the reason.
UNWRITTEN = re.compile(
    r"(?:couldn't|could not|[Uu]nable to|[Ff]ailed to|[Cc]annot) (?:write|create|close)\b"
    r"(?: directory for (?P<ref>[^'\n]+)$|[^'\n]*(?:'(?P<path>[^'\n]+)')?)",
    re.MULTILINE,
)
OBJECT_EMPTY = "object_empty"
TRANSIENT_STATUS, REFUSED_STATUS = 3, 1
ALONE = "only if no git command is running there"


class FailureCause(NamedTuple):
    """One cause: message, hint, error code, and the exit status of a command that fails by it."""

    message: str
    hint: str
    code: str
    status: int


def find_cause(complaint: str, directory: str) -> FailureCause | None:
    """Return the system's reason for a failure, None if git names no such reason.

    A relative path is completed by `directory`, in which git ran.
    """
    for pattern in LOCKED:
        found = pattern.search(complaint)
        if found is not None:
            lock = _complete(found["path"], directory)
            return explain_lock(lock if lock.endswith(".lock") else f"{lock}.lock")
    found = STORE.search(complaint)
    if found is not None:
        store = _complete(found["path"], directory)
        return _of_system("Permission denied", store, store)
    found = EMPTY.search(complaint)
    if found is not None:
        path = _complete(found["path"], directory)
        return FailureCause(
            f"{path} is empty: a killed git worktree add left it, and git cannot work with it",
            f"{_repair_from_main(path.partition('/worktrees/')[0])}   # {ALONE}",
            "worktree_half_made",
            REFUSED_STATUS,
        )
    found = HOLLOW.search(complaint)
    if found is not None:
        path = _complete(found["path"], directory)
        return FailureCause(
            f"the git object {path} is empty; a full disk can cause this",
            "git worker fsck --repair",
            OBJECT_EMPTY,
            REFUSED_STATUS,
        )
    for line in complaint.splitlines():
        for reason in CAUSES:
            if line.endswith(reason):
                path = _path_in(line, directory)
                return _of_system(reason, path, _place_of(path, directory))
    return _damage(complaint, directory)


def _damage(complaint: str, directory: str) -> FailureCause | None:
    found = INDEX.search(complaint)
    if found is not None:
        named = found["path"]
        path = _complete(named, directory) if named else f"the index of {directory}"
        return FailureCause(
            f"git cannot read {path}: it is damaged",
            "git worker fsck --repair",
            "index_damaged",
            REFUSED_STATUS,
        )
    if SHALLOW.search(complaint):
        return FailureCause(
            f"the file shallow of the repository of {directory} is damaged, so git reads no commit",
            f'mv "$(git -C {quoted(directory)} rev-parse --path-format=absolute'
            ' --git-path shallow)" shallow.damaged'
            "   # in a shallow clone, then: git fetch --unshallow",
            "shallow_damaged",
            REFUSED_STATUS,
        )
    found = ADMIN.search(complaint)
    if found is None:
        return None
    return FailureCause(
        f"git cannot use {found['path']}/worktrees/{found['name']}: its HEAD or commondir is"
        " damaged, or it does not exist",
        _repair_from_main(found["path"]),
        "worktree_damaged",
        REFUSED_STATUS,
    )


def _repair_from_main(common_dir: str) -> str:
    """Return the repair, run from the main checkout: git fails inside the damaged worktree."""
    return f"git -C {quoted(common_dir.removesuffix('/.git'))} worker fsck --repair"


def find_unwritten(complaint: str, directory: str) -> str | None:
    """Return the file that git could not write, None if it does not complain about writing."""
    found = UNWRITTEN.search(complaint)
    if found is None:
        return None
    path = found["path"] or found["ref"]
    return directory if path is None else _complete(path, directory)


def explain_unwritten(path: str, reason: str, place: str) -> FailureCause | None:
    """Return the cause of a failed write that the system explained; None for other reasons.

    `place` is the nearest directory above the file that exists.
    """
    return _of_system(reason, path, place) if reason in CAUSES else None


def explain_lock(lock: str) -> FailureCause:
    """Return the cause of a failure on a lock file of git that exists."""
    return FailureCause(
        f"{lock} exists: another git command is running, or a killed one left it",
        f"rm {quoted(lock)}   # {ALONE}",
        "git_locked",
        TRANSIENT_STATUS,
    )


def _of_system(reason: str, path: str, place: str) -> FailureCause:
    """Return the cause of a failed write; the file may not exist, its directory `place` does."""
    code = CAUSES[reason]
    if code == "no_permission":
        hint = f"ls -ld {quoted(place)}"
    else:
        hint = "ulimit -n" if code == "system" else f"df -h {quoted(place)}"
    return FailureCause(f"git cannot write {path}: {reason}", hint, code, REFUSED_STATUS)


def _path_in(line: str, directory: str) -> str:
    found = NAMED.search(line)
    named = None if found is None else found["quoted"] or found["bare"]
    # Ref names and plain words are not paths.
    if named is None or (found is not None and found["bare"] and "/" not in named):
        return directory
    return directory if named.startswith(ALL) else _complete(named, directory)


def _place_of(path: str, directory: str) -> str:
    return path if path == directory else path.rpartition("/")[0] or "/"


def _complete(path: str, directory: str) -> str:
    return path if path.startswith("/") else f"{directory}/{path}"
