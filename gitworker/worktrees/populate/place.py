"""Check the place of a link or a copy in a worktree; the name of the file that lists copies."""

import os

INCLUDE_FILE = ".worktreeinclude"


def has_place(top: str, name: str) -> bool:
    """Return whether a path can be made in a worktree: no parent is a file or a link.

    `top` is the worktree with links resolved.
    """
    parent = os.path.dirname(f"{top}/{name}")
    while not os.path.lexists(parent):
        parent = os.path.dirname(parent)
    return os.path.isdir(parent) and os.path.realpath(parent) == parent
