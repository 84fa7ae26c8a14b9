"""The trash: removed worktrees, complete, until they are restored or deleted.

An entry `<trash root>/<stamp>-<name>/` holds the worktree as `tree`, its admin directory (index,
staged state, open rebase) as `admin`, and a `record` with the old places of both and the running
step, so that a kill between the renames can be repaired. Every move is a rename on one file system,
so bytes, modes and times do not change.
"""

import errno
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from gitworker.clock import now_ms
from gitworker.crashpoint import crash_point
from gitworker.errors import NotFound, Refused
from gitworker.paths import AGENT_LOG, is_locked_by_user, open_regular, unlock_worktree_of_agent
from gitworker.processes.jobs import BACKGROUND, start_script
from gitworker.repo.plumbing.disk import remove_tree, write_atomically
from gitworker.repo.plumbing.git_environment import PRIVATE_INDEX, clean_environment
from gitworker.repo.status.converted_files import CONVERTING
from gitworker.rules_text import quoted

REMOVING, REMOVED, RESTORING = "removing", "removed", "restoring"
DOOMED = ".doomed-"  # entries being deleted; never restored
CLAIMED = ".restoring-"  # entries being restored; never deleted
LANDED = "landed"  # in an entry: its commit; the entry is kept for ignored files from then on
KEPT_DAYS = 7
# rm alone could not delete a directory without write permission (Go's module cache). Files keep
# their modes, since they may be hard links into another store. Mounts inside are not ours to
# delete: only mountinfo shows a bind mount, which may be on the same file system.
DELETE = """\
grep -qsF "/${1##*/}/" /proc/self/mountinfo && exit 0
find "$1" -xdev -type d ! -perm -700 -exec chmod u+rwx {} + 2>/dev/null
rm -f --one-file-system -- "$1/./none" 2>/dev/null && exec rm -rf --one-file-system -- "$1"
rm -fx -- "$1/./none" 2>/dev/null && exec rm -rfx -- "$1"
exec rm -rf -- "$1\""""
# The same for entries (place, commit), if each is still clean: no difference from the commit, also
# none hidden by an index flag; nothing untracked; no commit that only its HEAD or its own refs
# (refs/worktree/) reach. An entry that was changed after the check stays in the trash. So does one
# that contains another repository or worktree, since their content is not checked.
# A commit that only another worktree's HEAD reaches counts as the entry's own: git fails to read
# the HEAD of a worktree that is being made.
# A warning of git is not content: a setting can cause it in every command. A directory that git
# cannot read ends the check too, since `find` reports it.
# An entry with ignored files, or with bytes that git strips from a file in a comparison
# (`repo/status/converted_files.py`), stays too. It gets a mark, and a later run deletes it, if it
# is still clean, when the mark is old. Python compares the content, only if an attribute or a
# setting converts files.
# The check uses a private index: git's lock on the real index would come back with a worktree that
# is restored at the same time. The private index is in the admin directory, since git looks for the
# shared file of a split index beside it. git's full comparison of times is forced on.
SETTINGS = " ".join(
    f"-c {setting}"
    for setting in (
        *PRIVATE_INDEX,
        "core.untrackedCache=false",
        "core.trustctime=true",
        "core.checkStat=default",
    )
)
DELETE_CLEAN = f"""\
git() {{ command git {SETTINGS} "$@"; }}
clean() {{
    cd "$1/tree" || return 1
    export GIT_DIR="$1/admin" GIT_WORK_TREE="$1/tree" GIT_INDEX_FILE="$1/looked-$$"
    trap 'rm -f "$GIT_INDEX_FILE"' EXIT
    cp -p "$1/admin/index" "$GIT_INDEX_FILE"
    git update-index -q --refresh
    git diff-index --quiet --ignore-submodules=none "$2" -- || return 1
    others=$(git ls-files --others --exclude-standard) || return 1
    [ -z "$others" ] || return 1
    [ -z "$(find . -mindepth 2 -name .git 2>&1 | head -n 1)" ] || return 1
    read -r head <"$1/admin/HEAD"
    case $head in "ref: "* | "$2") head= ;; esac
    own=$(find "$1/admin/refs" -type f -exec cat {{}} + 2>/dev/null)
    [ -z "$head$own" ] || [ -z "$(kept_by_none $head $own)" ] || return 1
    git ls-files -v | grep -q '^[a-zS] ' || return 0
    (
        export GIT_INDEX_FILE="$1/look"
        git read-tree "$2" || exit 1
        git update-index -q --refresh
        changed=$(git diff-index --name-only --diff-filter=d "$2" --) || changed=failed
        rm -f "$1/look"
        [ -z "$changed" ]
    )
}}
same_bytes() {{
    [ -n "$(git config --get core.autocrlf)" ] || git ls-files -z | git check-attr -a -z --stdin |
        tr '\\0' '\\n' | grep -qxE '{"|".join(sorted(CONVERTING))}' || return 0
    "$PYTHON" {" ".join(BACKGROUND)} compare "$GIT_COMMON_DIR" "$1" "$2"
}}
kept_by_none() {{
    export GIT_DIR="$GIT_COMMON_DIR"
    unset GIT_COMMON_DIR
    git rev-list -n 1 "$@" --not --single-worktree --all || echo failed
}}
bury() {{
    grep -qsF "/${{1##*/}}/" /proc/self/mountinfo && return
    doomed=${{1%/*}}/{DOOMED}${{1##*/}}
    while [ -e "$doomed" ]; do doomed=$doomed-2; done
    mv -- "$1" "$doomed" || return
    set -- "$doomed"
    ({DELETE})
}}
root=${{1%/*}}
while [ $# -ge 2 ]; do (
    clean "$1" "$2" || exit 0
    ignored=$({{ git ls-files --others --directory --no-empty-directory || echo failed; }} |
        grep -vxF {AGENT_LOG})
    if [ -n "$ignored" ] || ! same_bytes "$1" "$2"; then
        printf '%s\n' "$2" >"$1/{LANDED}"
    else
        bury "$1"
    fi
); shift 2; done
[ -z "$KEEP_MARKED" ] || exit 0
for mark in "$root"/*/{LANDED}; do (
    [ -n "$(find "$mark" -mmin +{KEPT_DAYS * 24 * 60} 2>/dev/null)" ] || exit 0
    read -r tip <"$mark"
    clean "${{mark%/*}}" "$tip" && bury "${{mark%/*}}"
); done"""
RESUMED_AFTER_S = 600  # a younger deletion may still be running and is not started again


class TrashEntry(NamedTuple):
    """One removed worktree: its place in the trash, the old places, the branch, the state."""

    path: str
    name: str
    worktree: str
    admin_dir: str
    branch: str
    state: str

    @property
    def tree(self) -> str:
        """Return the path of the worktree in the trash."""
        return f"{self.path}/tree"

    @property
    def admin(self) -> str:
        """Return the path of the admin directory in the trash."""
        return f"{self.path}/admin"


def move_to_trash(
    *, worktree: str, admin_dir: str, trash_root: str, name: str, stamp: str, branch: str = ""
) -> TrashEntry:
    """Move a worktree and its admin directory into the trash; return the entry.

    The entry is called `<stamp>-<name>`, with a number added if that name is taken. Raises Refused,
    with nothing changed, if the worktree is locked (git-worktree(1)) or on another file system.
    """
    if is_locked_by_user(admin_dir):
        raise Refused(
            f"{worktree} is locked",
            f"git worktree unlock {quoted(worktree)}",
            code="worktree_locked",
        )
    os.makedirs(trash_root, exist_ok=True)
    _require_one_device(trash_root, *filter(os.path.lexists, (worktree, admin_dir)))
    unlock_worktree_of_agent(
        admin_dir
    )  # the lock of an ended agent must not come back with the worktree
    path = _make_entry(f"{trash_root}/{stamp}-{_flat(name)}")
    entry = TrashEntry(path, name, worktree, admin_dir, branch, REMOVING)
    _write(entry)
    crash_point("trash-recorded")
    return _remove(entry)


def restore_from_trash(entry: TrashEntry, *, worktree: str | None = None) -> str:
    """Put a removed worktree back, at its old place or at `worktree`; return its path.

    Index, staged, untracked and ignored files and an open rebase come back byte for byte. Raises
    Refused, with nothing changed, if the path is taken, and NotFound if the entry is being deleted.
    The caller must check that its branch is not checked out elsewhere by now.
    """
    place = worktree or entry.worktree
    if os.path.lexists(place):
        raise Refused(f"{place} exists already", f"ls -la {quoted(place)}", code="path_taken")
    os.makedirs(os.path.dirname(place), exist_ok=True)
    admin = _free_name(entry.admin_dir)
    os.makedirs(os.path.dirname(admin), exist_ok=True)
    try:
        _require_one_device(os.path.dirname(place), entry.tree)
        _require_one_device(os.path.dirname(admin), entry.admin)
        entry = _claim(entry)
    except FileNotFoundError:
        raise NotFound(
            f"{entry.name} is not in the trash any more", "git worker undo --list"
        ) from None
    except OSError as error:
        raise _unmovable(entry.path, error) from error
    moving = entry._replace(worktree=place, admin_dir=admin, state=RESTORING)
    if (place, admin) != (entry.worktree, entry.admin_dir):
        _repoint(moving)
    _write(moving)
    crash_point("restore-recorded")
    return _restore(moving)


def restore_admin(entry: TrashEntry) -> None:
    """Put back the admin directory of a worktree whose files never were in the trash."""
    try:
        os.rename(entry.admin, entry.admin_dir)
    except OSError as error:
        raise _unmovable(entry.path, error) from error
    remove_tree(entry.path)


def list_trash(trash_root: str, *, name: str = "") -> tuple[TrashEntry, ...]:
    """Return the entries of a trash directory, oldest first; `name` filters them."""
    return tuple(entry for entry in _entries(trash_root, name) if entry.state == REMOVED)


def repair_trash(trash_root: str, *, common_dir: str | None = None) -> tuple[TrashEntry, ...]:
    """Finish removals and restorations that were killed; return the repaired entries.

    With `common_dir`, entries of another repository stay (this one may be a copy of it). An entry
    that the system cannot finish now waits for a later repair and does not block the others.
    """
    repaired = []
    for entry in _entries(trash_root):
        parent = os.path.dirname(os.path.realpath(entry.admin_dir))
        if common_dir is not None and parent != f"{os.path.realpath(common_dir)}/worktrees":
            continue
        with suppress(OSError, Refused):
            if entry.state == REMOVING:
                repaired.append(_remove(entry))
            elif entry.state == RESTORING:
                _restore(entry)
                repaired.append(entry)
    for path in _doomed(trash_root):
        _delete(path)
    return tuple(repaired)


def delete_clean_in_background(
    entries: Iterable[tuple[TrashEntry, str]], common_dir: str, *, keep_marked: bool = False
) -> None:
    """Delete the entries whose worktree holds only its commit; do not wait.

    One process deletes them one by one at low priority. An entry with uncommitted or untracked work
    stays. An entry with ignored files stays for seven days: the first call after that deletes it,
    unless `keep_marked`. A later repair resumes a deletion that was killed.
    """
    words = [word for entry, tip in entries for word in (entry.path, tip)]
    if words:
        start_script(
            DELETE_CLEAN,
            *words,
            env={
                **clean_environment(),
                "GIT_COMMON_DIR": common_dir,
                "PYTHON": sys.executable,
                "KEEP_MARKED": "1" if keep_marked else "",
            },
        )


def delete_in_background(path: str) -> None:
    """Delete a directory that is not needed any more, under a name that is never restored.

    A directory that cannot be renamed (EXDEV) is deleted in place. Without its record it is not an
    entry of the trash.
    """
    parent, base = os.path.split(path)
    doomed = _free_name(f"{parent}/{DOOMED}{base.lstrip('.')}")
    try:
        os.rename(path, doomed)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        doomed = path
        with suppress(FileNotFoundError):
            os.unlink(f"{path}/record")
    _delete(doomed)


def _claim(entry: TrashEntry) -> TrashEntry:
    """Rename the entry so that no background deletion can take it."""
    parent, base = os.path.split(entry.path)
    claimed = _free_name(f"{parent}/{CLAIMED}{base}")
    os.rename(entry.path, claimed)
    return entry._replace(path=claimed)


def _remove(entry: TrashEntry) -> TrashEntry:
    """Do the remaining renames of a removal.

    Raises Refused, with nothing changed, if the system cannot move the worktree, for example
    because of a mount or a directory that is not writable.
    """
    for source, target, point in (
        (entry.admin_dir, entry.admin, "trash-admin"),
        (entry.worktree, entry.tree, ""),
    ):
        if not os.path.lexists(target) and os.path.lexists(source):
            try:
                os.rename(source, target)
            except OSError as error:
                _give_up(entry)
                raise _unmovable(entry.worktree, error) from error
        if point:
            crash_point("trash-admin")
    crash_point("trash-tree")
    removed = entry._replace(state=REMOVED)
    _write(removed)
    return removed


def _unmovable(path: str, error: OSError) -> Refused:
    why = error.strerror
    if error.errno == errno.EXDEV:
        why = f"{why} (is it in a lower layer of an overlay, as in a container image?)"
    return Refused(
        f"{path} cannot be moved into or out of the trash: {why}",
        f"ls -ld {quoted(os.path.dirname(path))}   # is it a mount, or not writable for you?",
        code="unmovable",
    )


def _give_up(entry: TrashEntry) -> None:
    """Put the admin directory back, so that the worktree keeps working, and drop the entry."""
    if os.path.lexists(entry.admin) and not os.path.lexists(entry.admin_dir):
        os.rename(entry.admin, entry.admin_dir)
    if not os.path.lexists(entry.admin):
        remove_tree(entry.path)


def _restore(entry: TrashEntry) -> str:
    """Do the remaining renames of a restoration, then drop the entry."""
    if os.path.lexists(entry.admin) and os.path.lexists(entry.admin_dir):
        # Another worktree has got this admin name since the kill: choose a new name.
        entry = entry._replace(admin_dir=_free_name(entry.admin_dir))
        _repoint(entry)
        _write(entry)
    if os.path.lexists(entry.tree):
        os.rename(entry.tree, entry.worktree)
    crash_point("restore-tree")
    if os.path.lexists(entry.admin):
        os.rename(entry.admin, entry.admin_dir)
    crash_point("restore-admin")
    remove_tree(entry.path)
    return entry.worktree


def _repoint(entry: TrashEntry) -> None:
    """Make tree and admin directory point at each other's new places."""
    tree = entry.tree if os.path.lexists(entry.tree) else entry.worktree
    with open(
        f"{tree}/.git", "w", encoding="utf-8", errors="surrogateescape", opener=open_regular
    ) as file:
        file.write(f"gitdir: {entry.admin_dir}\n")
    with open(
        f"{entry.admin}/gitdir",
        "w",
        encoding="utf-8",
        errors="surrogateescape",
        opener=open_regular,
    ) as file:
        file.write(f"{entry.worktree}/.git\n")


def _require_one_device(directory: str, *paths: str) -> None:
    device = device_of(directory)
    for path in paths:
        if device_of(path) != device:
            raise Refused(
                f"{path} and {directory} are on different file systems, so the trash cannot take it"
                " by a rename",
                f"df {quoted(path)} {quoted(directory)}",
                code="cross_device",
            )


def device_of(path: str) -> int:
    """Return the device number of a path itself, not of the target of a link."""
    return os.lstat(path).st_dev


def _make_entry(path: str) -> str:
    number = 1
    while True:
        candidate = path if number == 1 else f"{path}-{number}"
        try:
            os.mkdir(candidate)
            return candidate
        except FileExistsError:
            number += 1


def _free_name(path: str) -> str:
    number = 1
    candidate = path
    while os.path.lexists(candidate):
        number += 1
        candidate = f"{path}-{number}"
    return candidate


def _write(entry: TrashEntry) -> None:
    facts = entry._asdict()
    del facts["path"]
    write_atomically(f"{entry.path}/record", json.dumps(facts).encode())


def _flat(name: str) -> str:
    return name.replace("/", "-")


def _entries(trash_root: str, name: str = "") -> Iterator[TrashEntry]:
    for path in _list(trash_root):
        base = os.path.basename(path)
        if base.startswith(DOOMED) or _flat(name) not in base:
            continue
        try:
            with open(f"{path}/record", "rb", opener=open_regular) as file:
                yield TrashEntry(path=path, **json.loads(file.read()))
        except (OSError, ValueError, TypeError, RecursionError):
            continue  # not an entry, or one that was never begun


def _doomed(trash_root: str) -> list[str]:
    old_s = now_ms() / 1000 - RESUMED_AFTER_S
    doomed = [path for path in _list(trash_root) if os.path.basename(path).startswith(DOOMED)]
    return [path for path in doomed if os.lstat(path).st_ctime < old_s]


def _list(trash_root: str) -> list[str]:
    try:
        return [f"{trash_root}/{name}" for name in sorted(os.listdir(trash_root))]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _delete(path: str) -> None:
    start_script(DELETE, path)
