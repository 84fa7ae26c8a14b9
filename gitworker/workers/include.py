"""`.worktreeinclude`: ignored files of the main checkout that every new worktree gets a copy of.

The file holds patterns as in gitignore(5); a file is copied if it is ignored or excluded by git
and matches one. It is read from the main checkout and never overwrites what the worktree has.
"""

import os
import shutil

from gitworker.session import Session

FILE_NAME = ".worktreeinclude"


def copy_included(session: Session, worktree: str) -> None:
    """Copy what `.worktreeinclude` names into a new worktree."""
    listing = f"{session.main_top}/{FILE_NAME}"
    if not os.path.isfile(listing):
        return
    git = session.git.at(session.main_top)
    named = _list(git.run(
        "ls-files", "-z", "--others", "--ignored", f"--exclude-from={listing}", "--"
    ).text)  # fmt: skip
    ignored = set(_list(git.run(
        "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--"
    ).text))  # fmt: skip
    root = os.path.relpath(session.worktree_root, session.main_top) + "/"
    for name in named:
        if name in ignored and not name.startswith((root, ".worker-state")):
            _copy(f"{session.main_top}/{name}", f"{worktree}/{name}")


def _copy(source: str, target: str) -> None:
    if os.path.lexists(target):
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copy2(source, target, follow_symlinks=False)


def _list(text: str) -> list[str]:
    return [name for name in text.split("\0") if name]
