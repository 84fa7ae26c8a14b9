"""Where removed worktrees go, and by which name they are found again: one entry per act."""

import errno
import os
import stat
from collections.abc import Sequence
from contextlib import suppress

from gitworker import clock
from gitworker.errors import Naming
from gitworker.liveness.readings import clock_has_jumped
from gitworker.model.ref_names import BRANCHES
from gitworker.paths import AGENT_LOG, open_regular
from gitworker.repo.plumbing.disk import make_own_directory, move_tree, remove_tree
from gitworker.repo.rescue.trash import (
    TrashEntry,
    delete_clean_in_background,
    list_trash,
    move_to_trash,
    repair_trash,
)
from gitworker.repo.worktrees.ownership import OwnershipClaim, require_owned
from gitworker.session import Session
from gitworker.worktrees.occupied import refuse_move
from gitworker.worktrees.worktree_root import TRASH_NAME, shelf_of

WATCHER = "fsmonitor--daemon.ipc"  # the socket at which git's daemon listens


def trash_root(session: Session) -> str:
    """Return the trash of this repository's worktrees, its own where others may share the root."""
    return shelf_of(session, TRASH_NAME)


def entry_name(worker: str, task: str, operation: int) -> str:
    """Return the name of the one trash entry that an act makes."""
    return f"{worker}-{task}-{operation}"


def ready_trash(session: Session, root: str) -> None:
    """Make a trash if there is none, and finish what was killed in it."""
    guard(session, root)
    repair_trash(root, common_dir=session.repository.common_dir)


def put_into_trash(
    session: Session, root: str, *, worktree: str, admin_dir: str, name: str, ref: str
) -> TrashEntry | None:
    """Move a worktree into the trash `root`, which is ready; an earlier try is found by `name`.

    Returns None where there is nothing to move and never was. Raises Refused if a process works
    there: one may have come since the command looked, or since it was killed.
    """
    found = find_entry(root, name)
    if found is not None or not os.path.isdir(worktree):
        return found
    require_owned(OwnershipClaim(session.repository.common_dir, worktree, admin_dir))
    refuse_move(session, worktree, admin_dir)
    _keep_log(session, worktree, name)
    _end_watching(session, worktree, admin_dir)
    return move_to_trash(
        worktree=worktree,
        admin_dir=admin_dir,
        trash_root=root,
        name=name,
        stamp=_stamp(),
        branch=ref,
    )


def put_lost_into_trash(root: str, *, worktree: str, admin_dir: str, name: str, ref: str) -> None:
    """Move git's own directory of a worktree that is not at its place into the trash.

    Its index and its open operation come back with an undo; git would go on listing it, and make
    no other worktree at that place.
    """
    if find_entry(root, name) is None and os.path.isdir(admin_dir):
        move_to_trash(
            worktree=worktree, admin_dir=admin_dir, trash_root=root, name=name, stamp=_stamp(),
            branch=ref,
        )  # fmt: skip


def delete_landed(session: Session, entries: Sequence[tuple[TrashEntry, str]]) -> None:
    """Delete those of these landed worktrees that are clean, in the background.

    Earlier ones that wait for a week stay while the wall clock has jumped.
    """
    if not entries:
        return
    with session.store.read() as reader:
        jumped = clock_has_jumped(reader)
    delete_clean_in_background(entries, session.repository.common_dir, keep_marked=jumped)


def find_entry(root: str, name: str) -> TrashEntry | None:
    """Return the entry of that name in a trash, or None."""
    found = [entry for entry in list_trash(root, name=name) if entry.name == name]
    return found[-1] if found else None


def set_aside(session: Session, path: str, name: str) -> None:
    """Move a half-made worktree or admin directory into the trash; no command restores it.

    One that can be neither renamed nor copied (EXDEV) stays where it is.
    """
    root = trash_root(session)
    guard(session, root)
    place = aside = f"{root}/{_stamp()}-{name}-partial"
    number = 1
    while os.path.lexists(aside):
        number += 1
        aside = f"{place}-{number}"
    try:
        move_tree(path, aside)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise


def _end_watching(session: Session, worktree: str, admin_dir: str) -> None:
    """End git's file system monitor of a worktree (core.fsmonitor), which would outlive it."""
    if os.path.exists(f"{admin_dir}/{WATCHER}"):
        session.git.at(worktree).run("fsmonitor--daemon", "stop", ok=range(256))


def _keep_log(session: Session, worktree: str, name: str) -> None:
    """Keep the agent's log of a worktree that goes, by a second name for it in `logs/`."""
    kept = f"{session.paths.logs}/{name}.log"
    with suppress(OSError):
        if not stat.S_ISREG(os.lstat(f"{worktree}/{AGENT_LOG}").st_mode):
            return  # not ours: a link, a FIFO or a directory
    try:
        os.link(f"{worktree}/{AGENT_LOG}", kept, follow_symlinks=False)
    except FileNotFoundError:  # no agent was supervised there
        return
    except FileExistsError:  # by an earlier try of the same act
        return
    except OSError:  # another file system
        import shutil  # 10 ms, for worktrees on another disk

        shutil.copyfile(f"{worktree}/{AGENT_LOG}", kept, follow_symlinks=False)


def guard(session: Session, root: str) -> None:
    """Make a shelf look like a repository of its own, since `git clean -fdx` passes those by.

    It comes by one rename: a `git clean` that runs right now never sees half of it.
    """
    make_own_directory(root)
    partial = f"{session.paths.root}/trash-guard-{os.getpid()}"
    while not os.path.exists(f"{root}/.git/HEAD"):
        for name in ("objects", "refs"):
            os.makedirs(f"{partial}/{name}", exist_ok=True)
        with (
            Naming(f"{partial}/HEAD"),
            open(f"{partial}/HEAD", "w", encoding="ascii", opener=open_regular) as file,
        ):
            file.write(f"ref: {BRANCHES}trash\n")
        make_own_directory(root)
        try:
            os.rename(partial, f"{root}/.git")
        except FileNotFoundError:  # a `git clean` took the empty directory away
            continue
        except OSError:  # another file system, or something of the user's: it will not be moved
            remove_tree(partial)
            return


def _stamp() -> str:
    return clock.iso_utc(clock.now_ms()).replace(":", "").replace("-", "").replace(".", "")
