"""Worktrees, their admin directories and git's locks agree with the rows."""

import os
from collections.abc import Iterator
from shlex import quote

from gitworker import clock
from gitworker.fsck.checks.foreign_directories import HANDLED, check_belonging, moved
from gitworker.fsck.checks.indexes import check_index
from gitworker.fsck.checks.ref_files import check_head_file, files_of_refs
from gitworker.fsck.finding import Finding, Repair
from gitworker.fsck.picture import Picture
from gitworker.fsck.rules import holds_task, is_left
from gitworker.model.ids import Ref
from gitworker.model.ref_names import short_name
from gitworker.paths import open_regular, read_worktree_owner, write_worktree_owner
from gitworker.repo.checkout.move_branch import is_ours
from gitworker.repo.checkout.recover_move import find_unfinished, recover_move
from gitworker.repo.hooks.install import install
from gitworker.repo.plumbing.disk import private_directory, write_atomically
from gitworker.repo.plumbing.index_file import rebuild_index
from gitworker.repo.status.checkout_status import open_operation
from gitworker.repo.worktrees.ownership import Flaw, OwnershipClaim, find_flaw, find_named, owner_of
from gitworker.repo.worktrees.worktree_list import Worktree, find_admin_dir
from gitworker.session import Session
from gitworker.store.payloads.payload import AdoptData
from gitworker.store.payloads.spawn_data import SpawnData
from gitworker.store.workers import Worker, set_worktree
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
    """Find workers' worktrees that are gone, unknown to git, on another branch or unmarked."""
    for worker in picture.settled:
        if worker.worktree is None:
            if holds_task(worker.state):
                yield Finding(
                    "worktree_none", worker.worker_id,
                    f"{worker.worker_id} is {worker.state} without a worktree",
                    f"git worker cancel {worker.worker_id} && git worker undo",
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
            yield from _unknown_to_git(picture, worker, worker.worktree)
        elif not os.path.isdir(worker.worktree):
            yield _vanished(worker, owner)
        else:
            yield from _of_worker(picture, worker, tree)


def _unknown_to_git(picture: Picture, worker: Worker, place: str) -> Iterator[Finding]:
    ref = picture.branch(worker)
    there = ref is not None and picture.refs.get(ref, "") not in ("", *picture.missing)
    if os.path.isdir(place):
        what = f"git does not know {place} of {worker.worker_id}: its admin directory is gone"
        pointed = _pointer(picture, place)
        if pointed is None or not there or ref is None:
            yield Finding("admin_gone", place, what, f"mv {place} {place}.old")
        else:
            yield Finding(
                "admin_gone", place, what,
                "makes it again on the branch; files stay as they are, what was staged is unstaged",
                _rebuild(worker, place, pointed, ref),
            )  # fmt: skip
        return
    what = f"{place} of {worker.worker_id} is gone, and git knows nothing of it"
    if not holds_task(worker.state):
        yield Finding("worktree_gone", place, what, "forgets it", _forget(worker))
    elif there and ref is not None:
        yield Finding(
            "worktree_gone", place, what, "makes it again from the branch",
            _add(worker, place, ref),
        )  # fmt: skip
    else:
        yield Finding("worktree_gone", place, what, f"git worker cancel {worker.worker_id}")


def _owner(picture: Picture, worker: Worker, tree: Worktree | None) -> OwnershipClaim:
    """Return what a row says; with git's admin directory if only the row has a wrong one."""
    owner = owner_of(picture.common_dir, worker)
    assert owner is not None
    listed = owner._replace(admin_dir=tree.admin_dir) if tree is not None else owner
    return listed if find_flaw(listed) in (None, Flaw.OTHER_WORKER, Flaw.DAMAGED) else owner


def _vanished(worker: Worker, owner: OwnershipClaim) -> Finding:
    """Return the finding of a worktree that git lists: it may be unmounted, or moved by hand."""
    place, admin = quote(owner.place), quote(owner.admin_dir or "")
    return Finding(
        "worktree_missing", owner.place,
        f"{owner.place} of {worker.worker_id} does not exist: deleted, unmounted or moved",
        f"git worktree repair NEW-PLACE && git worker fsck --repair   (if it was deleted, this"
        f" brings back what was committed or staged: mkdir -p {place} &&"
        f" echo gitdir: {admin} >{place}/.git && git -C {place} restore :/)",
    )  # fmt: skip


def _of_worker(picture: Picture, worker: Worker, tree: Worktree) -> Iterator[Finding]:
    place, admin = tree.path, tree.admin_dir
    if find_named(place) != os.path.realpath(admin):
        return  # another damaged worktree has the same place in git's list: it is repaired first
    yield from check_index(picture, worker, tree)
    seat = (worker.worker_id, worker.task)
    if worker.admin_dir != admin:
        yield Finding(
            "admin_differs", place,
            f"{worker.worker_id} has {worker.admin_dir} as its admin directory, git has {admin}",
            "records what git has", _record(worker, place, admin),
        )  # fmt: skip
    if read_worktree_owner(admin) != seat:
        yield Finding(
            "seat_wrong", place, f"{admin} does not say that it is {'/'.join(seat)}",
            "says so in it", lambda _: write_worktree_owner(admin, *seat),
        )  # fmt: skip
    ref = picture.branch(worker)
    if ref is None or not holds_task(worker.state) or tree.branch == ref:
        return
    if open_operation(admin) is not None or ref not in picture.refs:
        return
    what = f"{place} is on {tree.branch or 'a detached HEAD'}, not on {worker.branch}"
    if tree.head == picture.refs[ref]:
        yield Finding(
            "wrong_head", place, what, "says so in HEAD: both are at the same commit",
            lambda session: _set_head(session, place, ref),
        )  # fmt: skip
    else:
        yield Finding("wrong_head", place, what, f"git -C {place} switch {worker.branch}")


def check_unowned(picture: Picture) -> Iterator[Finding]:
    """Find worktrees with the mark of a seat that is not theirs, and that never landed."""
    owned = {os.path.realpath(w.worktree) for w in picture.workers if w.worktree}
    landed = {(one.worker_id, one.task_id) for one in picture.landings}
    begun = {
        act.data.path
        for act in picture.acts
        if act.is_open and isinstance(act.data, SpawnData | AdoptData)
    }
    for path, tree in picture.worktrees.items():
        seat = read_worktree_owner(tree.admin_dir)
        if seat is None or path in owned or seat in landed or tree.path in begun:
            continue
        yield Finding(
            "worktree_unowned", tree.path,
            f"{tree.path} says that it is {'/'.join(seat)}, but no worker has it",
            f"git worktree remove {tree.path}   (or: git worker adopt)",
        )  # fmt: skip


def check_locks(picture: Picture) -> Iterator[Finding]:
    """Find locks that a killed git left, and moves of ours that nobody will finish."""
    busy = any(act.is_open for act in picture.acts)
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
                "move_left", path, f"{path} is left of a move of ours that was killed",
                "brings the move to its end", lambda session: _end_move(session, admin, place),
            )  # fmt: skip
    elif is_left(age_ms):
        yield Finding(
            "lock_left", path, f"{path} is there for {age_ms // 1000} s, as a killed git leaves it",
            f"rm {quote(path)}   (if no git is at work)",
        )  # fmt: skip


def _pointer(picture: Picture, place: str) -> str | None:
    """Return the admin directory that a worktree names, where it is ours to make again."""
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


def _rebuild(worker: Worker, place: str, admin: str, ref: Ref) -> Repair:
    """Return the mend that makes an admin directory again around files that stay as they are."""

    def mend(session: Session) -> None:
        os.makedirs(os.path.dirname(admin), exist_ok=True)
        with private_directory(session.paths.root, "admin-") as private:
            made = f"{private}/made"  # complete when it comes to its place, by one rename
            os.mkdir(made)
            write_atomically(f"{made}/commondir", b"../..\n")
            write_atomically(f"{made}/gitdir", os.fsencode(f"{place}/.git\n"))
            write_atomically(f"{made}/HEAD", f"ref: {ref}\n".encode())
            write_worktree_owner(made, worker.worker_id, worker.task)
            os.rename(made, admin)
            rebuild_index(session.git, place, admin, private)  # after a kill check_index does it
        install(session.git, session.repository, session.git.at(place))
        _record(worker, place, admin)(session)

    return mend


def _add(worker: Worker, place: str, ref: Ref) -> Repair:
    def mend(session: Session) -> None:
        branch = short_name(ref)
        session.git.run("worktree", "add", "--quiet", "--", place, branch)
        admin = find_admin_dir(session.repository.common_dir, place)
        assert admin is not None
        write_worktree_owner(admin, worker.worker_id, worker.task)
        install(session.git, session.repository, session.git.at(place))
        _record(worker, place, admin)(session)

    return mend


def _record(worker: Worker, place: str | None, admin: str | None) -> Repair:
    def mend(session: Session) -> None:
        with session.store.write() as writer:
            set_worktree(writer, worker.worker_id, place, admin_dir=admin)

    return mend


def _forget(worker: Worker) -> Repair:
    return _record(worker, None, None)


def _set_head(session: Session, place: str, ref: Ref) -> None:
    session.git.at(place).run("symbolic-ref", "-m", "gitworker: fsck", "HEAD", ref)


def _end_move(session: Session, admin: str, place: str) -> None:
    found = find_unfinished(admin)
    if found is not None:
        ref, old, new = found
        recover_move(session.git, ref=ref, old=old, new=new, worktree=place, admin_dir=admin)
