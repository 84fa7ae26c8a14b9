"""Checks of the state directory: there, private, on a local disk, linked and excluded."""

import os
import stat
from collections.abc import Iterator

from gitworker.fsck.finding import Finding, fail, ok, warn
from gitworker.fsck.quick.rules import file_system_of, is_network
from gitworker.paths import (
    Repository,
    find_misplaced,
    misplaced_hint,
    misplaced_text,
    state_paths,
)
from gitworker.session import Session

LINK_NAME = ".worker-state"
PRIVATE = 0o700
MOUNTS = "/proc/self/mounts"


def check_directory(repository: Repository) -> Iterator[Finding]:
    """Check that the state directory exists, is private and has no misplaced entry."""
    root = state_paths(repository).root
    if not os.path.isdir(root):
        if os.path.lexists(root):
            there = f"{root} is not a directory, where our state directory belongs"
            yield fail("state", there, f"mv {root} {root}.found && git worker init")
        else:
            yield fail("state", f"there is no state directory {root}", "git worker init")
        return
    mode = stat.S_IMODE(os.stat(root).st_mode)
    if mode != PRIVATE:
        yield warn(
            "state", f"{root} has mode {mode:04o}, others may read it: 0700 is right",
            f"chmod 700 {root}",
        )  # fmt: skip
    elif not os.access(root, os.W_OK):
        yield fail("state", f"{root} is not writable", f"ls -ld {root}")
    else:
        yield ok("state", f"state directory {root}, mode 0700")
    for path in find_misplaced(root):
        yield fail("state", misplaced_text(path), misplaced_hint(path))


def check_file_system(repository: Repository, *, mounts: str = MOUNTS) -> Iterator[Finding]:
    """Check that the state directory is on a local file system, where the system can tell."""
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
    except OSError:
        yield ok("disk", "the file system's type cannot be told here")
        return
    kind = file_system_of(os.path.realpath(state_paths(repository).root), text)
    if is_network(kind):
        yield fail(
            "disk", f"the state directory is on {kind}: SQLite's WAL does not work there",
            "move the repository to a local disk",
        )  # fmt: skip
    else:
        yield ok("disk", f"file system {kind or 'of an unknown type'}")


def check_link(session: Session) -> Iterator[Finding]:
    """Check the link `.worker-state` in the main worktree; a bare repository needs none."""
    root = session.paths.root
    link = f"{session.main_top}/{LINK_NAME}"
    if session.main_top == os.path.dirname(root):
        return
    if not os.path.lexists(link):
        yield warn("link", f"{link} is missing", "git worker init")
    elif os.path.realpath(link) != os.path.realpath(root):
        yield warn(
            "link", f"{link} does not lead to the state directory",
            f"rm {link} && git worker init",
        )  # fmt: skip
    else:
        yield ok("link", f"{LINK_NAME} leads to the state directory")


def check_excludes(session: Session) -> Iterator[Finding]:
    """Ask git itself whether what we put into the work tree is ignored."""
    here = session.git.at(session.main_top)
    if here.text("rev-parse", "--is-inside-work-tree") != "true":  # bare: nobody can add anything
        return
    names = [LINK_NAME]
    inside = os.path.relpath(session.worktree_root, session.main_top)
    if not inside.startswith("..") and os.path.isdir(session.worktree_root):
        names.append(f"{inside}/task/")
    done = here.run("check-ignore", "--no-index", "--", *names, ok=(0, 1))
    seen = set(done.text.splitlines())
    missing = [name for name in names if name not in seen]
    if missing:
        yield warn(
            "excludes", f"git would add {', '.join(missing)} to a commit",
            "git worker init   (info/exclude lost our lines, or a .gitignore overrides ours)",
        )  # fmt: skip
    else:
        yield ok("excludes", "our files are excluded")
