"""Share directories of the main checkout with new worktrees by symbolic links (`worktree.link`).

Only paths inside the main checkout that git ignores, there and in the worktree, are linked, never
tracked ones. Removing a worktree removes only the link: git, rm and our trash never follow it.
"""

import os
from collections.abc import Iterator

from gitworker.repo.plumbing.git import Git
from gitworker.repo.worktrees.excludes import exclude_link
from gitworker.session import Session
from gitworker.worktrees.populate.place import has_place

OURS = frozenset({"", ".", ".git", ".worker-state", ".worker.log"})
WILD = "*?["


def make_links(session: Session, worktree: str) -> None:
    """Link the paths of `worktree.link` into a new worktree; skip missing and forbidden ones.

    A path may have wildcards, each within one name, as in `packages/*/node_modules`.
    """
    here = session.git.at(worktree)
    main = session.git.at(session.main_top)
    top = os.path.realpath(worktree)
    for name in _names(session, session.main_top):
        source, link = f"{session.main_top}/{name}", f"{top}/{name}"
        if not _may_link(session, name) or os.path.islink(source) or not os.path.exists(source):
            continue
        if os.path.lexists(link) or not has_place(top, name):
            continue
        if _is_tracked(here, name) or _is_tracked(main, name):
            continue
        typed_name = f"{name}/" if os.path.isdir(source) else name
        if _is_ignored(main, name) and _is_ignored(here, typed_name):
            _link(session, here, source=source, link=link, name=name)


def drop_links(session: Session, worktree: str) -> None:
    """Delete our links from a worktree that is to be deleted; their targets stay."""
    top = os.path.realpath(worktree)
    for name in _names(session, worktree):
        link = f"{top}/{name}"
        if (
            os.path.islink(link)
            and has_place(top, name)
            and os.readlink(link) == f"{session.main_top}/{name}"
        ):
            os.unlink(link)


def _names(session: Session, top: str) -> Iterator[str]:
    """Yield the paths that the setting names in a checkout; only wildcards require existence."""
    for path in session.settings.worktree_link:
        name = os.path.normpath(path).removeprefix("./")
        if any(letter in name for letter in WILD) and not os.path.lexists(f"{top}/{name}"):
            import glob  # 5 ms, only with a pattern

            yield from sorted(glob.glob(name, root_dir=top, include_hidden=True))
        else:
            yield name


def _may_link(session: Session, name: str) -> bool:
    """Return whether a path is inside the main checkout and not used by git or by us."""
    first = name.split("/")[0]
    if os.path.isabs(name) or first == ".." or first in OURS or "\n" in name:
        return False
    place, root = f"{session.main_top}/{name}/", f"{session.worktree_root}/"
    if place.startswith(root) or root.startswith(place):
        return False
    return os.path.realpath(place) == place.rstrip("/")  # no parent is a symbolic link


def _link(session: Session, here: Git, *, source: str, link: str, name: str) -> None:
    """Make a link and hide it from git; delete it if git still shows it."""
    os.makedirs(os.path.dirname(link), exist_ok=True)
    os.symlink(source, link)
    if _is_ignored(here, name):
        return
    exclude_link(session.repository.common_dir, name)  # `node_modules/` matches no link
    if not _is_ignored(here, name):
        os.unlink(link)


def _is_ignored(git: Git, name: str) -> bool:
    """Return whether git ignores a path; False for a path in a submodule."""
    return git.run("check-ignore", "--quiet", "--", name, ok=(0, 1, 128)).status == 0


def _is_tracked(git: Git, name: str) -> bool:
    return bool(git.run("--literal-pathspecs", "ls-files", "-z", "--", name).out)
