"""The root directory of the worktrees: its permitted places, and how it is hidden from git.

Inside the main checkout it has our `.gitignore`, which hides all of it. A line in info/exclude
would apply in every worktree and hide a directory of the project that has the same name.
"""

import os
from contextlib import suppress
from stat import S_ISDIR, S_ISLNK, S_ISREG

from gitworker.config import FILE_NAME
from gitworker.errors import Naming, Refused
from gitworker.paths import open_regular
from gitworker.rules_text import quoted
from gitworker.session import OTHER_ROOT, ROOT_NOTE, Session, is_inside_name

GITS = frozenset({
    ".", "branches", "hooks", "info", "lfs", "logs", "modules", "objects", "refs", "reftable",
    "rr-cache", "worker-state", "worktrees",
})  # fmt: skip
DEFAULT_ROOTS = (OTHER_ROOT, "worktrees")
MARK_NAME = ".gitignore"
TRASH_NAME = ".trash"
MARK = "# gitworker makes worktrees here; none of this is the project's\n*\n"


def ready_root(session: Session) -> None:
    """Prepare the root of the worktrees: check its place, make it and hide it from git.

    If the project has files in the default root, another one is chosen permanently. Raises Refused,
    with nothing made, if the project uses the directory, if no rename reaches it from the
    repository (a removal would have to copy), or if the repository's own settings file names a
    place that is neither in the repository nor beside it.
    """
    root = session.worktree_root
    _refuse_far(session, root)
    _refuse_gits_own(session, root)
    inside = _inside(session, root)
    is_marked = inside is None or _is_marked(root)
    is_taken = not is_marked and (inside == "." or _is_the_projects(session, root))
    if not is_taken:
        _require_one_file_system(session, root)
    if is_marked:
        return
    if is_taken:
        if session.has_default_root and inside != OTHER_ROOT:
            _note(session, OTHER_ROOT)
            ready_root(session)
            return
        raise Refused(
            f"{root} holds files of the project; worktrees need a directory of their own",
            "git config worker.worktree.root ../worktrees",
            code="root_taken",
        )
    assert inside is not None
    _note(session, inside)
    os.makedirs(root, exist_ok=True)
    mark_root(session)


def mark_root(session: Session) -> None:
    """Write our `.gitignore` again if it was deleted, for example by `git clean -fdx`."""
    noted = session.noted_root
    if noted is None:
        return
    mark = f"{session.main_top}/{noted}/{MARK_NAME}"
    if os.path.lexists(mark) or session.paths.is_uninstalled:
        return
    try:
        with Naming(mark), open(mark, "x", encoding="utf-8", opener=open_regular) as file:
            file.write(MARK)
    except OSError:  # it exists, the directory does not, or it cannot be written
        return


def find_marked(session: Session) -> str | None:
    """Return the directory of the main checkout that has our `.gitignore`, or None."""
    places = (session.worktree_root, *(f"{session.main_top}/{name}" for name in DEFAULT_ROOTS))
    for place in places:
        inside = _inside(session, place)
        if inside is not None and is_inside_name(inside) and _is_marked(place):
            return inside
    return None


def restore_note(session: Session) -> None:
    """Write the note of the marked directory again; without one, rename the damaged note."""
    inside = find_marked(session)
    if inside is not None:
        _note(session, inside)
    else:
        note = f"{session.paths.root}/{ROOT_NOTE}"
        os.rename(note, f"{note}.broken")


def unmark_root(session: Session) -> None:
    """Delete our `.gitignore`, and the directory if it is empty then.

    Both stay if there is a trash: otherwise `git add -A` would add its files to the project.
    """
    noted = session.noted_root
    if noted is None:
        return
    root = f"{session.main_top}/{noted}"
    if not _is_marked(root):  # the user's own file, or no file
        return
    with suppress(OSError):
        if not os.path.lexists(f"{root}/{TRASH_NAME}"):
            os.unlink(f"{root}/{MARK_NAME}")
            os.rmdir(root)


def _is_marked(root: str) -> bool:
    try:
        with open(
            f"{root}/{MARK_NAME}", encoding="utf-8", errors="replace", opener=open_regular
        ) as file:
            return file.read() == MARK
    except OSError:
        return False


def _inside(session: Session, root: str) -> str | None:
    """Return the root's path relative to the main checkout; None if it is outside."""
    if session.main_top == session.repository.common_dir:
        return None
    inside = os.path.relpath(root, session.main_top)
    return None if inside.split("/")[0] in ("..", ".git") else inside


def _is_the_projects(session: Session, root: str) -> bool:
    """Return whether a directory has files that are, or could become, part of the project."""
    if not os.path.isdir(root):
        return os.path.lexists(root)
    _refuse_waiting(f"{root}/{MARK_NAME}")
    listed = session.git.at(session.main_top).run(
        "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", root
    )
    return any(name and not name.endswith("/") for name in listed.text.split("\0"))


def _refuse_waiting(mark: str) -> None:
    """Refuse a `.gitignore` that is a FIFO or a device: git would wait for it forever."""
    try:
        mode = os.lstat(mark).st_mode
    except OSError:
        return
    if not (S_ISREG(mode) or S_ISLNK(mode) or S_ISDIR(mode)):
        raise Refused(
            f"{mark} is not a file; every git command that reads it waits forever",
            f"mv {quoted(mark)} {quoted(os.path.dirname(mark))}/found",
            code="place_taken",
        )


def _refuse_gits_own(session: Session, root: str) -> None:
    """Refuse a directory that git uses itself: git would delete ours there.

    A bare repository may contain the root under any other name.
    """
    common = os.path.realpath(session.repository.common_dir)
    inside = os.path.relpath(os.path.realpath(root), common).split("/")[0]
    if inside == ".." or (session.main_top == session.repository.common_dir and inside not in GITS):
        return
    raise Refused(
        f"{root} is inside git's own directory {common}",
        "git config worker.worktree.root ../worktrees",
        code="root_taken",
    )


def _refuse_far(session: Session, root: str) -> None:
    """Refuse a distant directory that only the repository's settings file names.

    The author of a repository must not choose where a clone writes. Permitted are the clone itself
    and directories beside it that are not hidden (`~/.config` may be one), links resolved.
    """
    if "worktree_root" not in session.settings.from_file:
        return
    top = os.path.realpath(session.main_top)
    inside = os.path.relpath(os.path.realpath(root), os.path.dirname(top)).split("/")[0]
    if inside == os.path.basename(top) or not inside.startswith("."):
        return

    raise Refused(
        f"{FILE_NAME} asks for worktrees in {root}, which is neither in the repository nor beside"
        " it; only the user of this clone can set that",
        f"git config worker.worktree.root {quoted(root)}",
        code="root_not_trusted",
    )


def _note(session: Session, inside: str) -> None:
    """Record which directory of the main checkout is the root."""
    partial = f"{session.paths.root}/{ROOT_NOTE}.{os.getpid()}.tmp"
    with (
        Naming(partial),
        open(partial, "w", encoding="utf-8", errors="surrogateescape", opener=open_regular) as file,
    ):
        file.write(f"{inside}\n")
    os.replace(partial, f"{session.paths.root}/{ROOT_NOTE}")


def find_barrier(session: Session, place: str) -> str | None:
    """Return why a rename from the repository to a directory fails; None if it works.

    It renames an empty directory, since two mounts of one file system refuse that too.
    """
    while not os.path.lexists(place):
        place = os.path.dirname(place)
    if place == session.main_top == os.path.dirname(session.repository.common_dir):
        return None  # the same directory: a probe would only appear in it for a moment
    probe = f"{session.paths.root}/probe-{os.getpid()}"
    there = f"{place}/.gitworker-probe-{os.getpid()}"
    os.makedirs(probe, exist_ok=True)
    try:
        os.rename(probe, there)
        probe = there
    except OSError as error:
        return error.strerror or str(error)
    finally:
        os.rmdir(probe)
    return None


def _require_one_file_system(session: Session, root: str) -> None:
    why = find_barrier(session, root)
    if why is not None:
        raise Refused(
            f"worktrees cannot be made in {root}: a rename from the repository to it fails ({why}),"
            " and removing a worktree is such a rename",
            "git config worker.worktree.root <directory>   # on the repository's file system",
            code="cross_device",
        )
