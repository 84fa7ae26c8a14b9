"""Move removed worktrees into the trash: one entry per operation, found again by its name."""

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
from gitworker.worktrees.worktree_root import TRASH_NAME

WATCHER = "fsmonitor--daemon.ipc"  # the socket of git's file system monitor


def trash_root(session: Session) -> str:
    """Return this repository's trash; it has its own even if others share the root."""
    return session.shelf(TRASH_NAME)


def entry_name(worker: str, task: str, operation: int) -> str:
    """Return the name of the trash entry that an operation makes."""
    return f"{worker}-{task}-{operation}"


def ready_trash(session: Session, root: str) -> None:
    """Make the trash if it does not exist, and finish moves that were killed."""
    guard(session, root)
    repair_trash(root, common_dir=session.repository.common_dir)


def put_into_trash(
    session: Session, root: str, *, worktree: str, admin_dir: str, name: str, ref: str
) -> TrashEntry | None:
    """Move a worktree into the trash `root`; an earlier attempt is found by `name`.

    The caller has called `ready_trash`. Returns None if there is no worktree and no earlier entry.
    Raises Refused if a process works there; it may have started since the first check.
    """
    found = find_entry(root, name)
    if found is not None or not os.path.isdir(worktree):
        return found
    require_owned(OwnershipClaim(session.repository.common_dir, worktree, admin_dir))
    refuse_move(session, worktree, admin_dir)
    _keep_log(session, worktree, name)
    _stop_monitor(session, worktree, admin_dir)
    return move_to_trash(
        worktree=worktree,
        admin_dir=admin_dir,
        trash_root=root,
        name=name,
        stamp=_stamp(),
        branch=ref,
    )


def put_lost_into_trash(root: str, *, worktree: str, admin_dir: str, name: str, ref: str) -> None:
    """Move the admin directory of a worktree that is not at its place into the trash.

    An undo restores it with its index and unfinished git operation. If it stayed, git would list
    the worktree and make no other one at that place.
    """
    if find_entry(root, name) is None and os.path.isdir(admin_dir):
        move_to_trash(
            worktree=worktree, admin_dir=admin_dir, trash_root=root, name=name, stamp=_stamp(),
            branch=ref,
        )  # fmt: skip


def delete_landed(session: Session, entries: Sequence[tuple[TrashEntry, str]]) -> None:
    """Delete the clean ones of these landed worktrees in the background.

    Older entries, which are kept for a week, stay if the wall clock has jumped.
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

    It stays in place if it can be neither renamed nor copied (EXDEV).
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


def _stop_monitor(session: Session, worktree: str, admin_dir: str) -> None:
    """Stop git's file system monitor of a worktree (core.fsmonitor), which would outlive it."""
    if os.path.exists(f"{admin_dir}/{WATCHER}"):
        session.git.at(worktree).run("fsmonitor--daemon", "stop", ok=range(256))


def _keep_log(session: Session, worktree: str, name: str) -> None:
    """Keep the agent's log of a removed worktree by a hard link in `logs/`."""
    kept = f"{session.paths.logs}/{name}.log"
    with suppress(OSError):
        if not stat.S_ISREG(os.lstat(f"{worktree}/{AGENT_LOG}").st_mode):
            return  # not ours: a link, a FIFO or a directory
    try:
        os.link(f"{worktree}/{AGENT_LOG}", kept, follow_symlinks=False)
    except FileNotFoundError:  # no agent was supervised there
        return
    except FileExistsError:  # an earlier attempt of the same operation made it
        return
    except OSError:  # another file system
        import shutil  # 10 ms, for worktrees on another disk

        shutil.copyfile(f"{worktree}/{AGENT_LOG}", kept, follow_symlinks=False)


def guard(session: Session, root: str) -> None:
    """Make a directory look like a repository, since `git clean -fdx` skips repositories.

    One rename does it, so that a `git clean` that runs now never sees an incomplete one.
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
        except FileNotFoundError:  # a `git clean` deleted the empty directory
            continue
        except OSError:  # another file system, or a directory of the user that must stay
            remove_tree(partial)
            return


def _stamp() -> str:
    return clock.iso_utc(clock.now_ms()).replace(":", "").replace("-", "").replace(".", "")
