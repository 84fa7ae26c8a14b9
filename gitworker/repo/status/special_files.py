"""Untracked entries that are not work: device nodes, sockets, FIFOs.

Sandboxes bind device nodes over names such as `.bashrc`. git reads the kind of an entry from its
directory, which still shows a file, so `git status` lists it as untracked and `git add` fails.
"""

import os
import stat


def is_work(top: str, path: str) -> bool:
    """Return whether an untracked entry is a file or a link, or a directory that contains one.

    An entry that has vanished meanwhile counts as work.
    """
    try:
        mode = os.lstat(f"{top}/{path}").st_mode
    except OSError:
        return True
    return _holds_file(f"{top}/{path}") if stat.S_ISDIR(mode) else is_storable(mode)


def is_storable(mode: int) -> bool:
    """Return whether git can store an entry of this mode: a regular file or a symbolic link."""
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _holds_file(directory: str) -> bool:
    """Return whether a directory contains anything but special files; stop at the first."""
    try:
        with os.scandir(directory) as entries:
            modes = {entry.path: entry.stat(follow_symlinks=False).st_mode for entry in entries}
    except OSError:
        return True
    if any(is_storable(mode) for mode in modes.values()):
        return True
    return any(_holds_file(path) for path, mode in modes.items() if stat.S_ISDIR(mode))
