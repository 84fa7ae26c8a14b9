"""Ignored files of the main checkout that every new worktree gets a copy of.

Patterns as in gitignore(5) stand in `.worktreeinclude`, read from the main checkout, and in the
setting `worktree.copy`; a file is copied if git ignores it there and it matches one. Copies share
their blocks with the original where the file system can. Nothing that git tracks is overwritten,
nothing outside the worktree written.
"""

import os
import shutil
from collections.abc import Collection

from gitworker.repo.disk import clone_file
from gitworker.session import Session
from gitworker.workers.furnish import INCLUDE_FILE


def copy_included(session: Session, worktree: str, *, is_warm: bool = False) -> None:
    """Copy what the patterns name into a new worktree.

    In a warm one, which an earlier task has used, the copies are made anew.
    """
    names = _named(session)
    tracked: Collection[str] = ()
    if is_warm and names:
        tracked = set(_list(session.git.at(worktree).run("ls-files", "-z").text))
    top = os.path.realpath(worktree)
    for name in names:
        target = f"{top}/{name}"
        if os.path.lexists(target):
            if not is_warm or name in tracked or os.path.isdir(target):
                continue
            if _is_inside(top, target):
                os.unlink(target)
        _copy(f"{session.main_top}/{name}", target, top=top)


def _named(session: Session) -> list[str]:
    """Return the ignored files of the main checkout that the patterns name."""
    git = session.git.at(session.main_top)
    patterns = [f"--exclude={pattern}" for pattern in session.settings.worktree_copy]
    if os.path.isfile(_listing(session)):
        patterns.append(f"--exclude-from={_listing(session)}")
    asked = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--")
    running = git.start(*asked)
    named = _list(git.run("ls-files", "-z", "--others", "--ignored", *patterns, "--").text)
    ignored = set(_list(git.finish(running, asked).text))
    root = os.path.relpath(session.worktree_root, session.main_top) + "/"
    return [
        name
        for name in named
        if name in ignored and not name.startswith((root, ".worker-state")) and name[-1:] != "/"
    ]


def _listing(session: Session) -> str:
    return f"{session.main_top}/{INCLUDE_FILE}"


def _copy(source: str, target: str, *, top: str) -> None:
    if os.path.lexists(target) or not _is_inside(top, target):
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.islink(source) or not clone_file(source, target):
        shutil.copy2(source, target, follow_symlinks=False)
    else:
        shutil.copystat(source, target)


def _is_inside(top: str, target: str) -> bool:
    """Tell whether a file would really lie in the worktree: a directory there may be a link."""
    return f"{os.path.realpath(os.path.dirname(target))}/".startswith(f"{top}/")


def _list(text: str) -> list[str]:
    return [name for name in text.split("\0") if name]
