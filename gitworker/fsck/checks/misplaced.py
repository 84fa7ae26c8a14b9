"""Files and directories of gitworker and git that something else has replaced.

While the state directory contains such an entry, no session can be opened: opening a FIFO would
block. These checks and repairs therefore also run without a session, by paths alone.
"""

import os
from collections.abc import Callable, Iterator
from errno import EXDEV

from gitworker import clock
from gitworker.errors import GitWorkerError
from gitworker.fsck.finding import Finding
from gitworker.fsck.picture import Picture
from gitworker.paths import (
    ALWAYS_OPENED,
    DAMAGED,
    DATABASE,
    STATE_DIRECTORIES,
    find_misplaced,
    misplaced_hint,
    misplaced_text,
    require_repository,
    state_paths,
)
from gitworker.repo.plumbing.disk import write_atomically
from gitworker.repo.plumbing.rules_git_errors import OBJECT_EMPTY
from gitworker.repo.worktrees.ownership import find_place, has_common_dir
from gitworker.session import ROOT_NOTE, Session
from gitworker.worktrees.worktree_root import find_marked, restore_note

FILES_ONLY = (*ALWAYS_OPENED, "workers", "reviews", "blobs")
COMMON_DIR = "commondir"
PAUSE_S = 0.05
ASIDE = "found"  # in the state directory: files that repairs replaced


def check_misplaced(picture: Picture) -> Iterator[Finding]:
    """Find entries of the wrong kind in the state directory."""
    yield from misplaced_entries(picture.session.paths.root)


def check_note(picture: Picture) -> Iterator[Finding]:
    """Find a note of the worktree root that is damaged, or missing although a root is marked."""
    session = picture.session
    note = f"{session.paths.root}/{ROOT_NOTE}"
    if session.noted_root is not None:
        return
    if os.path.lexists(note) or find_marked(session) is not None:
        message = f"{note} does not name the directory of the worktrees"
        yield Finding("note_broken", note, message, "writes it again", restore_note)


def check_common_dirs(picture: Picture) -> Iterator[Finding]:
    """Find `commondir` files that do not lead from a worktree's admin directory to the repository.

    git lists no worktree at all while one of them is damaged.
    """
    yield from _wrong_common_dirs(picture.common_dir, picture.session.paths.root)


def misplaced_entries(root: str) -> list[Finding]:
    """Return the findings for one state directory; only the database has no repair."""
    found = []
    for path in find_misplaced(root, FILES_ONLY):
        is_database = path == f"{root}/{DATABASE}"
        hint = misplaced_hint(path) if is_database else f"moves it to {root}/{ASIDE}/"
        repair = None if is_database else _replacing(root, path)
        found.append(Finding("state_misplaced", path, misplaced_text(path), hint, repair))
    return found


def empty_objects(common_dir: str, root: str) -> list[Finding]:
    """Return the findings for empty loose objects; git writes no object whose file exists."""
    hint = f"moves it to {root}/{ASIDE}/, so that the object can be written again"
    return [
        Finding("object_empty", path, f"git's object {path} is empty", hint, _replacing(root, path))
        for path in _empty_files(f"{common_dir}/objects")
    ]


def _wrong_common_dirs(common_dir: str, root: str) -> list[Finding]:
    found = []
    for admin in _admin_dirs(common_dir):
        path = f"{admin}/{COMMON_DIR}"
        if not has_common_dir(admin, common_dir):
            place = find_place(admin) or os.path.basename(admin)
            message = f"{path} does not point to {common_dir}, so git does not work in {place}"
            hint = f"writes it again; the old file moves to {root}/{ASIDE}/"
            found.append(Finding("commondir_damaged", path, message, hint, _replacing(root, path)))
    return found


def _admin_dirs(common_dir: str) -> list[str]:
    """Return git's admin directories of worktrees, except those without any file of git."""
    try:
        with os.scandir(f"{common_dir}/worktrees") as entries:
            found = sorted(one.path for one in entries if one.is_dir(follow_symlinks=False))
    except OSError:
        return []
    return [
        path
        for path in found
        if any(os.path.lexists(f"{path}/{name}") for name in (COMMON_DIR, "gitdir", "HEAD"))
    ]


def open_repaired(
    opened: Callable[[], Session], *, repair: bool
) -> tuple[Session | None, list[Finding]]:
    """Open a session, or return None and the findings that prevent it.

    With `repair` the misplaced entries are moved aside first; their findings are returned with the
    session.
    """
    done: list[Finding] = []
    while True:
        found = _stable_common_dirs()
        try:
            if not found:
                return opened(), done
        except GitWorkerError as error:
            found = _causes_of(error.code)
            if not found or found == done:
                raise
        if not repair or any(one.repair is None for one in found):
            return None, found
        root = state_paths(require_repository()).root
        for one in found:
            _replace(root, one.subject)
        done = [*done, *found]


def _stable_common_dirs() -> list[Finding]:
    """Return the damaged `commondir` files that two reads report.

    `git worktree add` writes the file in two steps, so one read may find it empty.
    """
    repository = require_repository()
    root = state_paths(repository).root
    found = _wrong_common_dirs(repository.common_dir, root)
    if not found:
        return []
    clock.sleep(PAUSE_S)
    seen = {one.subject for one in found}
    return [one for one in _wrong_common_dirs(repository.common_dir, root) if one.subject in seen]


def _causes_of(code: str) -> list[Finding]:
    """Return the findings that explain an error of opening a session."""
    repository = require_repository()
    root = state_paths(repository).root
    if code == DAMAGED:
        return misplaced_entries(root)
    return empty_objects(repository.common_dir, root) if code == OBJECT_EMPTY else []


def _empty_files(objects: str) -> Iterator[str]:
    for first in range(256):
        try:
            with os.scandir(f"{objects}/{first:02x}") as entries:
                found = [
                    one.path
                    for one in entries
                    if one.is_file(follow_symlinks=False) and not one.stat().st_size
                ]
        except OSError:
            continue
        yield from (path for path in found if not os.path.basename(path).startswith("tmp_obj_"))


def move_aside(root: str, path: str) -> None:
    """Move a file or directory to a free name in the state directory; nothing is deleted.

    If it is on another file system, it is renamed in its own directory.
    """
    stamp = clock.iso_utc(clock.now_ms()).replace(":", "")
    os.makedirs(f"{root}/{ASIDE}", mode=0o700, exist_ok=True)
    name = os.path.relpath(path, os.path.dirname(root)).replace("/", "-").lstrip(".-")
    kept = f"{root}/{ASIDE}/{name[-100:]}-{stamp}"
    try:
        os.rename(path, kept)
    except OSError as error:
        if error.errno != EXDEV:
            raise
        os.rename(path, f"{path}.found-{stamp}")


def _replacing(root: str, path: str) -> Callable[[Session], None]:
    return lambda _: _replace(root, path)


def _replace(root: str, path: str) -> None:
    """Move an entry aside and create the directory or file that belongs there."""
    if os.path.lexists(path):
        move_aside(root, path)
    if os.path.basename(path) == COMMON_DIR:
        write_atomically(path, b"../..\n")
    if path == f"{root}/{os.path.basename(path)}" and os.path.basename(path) in STATE_DIRECTORIES:
        os.makedirs(path, mode=0o700, exist_ok=True)
