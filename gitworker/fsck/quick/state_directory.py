"""Checks of the state directory: it exists, is private, local, linked and excluded."""

import os
import stat
from collections.abc import Iterator

from gitworker.fsck.finding import Finding, fail, ok, warn
from gitworker.fsck.quick.rules_file_system import file_system_of, is_network
from gitworker.paths import (
    LINK_NAME,
    Repository,
    find_misplaced,
    misplaced_hint,
    misplaced_text,
    state_paths,
)
from gitworker.rules_text import quoted
from gitworker.session import Session

PRIVATE = 0o700
MOUNTS = "/proc/self/mounts"


def check_directory(repository: Repository) -> Iterator[Finding]:
    """Check that the state directory exists, is private and has no misplaced entry."""
    root = state_paths(repository).root
    if not os.path.isdir(root):
        if os.path.lexists(root):
            message = f"the state directory {root} is not a directory"
            hint = f"mv {quoted(root)} {quoted(root)}.found && git worker init"
            yield fail("state", message, hint)
        else:
            yield fail("state", f"the state directory {root} does not exist", "git worker init")
        return
    mode = stat.S_IMODE(os.stat(root).st_mode)
    if mode != PRIVATE:
        yield warn(
            "state", f"{root} has mode {mode:04o} instead of 0700: other users may read it",
            f"chmod 700 {quoted(root)}",
        )  # fmt: skip
    elif not os.access(root, os.W_OK):
        hint = f"df {quoted(root)}   # is its file system mounted read-only?"
        yield fail("state", f"{root} is not writable", hint)
    else:
        yield ok("state", f"state directory {root}, mode 0700")
    for path in find_misplaced(root):
        yield fail("state", misplaced_text(path), misplaced_hint(path))


def check_file_system(repository: Repository, *, mounts: str = MOUNTS) -> Iterator[Finding]:
    """Check that the state directory is on a local file system, if its type is known."""
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
    except OSError:
        yield ok("disk", "the type of the file system is unknown")
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
    if session.main_top == os.path.dirname(root) or session.paths.is_uninstalled:
        return
    if not os.path.lexists(link):
        yield warn("link", f"{link} is missing", "git worker init")
    elif os.path.realpath(link) != os.path.realpath(root):
        yield warn(
            "link", f"{link} does not point to the state directory",
            f"mv {quoted(link)} {quoted(f'{link}-found')} && git worker init",
        )  # fmt: skip
    else:
        yield ok("link", f"{LINK_NAME} points to the state directory")


def check_excludes(session: Session) -> Iterator[Finding]:
    """Check with git that our files in the work tree are ignored."""
    here = session.git.at(session.main_top)
    if session.paths.is_uninstalled or here.text("rev-parse", "--is-inside-work-tree") != "true":
        return  # a bare repository has no work tree
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
            "git worker init   # info/exclude lacks our lines, or a .gitignore overrides them",
        )  # fmt: skip
    else:
        yield ok("excludes", "our files are excluded")
