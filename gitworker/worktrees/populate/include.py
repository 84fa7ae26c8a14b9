"""Copy ignored files of the main checkout into new worktrees.

The patterns, as in gitignore(5), are in the main checkout's `.worktreeinclude` and in the setting
`worktree.copy`. A file is copied if it matches a pattern and git ignores it in the main checkout.
The copy is deleted again unless git ignores it in the worktree too; otherwise an agent on an older
branch could commit a secret. Copies share their blocks with the original if the file system can.
Tracked files are never overwritten, nothing outside the worktree is written, and no link is
followed.
"""

import os
import shutil
from collections.abc import Collection, Sequence
from contextlib import suppress

from gitworker.errors import Refused
from gitworker.repo.plumbing.disk import clone_file
from gitworker.repo.plumbing.git import Git
from gitworker.session import Session
from gitworker.worktrees.populate.place import INCLUDE_FILE, has_place
from gitworker.worktrees.space.disk_space import require_free
from gitworker.worktrees.space.rules_space import needed_bytes

SMALL = 1024 * 1024  # bytes that are copied without a check of the free space


def copy_included(session: Session, worktree: str, *, is_warm: bool = False) -> None:
    """Copy the files that the patterns select into a new worktree.

    In a warm worktree, which an earlier task has used, existing copies are replaced. Raises Refused
    if a file cannot be read, or if the copies would leave too little disk space.
    """
    names = _named(session)
    here = session.git.at(worktree)
    tracked: Collection[str] = ()
    if is_warm and names:
        tracked = set(_list(here.run("ls-files", "-z").text))
    top = os.path.realpath(worktree)
    wanted = []
    for name in names:
        target = f"{top}/{name}"
        if not has_place(top, name):
            continue
        if os.path.lexists(target):
            if not is_warm or name in tracked or os.path.isdir(target):
                continue
            os.unlink(target)
        wanted.append(name)
    _copy_all(session, wanted, top=top)
    _remove_shown(here, wanted, top=top)


def _named(session: Session) -> list[str]:
    """Return the ignored files of the main checkout that the patterns select."""
    git = session.git.at(session.main_top)
    patterns = [f"--exclude={pattern}" for pattern in session.settings.worktree_copy]
    if os.path.isfile(_include_file(session)):
        patterns.append(f"--exclude-from={_include_file(session)}")
    asked = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--")
    running = git.start(*asked)
    named = _list(git.run("ls-files", "-z", "--others", "--ignored", *patterns, "--").text)
    ignored = set(_list(git.finish(running, asked).text))
    ours = [os.path.relpath(session.worktree_root, session.main_top), session.noted_root or "."]
    hidden = (*(f"{root}/" for root in ours), ".worker-state/")
    return [
        name
        for name in named
        if name in ignored
        and not name.startswith(hidden)
        and name != ".worker-state"
        and name[-1:] != "/"
    ]


def _include_file(session: Session) -> str:
    return f"{session.main_top}/{INCLUDE_FILE}"


def _copy_all(session: Session, names: Sequence[str], *, top: str) -> None:
    """Copy files; before the first one that needs its own blocks, check that all the rest fit."""
    has_room = False
    for number, name in enumerate(names):
        source, target = f"{session.main_top}/{name}", f"{top}/{name}"
        os.makedirs(os.path.dirname(target), exist_ok=True)
        try:
            if not os.path.islink(source) and clone_file(source, target):
                shutil.copystat(source, target)
                continue
            if not has_room:
                _require_room(session, names[number:], top=top)
                has_room = True
            shutil.copy2(source, target, follow_symlinks=False)
        except FileNotFoundError:  # deleted meanwhile, as build results and logs are
            continue
        except PermissionError as error:
            raise Refused(
                f"{source} cannot be copied into the new worktree: {error.strerror}",
                "git config worker.worktree.copy <pattern>   # and .worktreeinclude; or chmod it",
                code="copy_failed",
            ) from error


def _require_room(session: Session, names: Sequence[str], *, top: str) -> None:
    sizes = []
    for name in names:
        with suppress(OSError):
            sizes.append(os.lstat(f"{session.main_top}/{name}").st_size)
    needed = needed_bytes(sizes)
    if needed > SMALL:
        require_free(session, top, needed)


def _remove_shown(here: Git, names: Sequence[str], *, top: str) -> None:
    """Delete copies that git would show, since no rule in the worktree ignores them."""
    if not names:
        return
    asked = here.run(
        "check-ignore", "-z", "--stdin", stdin=os.fsencode("\0".join(names)), ok=(0, 1, 128)
    )
    for name in set(names) - set(_list(asked.text)):
        with suppress(OSError):
            os.unlink(f"{top}/{name}")
            os.removedirs(os.path.dirname(f"{top}/{name}"))


def _list(text: str) -> list[str]:
    return [name for name in text.split("\0") if name]
