"""Worktrees, their admin directories and git's locks agree with the rows."""

import os
from collections.abc import Iterator
from functools import partial

from gitworker import clock
from gitworker.fsck.checks.foreign_directories import HANDLED, check_belonging, moved
from gitworker.fsck.checks.indexes import check_index
from gitworker.fsck.checks.refs_and_locks import check_head_file, files_of_refs
from gitworker.fsck.finding import Finding
from gitworker.fsck.picture import Picture
from gitworker.fsck.rules_records import holds_task, is_left, may_continue
from gitworker.model.ids import Ref
from gitworker.model.ref_names import short_name
from gitworker.paths import open_regular, read_worktree_owner, write_worktree_owner
from gitworker.repo.checkout.move_branch import is_ours
from gitworker.repo.checkout.recover_move import find_unfinished, recover_move
from gitworker.repo.hooks.install import install
from gitworker.repo.plumbing.disk import private_directory, write_atomically
from gitworker.repo.plumbing.index_file import rebuild_index
from gitworker.repo.status.checkout_status import open_operation
from gitworker.repo.worktrees.ownership import (
    Flaw,
    OwnershipClaim,
    find_flaw,
    find_named,
    owner_of,
    refusal_of,
)
from gitworker.repo.worktrees.trouble import find_other_head
from gitworker.repo.worktrees.worktree_list import Worktree, find_admin_dir
from gitworker.rules_text import quoted
from gitworker.session import Session
from gitworker.store.payloads.payload import AdoptData
from gitworker.store.payloads.spawn_data import SpawnData
from gitworker.store.workers import Worker, set_worktree
from gitworker.worktrees.elsewhere import leave_freed_place
from gitworker.worktrees.moved_worktrees import find_moved

LOCKS = (
    "HEAD.lock",
    "packed-refs.lock",
    "config.lock",
    "index.lock",
    "shallow.lock",
    "config.worktree.lock",
)


def check_worktrees(picture: Picture) -> Iterator[Finding]:
    """Find workers' worktrees that are missing, damaged, unmarked or on another branch."""
    for worker in picture.settled:
        if worker.worktree is None:
            if holds_task(worker.state) and worker.elsewhere is None:
                yield Finding(
                    "worktree_none", worker.worker_id,
                    f"{worker.worker_id} holds a task but has no worktree",
                    f"git worker cancel {worker.worker_id}   # a rescue ref keeps its commits",
                )  # fmt: skip
            continue
        tree = picture.worktrees.get(os.path.realpath(worker.worktree))
        owner = _owner(picture, worker, tree)
        flaw = find_flaw(owner)
        new = find_moved(picture.session, owner) if flaw is Flaw.MISSING else None
        if flaw in HANDLED:
            yield from check_belonging(picture, worker, owner, flaw)
        elif new is not None:
            yield moved(worker, owner, new)
        elif flaw is Flaw.DAMAGED:
            yield from check_head_file(picture, owner)
        elif tree is None:
            yield _unknown_to_git(picture, worker, worker.worktree)
        elif not os.path.isdir(worker.worktree):
            yield _missing(owner)
        else:
            yield from _of_worker(picture, worker, tree)


def _unknown_to_git(picture: Picture, worker: Worker, place: str) -> Finding:
    ref = picture.branch(worker)
    has_commit = ref is not None and picture.refs.get(ref, "") not in ("", *picture.missing)
    if os.path.isdir(place):
        message = f"git does not list {place} of {worker.worker_id}: its admin directory is missing"
        admin = _pointer(picture, place)
        if admin is None or not has_commit or ref is None:
            return Finding("admin_gone", place, message, f"mv {quoted(place)} {quoted(place)}.old")
        return Finding(
            "admin_gone", place, message,
            "creates it again on the branch: files stay, staged changes become unstaged",
            partial(_rebuild, worker=worker, place=place, admin=admin, ref=ref),
        )  # fmt: skip
    message = f"{place} of {worker.worker_id} does not exist, and git does not list it"
    if has_commit and ref is not None and may_continue(worker.state):
        repair = partial(_add, worker=worker, place=place, ref=ref)
        return Finding("worktree_gone", place, message, "creates it again from the branch", repair)
    if not holds_task(worker.state):
        repair = partial(_record, worker=worker, place=None, admin=None)
        return Finding("worktree_gone", place, message, "removes it from the worker's row", repair)
    return Finding("worktree_gone", place, message, f"git worker cancel {worker.worker_id}")


def _owner(picture: Picture, worker: Worker, tree: Worktree | None) -> OwnershipClaim:
    """Return the claim of a row; with git's admin directory if only that of the row is wrong."""
    owner = owner_of(picture.common_dir, worker)
    assert owner is not None
    listed = owner._replace(admin_dir=tree.admin_dir) if tree is not None else owner
    return listed if find_flaw(listed) in (None, Flaw.OTHER_WORKER, Flaw.DAMAGED) else owner


def _missing(owner: OwnershipClaim) -> Finding:
    """Return the finding of a missing worktree that git lists; it may be unmounted or moved."""
    refusal = refusal_of(owner, Flaw.MISSING)
    return Finding("worktree_missing", owner.place, refusal.message, refusal.hint or "")


def _of_worker(picture: Picture, worker: Worker, tree: Worktree) -> Iterator[Finding]:
    place, admin = tree.path, tree.admin_dir
    if find_named(place) != os.path.realpath(admin):
        return  # git lists another damaged worktree at this path: it is repaired first
    yield from check_index(picture, worker, tree)
    owner = (worker.worker_id, worker.task)
    if worker.admin_dir != admin:
        yield Finding(
            "admin_differs", place,
            f"the row of {worker.worker_id} names the admin directory {worker.admin_dir}, git uses"
            f" {admin}",
            "records git's path", partial(_record, worker=worker, place=place, admin=admin),
        )  # fmt: skip
    is_left_by_others = not worker.task and picture.session.store.fleet_machine is not None
    if read_worktree_owner(admin) != owner and is_left_by_others:
        yield Finding(
            "worktree_left", place,
            f"{place} is left from a task of {worker.worker_id} that was ended on another machine",
            "keeps its work under a rescue ref and removes it",
            lambda session: leave_freed_place(session, worker), locks_itself=True,
        )  # fmt: skip
    elif read_worktree_owner(admin) != owner:
        yield Finding(
            "seat_wrong", place, f"{admin} is not marked as the worktree of {'/'.join(owner)}",
            "marks it", lambda _: write_worktree_owner(admin, *owner),
        )  # fmt: skip
    ref = picture.branch(worker)
    if ref is None or not holds_task(worker.state) or tree.branch == ref:
        return
    if open_operation(admin) is not None or ref not in picture.refs:
        return
    trouble = find_other_head(picture.session.git, _owner(picture, worker, tree))
    is_free = all(other.branch != ref for other in picture.worktrees.values())
    if trouble is not None and tree.head == picture.refs[ref] and is_free:
        hint = f"points HEAD at the branch, as does: {trouble.command}"
        repair = partial(_set_head, place=place, ref=ref)
        yield Finding("wrong_head", place, trouble.words, hint, repair)
    elif trouble is not None:
        yield Finding("wrong_head", place, trouble.words, trouble.command)


def check_unowned(picture: Picture) -> Iterator[Finding]:
    """Find worktrees that are marked as a worker's, which neither has them nor landed them."""
    owned = {os.path.realpath(w.worktree) for w in picture.workers if w.worktree}
    landed = {(one.worker_id, one.task_id) for one in picture.landings}
    begun = {
        one.data.path
        for one in picture.operations
        if one.is_open and isinstance(one.data, SpawnData | AdoptData)
    }
    for path, tree in picture.worktrees.items():
        owner = read_worktree_owner(tree.admin_dir)
        if owner is None or path in owned or owner in landed or tree.path in begun:
            continue
        place = quoted(tree.path)
        yield Finding(
            "worktree_unowned", tree.path,
            f"{tree.path} is marked as the worktree of {'/'.join(owner)}, which does not have it",
            f"git worktree unlock {place} && git worktree remove {place}"
            if tree.locked
            else f"git worktree remove {place}   # or: git worker adopt",
        )  # fmt: skip


def check_locks(picture: Picture) -> Iterator[Finding]:
    """Find locks that a killed git left, and branch moves of killed commands."""
    busy = any(one.is_open for one in picture.operations)
    places = {picture.common_dir: picture.session.main_top}
    for tree in picture.worktrees.values():
        places.setdefault(tree.admin_dir, tree.path)
    for admin, place in places.items():
        for name in LOCKS:
            yield from _lock(f"{admin}/{name}", place, busy=busy)
    for path in _ref_locks(picture):
        yield from _lock(path, "", busy=busy)


def _ref_locks(picture: Picture) -> list[str]:
    """Return the lock files of our refs, of workers' branches and of the target."""
    common = picture.common_dir
    found = {f"{common}/{picture.session.target}.lock"}
    found.update(path for path in files_of_refs(picture) if path.endswith(".lock"))
    branches = filter(None, map(picture.branch, picture.workers))
    return sorted(found | {f"{common}/{ref}.lock" for ref in branches})


def _lock(path: str, place: str, *, busy: bool) -> Iterator[Finding]:
    try:
        age_ms = clock.now_ms() - os.lstat(path).st_mtime_ns // 1_000_000
    except OSError:
        return
    admin = os.path.dirname(path)
    if is_ours(path):
        if not busy and find_unfinished(admin) is not None:
            yield Finding(
                "move_left", path, f"{path} is left from a branch move that was killed",
                "completes the move", partial(_end_move, admin=admin, place=place),
            )  # fmt: skip
    elif is_left(age_ms):
        yield Finding(
            "lock_left", path, f"{path} is {age_ms // 1000} s old, probably left by a killed git",
            f"rm {quoted(path)}   # if no git command is running",
        )  # fmt: skip


def _pointer(picture: Picture, place: str) -> str | None:
    """Return the admin directory that a worktree names, if it is missing in this repository."""
    try:
        with open(
            f"{place}/.git", encoding="utf-8", errors="surrogateescape", opener=open_regular
        ) as file:
            named = file.read().removeprefix("gitdir: ").removesuffix("\n")
    except OSError:
        return None
    admin = os.path.normpath(os.path.join(place, named))
    inside = os.path.dirname(admin) == f"{picture.common_dir}/worktrees"
    return admin if inside and not os.path.lexists(admin) else None


def _rebuild(session: Session, *, worker: Worker, place: str, admin: str, ref: Ref) -> None:
    """Create an admin directory again; the files of the worktree are not changed."""
    os.makedirs(os.path.dirname(admin), exist_ok=True)
    with private_directory(session.paths.root, "admin-") as private:
        made = f"{private}/made"  # complete before one rename moves it to its place
        os.mkdir(made)
        write_atomically(f"{made}/commondir", b"../..\n")
        write_atomically(f"{made}/gitdir", os.fsencode(f"{place}/.git\n"))
        write_atomically(f"{made}/HEAD", f"ref: {ref}\n".encode())
        write_worktree_owner(made, worker.worker_id, worker.task)
        os.rename(made, admin)
        rebuild_index(session.git, place, admin, private)  # after a kill, check_index finds it
    install(session.git, session.repository, session.git.at(place))
    _record(session, worker=worker, place=place, admin=admin)


def _add(session: Session, *, worker: Worker, place: str, ref: Ref) -> None:
    session.git.run("worktree", "add", "--quiet", "--", place, short_name(ref))
    admin = find_admin_dir(session.repository.common_dir, place)
    assert admin is not None
    write_worktree_owner(admin, worker.worker_id, worker.task)
    install(session.git, session.repository, session.git.at(place))
    _record(session, worker=worker, place=place, admin=admin)


def _record(session: Session, *, worker: Worker, place: str | None, admin: str | None) -> None:
    with session.store.write() as writer:
        set_worktree(writer, worker.worker_id, place, admin_dir=admin)


def _set_head(session: Session, *, place: str, ref: Ref) -> None:
    session.git.at(place).run("symbolic-ref", "-m", "gitworker: fsck", "HEAD", ref)


def _end_move(session: Session, *, admin: str, place: str) -> None:
    found = find_unfinished(admin)
    if found is not None:
        ref, old, new = found
        recover_move(session.git, ref=ref, old=old, new=new, worktree=place, admin_dir=admin)
