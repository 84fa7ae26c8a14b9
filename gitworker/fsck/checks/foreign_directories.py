"""The path in a worker's row contains something else than the worker's worktree.

`repo/worktrees/ownership.py` makes every decision. A repair writes only the two files by which a
worktree and its admin directory name each other; the old files are kept in the state directory.
"""

import os
from collections.abc import Iterator
from functools import partial

from gitworker.fsck.checks.misplaced import move_aside
from gitworker.fsck.finding import Finding
from gitworker.fsck.picture import Picture
from gitworker.model.ref_names import short_name
from gitworker.paths import read_worktree_owner, write_worktree_owner
from gitworker.repo.hooks.install import install
from gitworker.repo.plumbing.disk import write_atomically
from gitworker.repo.worktrees.ownership import (
    REJOINABLE,
    Flaw,
    OwnershipClaim,
    describe,
    find_flaw,
    find_named,
    find_place,
    is_recorded_directory,
    refusal_of,
)
from gitworker.repo.worktrees.worktree_list import find_admin_dir
from gitworker.rules_text import quoted
from gitworker.session import Session
from gitworker.store.workers import Worker
from gitworker.worktrees.moved_worktrees import find_moved, record_place

# Other checks of worktrees find and repair the other flaws.
HANDLED = REJOINABLE | {Flaw.OWN_REPOSITORY, Flaw.NOT_A_DIRECTORY, Flaw.OTHER_PLACE, Flaw.COPIED}


def check_belonging(
    picture: Picture, worker: Worker, owner: OwnershipClaim, flaw: Flaw
) -> Iterator[Finding]:
    """Find the worktree of a worker, and the repair that connects them again."""
    session = picture.session
    message = describe(owner, flaw)
    place = owner.place
    if flaw is Flaw.COPIED:
        yield Finding(
            "worktree_copied", place, message,
            "gives the worker a worktree in this repository; the original is not touched",
            partial(_take_over, worker=worker, owner=owner),
        )  # fmt: skip
        return
    is_same = is_recorded_directory(owner.admin_dir or "", place)
    new = None if is_same else find_moved(session, owner)
    if new is not None:
        yield moved(worker, owner, new)
    elif _is_proved(owner, flaw, is_same=is_same):
        yield Finding(
            "git_file_wrong", place, message,
            "connects the worktree and its admin directory again", partial(_rejoin, owner=owner),
        )  # fmt: skip
    elif flaw in REJOINABLE:  # the directory is not proved to be the worker's
        yield Finding("worktree_foreign", place, message, f"mv {quoted(place)} {quoted(place)}.old")
    else:
        yield Finding("worktree_foreign", place, message, refusal_of(owner, flaw).hint or "")


def moved(worker: Worker, owner: OwnershipClaim, new: str) -> Finding:
    """Return the finding that a worktree is not at the path in its worker's row."""
    message = f"the worktree {owner.place} of {worker.worker_id} was moved to {new}"
    repair = partial(_follow, worker=worker, owner=owner._replace(place=new))
    return Finding("worktree_moved", owner.place, message, "records the new path", repair)


def _follow(session: Session, *, worker: Worker, owner: OwnershipClaim) -> None:
    _rejoin(session, owner=owner)
    record_place(session, worker, owner.place)


def _is_marked(owner: OwnershipClaim) -> bool:
    return read_worktree_owner(owner.admin_dir or "") == (owner.worker_id, owner.task_id)


def _is_proved(owner: OwnershipClaim, flaw: Flaw, *, is_same: bool | None) -> bool:
    """Return whether a directory is the worktree although one of the two files is wrong.

    Either the admin directory names it, or its `.git` file names the admin directory, which names
    no existing path. A `.git` file that points elsewhere may belong to another directory: then
    only the recorded device and inode prove it. They change when a backup is restored.
    """
    admin = owner.admin_dir or ""
    if not os.path.isdir(admin) or not _is_marked(owner):
        return False
    known = find_place(admin)
    if flaw is Flaw.OTHER_PLACE:
        return known is None or not os.path.lexists(known)
    names_it = known == os.path.realpath(owner.place)
    return names_it and (flaw is Flaw.NO_GIT_FILE or (flaw in REJOINABLE and is_same is True))


def _rejoin(session: Session, *, owner: OwnershipClaim) -> None:
    """Let a worktree and its admin directory name each other again."""
    admin = owner.admin_dir or ""
    if find_named(owner.place) != os.path.realpath(admin):
        _replace(session, f"{owner.place}/.git", f"gitdir: {admin}\n")
    if find_place(admin) != os.path.realpath(owner.place):
        _replace(session, f"{admin}/gitdir", f"{owner.place}/.git\n")
    flaw = find_flaw(owner)
    if flaw is not None:
        raise refusal_of(owner, flaw)


def _replace(session: Session, path: str, text: str) -> None:
    if os.path.lexists(path):
        move_aside(session.paths.root, path)
    write_atomically(path, os.fsencode(text))


def _take_over(session: Session, *, worker: Worker, owner: OwnershipClaim) -> None:
    """Give a worker of a copied repository the copied worktree, or else a new one."""
    old_admin = owner.admin_dir or ""
    old_common = os.path.dirname(os.path.dirname(old_admin))
    common = session.repository.common_dir
    admin = f"{common}/worktrees/{os.path.basename(old_admin)}"
    place = os.path.normpath(os.path.join(common, os.path.relpath(owner.place, old_common)))
    claim = owner._replace(place=place, admin_dir=admin)
    if (
        os.path.realpath(place) != os.path.realpath(owner.place)
        and find_named(place) in (os.path.realpath(old_admin), os.path.realpath(admin))
        and _is_marked(claim)
    ):
        _rejoin(session, owner=claim)
    else:
        if os.path.isdir(admin):
            move_aside(session.paths.root, admin)
        new = _free(f"{session.worktree_root}/{owner.task_id or worker.worker_id}")
        branch = short_name(owner.ref or "")
        session.git.run("worktree", "add", "--quiet", "--", new, branch)
        claim = owner._replace(place=new, admin_dir=find_admin_dir(common, new))
    assert claim.admin_dir is not None
    write_worktree_owner(claim.admin_dir, worker.worker_id, worker.task)
    install(session.git, session.repository, session.git.at(claim.place))
    record_place(session, worker, claim.place, admin_dir=claim.admin_dir)


def _free(place: str) -> str:
    number, candidate = 1, place
    while os.path.lexists(candidate):
        number += 1
        candidate = f"{place}-{number}"
    return candidate
