"""Something else lies in the place of a file or directory of ours in the state directory.

No command opens the state directory then: opening a FIFO would block. So this is checked and
repaired by the paths alone, before a session exists.
"""

import os
from collections.abc import Callable, Iterator
from errno import EXDEV

from gitworker import clock
from gitworker.errors import GitWorkerError
from gitworker.fsck.finding import Finding, Repair
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
from gitworker.repo.plumbing.rules_complaints import OBJECT_EMPTY
from gitworker.repo.worktrees.ownership import find_place, has_common_dir
from gitworker.session import ROOT_NOTE, Session
from gitworker.worktrees.worktree_root import find_marked, restore_note

FILES_ONLY = (*ALWAYS_OPENED, "workers", "reviews", "blobs")
COMMON_DIR = "commondir"
PAUSE_S = 0.05
ASIDE = "found"  # in the state directory: what fsck moved out of our places


def check_misplaced(picture: Picture) -> Iterator[Finding]:
    """Find directories, FIFOs and files that lie in the place of something of ours."""
    return iter(misplaced(picture.session.paths.root))


def check_note(picture: Picture) -> Iterator[Finding]:
    """Find a note of the worktrees' directory that is damaged, or missing beside our mark there."""
    session = picture.session
    note = f"{session.paths.root}/{ROOT_NOTE}"
    if session.noted_root is not None:
        return
    if os.path.lexists(note) or find_marked(session) is not None:
        yield Finding(
            "note_broken", note, f"{note} does not name the directory that worktrees are made in",
            "writes it again", restore_note,
        )  # fmt: skip


def check_common_dirs(picture: Picture) -> Iterator[Finding]:
    """Find files `commondir` that do not lead from git's directory of a worktree to the rest."""
    return iter(_wrong_common_dirs(picture.common_dir, picture.session.paths.root))


def misplaced(root: str) -> list[Finding]:
    """Return the findings for one state directory; only the database's place has no repair."""
    found = []
    for path in find_misplaced(root, FILES_ONLY):
        is_database = path == f"{root}/{DATABASE}"
        found.append(
            Finding(
                "state_misplaced", path, misplaced_text(path),
                misplaced_hint(path) if is_database else f"moves it to {root}/{ASIDE}/",
                None if is_database else _put_aside(root, path),
            )
        )  # fmt: skip
    return found


def empty_objects(common_dir: str, root: str) -> list[Finding]:
    """Return the findings for loose objects without content; git can write them again then."""
    found = []
    for path in _empty_files(f"{common_dir}/objects"):
        found.append(
            Finding(
                "object_empty", path, f"{path} is an object of git without content",
                f"moves it to {root}/{ASIDE}/, so that the object can be written again",
                _put_aside(root, path),
            )
        )  # fmt: skip
    return found


def _wrong_common_dirs(common_dir: str, root: str) -> list[Finding]:
    found = []
    for admin in _admin_dirs(common_dir):
        path = f"{admin}/{COMMON_DIR}"
        if not has_common_dir(admin, common_dir):
            found.append(
                Finding(
                    "commondir_damaged", path,
                    f"{path} does not lead to {common_dir}, so git does not work in the worktree"
                    f" {find_place(admin) or os.path.basename(admin)}",
                    f"writes it again; the old file is kept in {root}/{ASIDE}/",
                    _put_aside(root, path),
                )
            )  # fmt: skip
    return found


def _admin_dirs(common_dir: str) -> list[str]:
    """Return git's own directories of worktrees, those without any file of git's left out."""
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
    """Open a session; without one return what is in the way.

    With `repair` the obstacles are moved aside first and returned beside the session.
    """
    done: list[Finding] = []
    while True:
        found = _unlisted()
        try:
            if not found:
                return opened(), done
        except GitWorkerError as error:
            found = _obstacles(error.code)
            if not found or found == done:
                raise
        if not repair or any(one.repair is None for one in found):
            return None, found
        root = state_paths(require_repository()).root
        for one in found:
            _make_room(root, one.subject)
        done = [*done, *found]


def _unlisted() -> list[Finding]:
    """Return the findings for which git lists no worktree at all.

    A `git worktree add` that is at work has such a file for a moment: two looks see it.
    """
    repository = require_repository()
    root = state_paths(repository).root
    found = _wrong_common_dirs(repository.common_dir, root)
    if not found:
        return []
    clock.sleep(PAUSE_S)
    seen = {one.subject for one in found}
    return [one for one in _wrong_common_dirs(repository.common_dir, root) if one.subject in seen]


def _obstacles(code: str) -> list[Finding]:
    """Return the findings that explain why no session could be opened."""
    repository = require_repository()
    root = state_paths(repository).root
    if code == DAMAGED:
        return misplaced(root)
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
    """Move a file or directory into the state directory, under a free name; nothing is deleted.

    From another file system it is renamed beside its place.
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


def _put_aside(root: str, path: str) -> Repair:
    return lambda _: _make_room(root, path)


def _make_room(root: str, path: str) -> None:
    """Move one thing aside and make the directory or file that belongs there."""
    if os.path.lexists(path):
        move_aside(root, path)
    if os.path.basename(path) == COMMON_DIR:
        write_atomically(path, b"../..\n")
    if path == f"{root}/{os.path.basename(path)}" and os.path.basename(path) in STATE_DIRECTORIES:
        os.makedirs(path, mode=0o700, exist_ok=True)
