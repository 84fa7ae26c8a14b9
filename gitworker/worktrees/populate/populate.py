"""Populate a new worktree with submodules, links and copies, and run its setup commands.

The modules for these are imported only if the settings require them.
"""

import os

from gitworker import clock
from gitworker.lifecycle.rules import has_failed_setup
from gitworker.liveness.process_origin import this_origin
from gitworker.processes.table import find_start
from gitworker.session import Session
from gitworker.store.api import Writer
from gitworker.store.operations import begin_operation
from gitworker.store.payloads.spawn_data import SetupData
from gitworker.store.workers import Worker, set_worker_error
from gitworker.worktrees.populate.place import INCLUDE_FILE

RECORDS = "agents"  # in the state directory: the agents whose settings contain our hooks


def require_trusted_setup(session: Session) -> None:
    """Raise Refused if there are setup commands that are not trusted."""
    if session.settings.worktree_setup:
        from gitworker.verify.trust import require_trusted  # 5 ms, only if there is a setup

        require_trusted(session, "setup")


def populate_worktree(session: Session, worktree: str, *, is_warm: bool) -> None:
    """Fill submodules, and link and copy the paths that the settings name, from the main checkout.

    The settings of agents with our hooks are copied, too. `is_warm`: an earlier task has used the
    worktree, so existing copies are replaced. Raises
    Refused, with nothing written, unless both directories are checkouts of this repository.
    """
    records = f"{session.paths.root}/{RECORDS}"
    if os.path.isdir(records):
        from gitworker.worktrees.populate.attached_files import copy_attached  # 10 ms, if any

        copy_attached(records, worktree)
    if session.main_top == session.repository.common_dir:  # a bare repository has no main checkout
        return
    has_submodules = os.path.isfile(f"{worktree}/.gitmodules")
    has_copies = bool(session.settings.worktree_copy) or os.path.isfile(
        f"{session.main_top}/{INCLUDE_FILE}"
    )
    if not (has_submodules or has_copies or session.settings.worktree_link):
        return
    _require_ours(session, worktree)
    if has_submodules:
        from gitworker.repo.worktrees.submodules import (
            populate_submodules,  # 3 ms, only with submodules
        )

        populate_submodules(
            session.git.at(session.main_top), worktree,
            limit_s=session.settings.merge_remote_timeout_s,
        )  # fmt: skip
    if session.settings.worktree_link:
        from gitworker.worktrees.populate.links import make_links  # 2 ms

        make_links(session, worktree)
    if has_copies:
        from gitworker.worktrees.populate.include import copy_included  # shutil: 2 ms

        copy_included(session, worktree, is_warm=is_warm)


def _require_ours(session: Session, worktree: str) -> None:
    """Raise Refused unless the new worktree and the main checkout belong to this repository."""
    from gitworker.repo.worktrees.ownership import OwnershipClaim, require_checkout, require_owned
    from gitworker.repo.worktrees.worktree_list import find_admin_dir  # only if there is work

    common_dir = session.repository.common_dir
    admin_dir = find_admin_dir(common_dir, worktree)
    unknown = f"{common_dir}/worktrees/{os.path.basename(worktree)}"
    require_owned(OwnershipClaim(common_dir, worktree, admin_dir or unknown))
    require_checkout(session.git, session.main_top)


def begin_setup(session: Session, writer: Writer, worker: Worker) -> int | None:
    """Write the setup and its process into the journal; None without setup commands."""
    if not session.settings.worktree_setup:
        return None
    pid = os.getpid()
    host, boot, pid_ns = this_origin()
    return begin_operation(
        writer, "setup", worker=worker.worker_id, task=worker.task,
        actor=session.actor, now=clock.now_ms(),
        data=SetupData(pid, find_start(pid), host, boot, pid_ns),
    )  # fmt: skip


def repeat_setup(session: Session, worker: Worker) -> None:
    """Run the setup commands again if they have failed; raise Refused if they still do."""
    if not has_failed_setup(worker.state, worker.last_error):
        return
    run_setup(session, begin_repeated_setup(session, worker), worker)
    forget_failed_setup(session, worker)


def begin_repeated_setup(session: Session, worker: Worker) -> int | None:
    """Write the repetition of a failed setup into the journal; None without setup commands.

    Raises Refused if they are not trusted.
    """
    require_trusted_setup(session)
    with session.store.write() as writer:
        return begin_setup(session, writer, worker)


def forget_failed_setup(session: Session, worker: Worker) -> None:
    """Forget that the setup of a worker failed, since its repetition passed."""
    with session.store.write() as writer:
        set_worker_error(writer, worker.worker_id, None)


def run_setup(session: Session, operation: int | None, worker: Worker) -> None:
    """Run the setup commands that `begin_setup` recorded; nothing if it recorded none.

    Reports their output line by line. Raises Refused if one fails: the worker is then FAILED, and
    its worktree stays.
    """
    if operation is not None:
        from gitworker.worktrees.populate.setup_commands import run_setup_commands  # 5 ms

        run_setup_commands(session, operation, worker)
