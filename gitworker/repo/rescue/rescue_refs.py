"""Rescue refs keep reachable, under a name, the commits that a destructive command drops.

`refs/worker/rescue/<worker>/<task>/<n>` points at the old tip. If there was uncommitted work, it
points at a snapshot with the shape of a stash (`git stash apply REF` works), whose parents are the
tip and a commit of the index. Ignored files never become objects: a push of all refs would publish
them.
"""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gitworker.errors import Conflict
from gitworker.model.ids import Oid, Ref, TaskId, WorkerId
from gitworker.model.ref_names import RESCUES, rescues_of, task_of
from gitworker.paths import open_regular, require_repository, require_top
from gitworker.repo.plumbing.disk import copy_index, private_directory
from gitworker.repo.plumbing.git import Git, GitFailed
from gitworker.repo.plumbing.refs import (
    PACKED_AT_MOST_BYTES,
    change_refs,
    create_ref,
    find_ref,
    read_refs,
    require_refs,
)
from gitworker.repo.rescue.worktree_commits import find_worktree_only_commits
from gitworker.repo.status.checkout_status import read_status
from gitworker.repo.status.hidden_files import hidden_changes, reveal

OURS = "gitworker: "  # begins the title of each commit of ours
WORK = "uncommitted work of"
KINDS = (WORK, "open rebase of ", "loose commits of ", "index of ", "conflict of ")
ATTEMPTS = 20
# A user's settings must not make `add` refuse: a file with mixed line endings is work too.
SETTINGS = (
    "core.safecrlf=false",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "advice.addEmbeddedRepo=false",
    "i18n.commitEncoding=UTF-8",
)


class RescueRef(NamedTuple):
    """One rescue: `oid` is the ref's commit; `number` counts from 1 per worker and task."""

    ref: Ref
    oid: Oid
    worker: WorkerId
    task: TaskId
    number: int


def rescue(
    git: Git, *, worker: WorkerId, task: TaskId, tip: Oid, worktree: str | None,
    lost_admin: str | None = None,
) -> RescueRef:  # fmt: skip
    """Keep a branch's tip, and the uncommitted and untracked work of its worktree, in a new ref.

    `lost_admin` is git's own directory of a missing worktree: its index has the staged work.
    Neither the user's index nor a file changes. Changes hidden by an index flag are uncommitted
    work too. Of a repository inside the worktree only its commit is kept. If a rescue of this task
    points at the same commit already, that rescue is returned. Raises GitFailed if git cannot
    write.
    """
    oid = tip
    if worktree is not None and os.path.isdir(worktree):
        here = git.at(worktree)
        head = here.find_oid("HEAD") or tip
        if not read_status(here).is_clean or hidden_changes(here):
            oid = _snapshot(here, tip=tip, head=head, title=f"{worker}/{task}")
        elif head != tip:  # an open rebase has commits that are on no branch yet
            oid = _join(here, tip=tip, head=head, title=f"{worker}/{task}")
    elif lost_admin is not None:
        here = Git(git.directory, git_dir=lost_admin)
        oid = _snapshot_index(here, lost_admin, tip=tip, title=f"{worker}/{task}")
    for _ in range(ATTEMPTS):
        known = list_rescues(git, worker=worker, task=task)
        same = [one for one in known if one.oid == oid]
        if same:
            return same[-1]
        number = known[-1].number + 1 if known else 1
        ref = Ref(f"{rescues_of(worker, task)}{number}")
        try:
            create_ref(git, ref, oid, reason="gitworker: rescue")
        except Conflict:
            if find_ref(git, ref) is None:  # no other command took the name: git cannot write it
                raise
            continue
        return RescueRef(ref, oid, worker, task, number)
    raise Conflict(f"other commands keep taking the rescue refs of {worker}/{task}")


def rescue_worktree_only_commits(
    git: Git, *, worker: WorkerId, task: TaskId, admin_dir: str
) -> RescueRef | None:
    """Keep the commits that only a worktree's directory reaches; return None if it has none.

    For example an autostash, a `refs/worktree/` of the user, amended or reset commits.
    """
    tips = find_worktree_only_commits(git, admin_dir, log=True)
    if not tips:
        return None
    tip = tips[0]
    if len(tips) > 1:
        tip = _commit(git, Oid(f"{tip}^{{tree}}"), f"loose commits of {worker}/{task}", *tips)
    return rescue(git, worker=worker, task=task, tip=tip, worktree=None)


def _keep(git: Git, orders: Sequence[str]) -> None:
    """Create refs; raise Conflict, or GitFailed if a lock or the system is the reason."""
    try:
        require_refs(git, orders, reason="gitworker: rescue")
    except GitFailed as failure:
        if failure.code != GitFailed.code:
            raise
        raise Conflict(
            "git could not create a ref for the new commits; git gc may have deleted them",
            "run the command again",
            code="not_kept",
            detail=failure.detail,
        ) from failure


def unpack(here: Git, oid: Oid, *, tip: Oid) -> bool:
    """Restore the uncommitted work of a rescue into a worktree at `tip`; return whether it worked.

    Index and files are then as they were, except ignored files. Nothing changes if files are in
    the way, or if the work was part of an open rebase or a conflict, which cannot be reopened.
    """
    title = _subject(here, oid)
    if not title.startswith(f"gitworker: {WORK}") or here.find_oid(f"{oid}^2^2") is not None:
        return False
    moved = here.run("read-tree", "-m", "-u", "--no-recurse-submodules", tip, oid, ok=(0, 128))
    if moved.status != 0:
        return False
    here.run("read-tree", "--reset", f"{oid}^2")
    here.run("update-index", "-q", "--refresh", ok=(0, 1))
    return True


def _subject(git: Git, oid: Oid) -> str:
    """Return the first line of a commit's message; its tree may be one that git cannot read."""
    return git.text("log", "--max-count=1", "--no-patch", "--format=%s", oid, "--")


def commit_below(git: Git, oid: Oid) -> Oid:
    """Return the commit of a user on which a snapshot was made; any other commit itself."""
    marks = tuple(f"{OURS}{kind}" for kind in KINDS)
    while _subject(git, oid).startswith(marks):
        below = git.find_oid(f"{oid}^1")
        if below is None:
            break
        oid = below
    return oid


def unpack_start(here: Git, start: str, tip: Oid) -> None:
    """Restore the uncommitted work of a snapshot into a new worktree at the commit below it.

    Work of an open rebase or a conflict comes back as files; the rebase is not reopened. Nothing
    happens if `start` is not a snapshot.
    """
    oid = here.find_oid(start)
    if oid is None or oid == tip or commit_below(here, oid) != tip:
        return
    if not unpack(here, oid, tip=tip):
        here.run("read-tree", "-m", "-u", "--no-recurse-submodules", tip, oid)
        here.run("read-tree", "--reset", tip)
        here.run("update-index", "-q", "--refresh", ok=(0, 1))


def rescue_tips(
    git: Git, wanted: Sequence[tuple[WorkerId, TaskId, Oid]], *, also: Sequence[str] = ()
) -> list[RescueRef]:
    """Keep tips of several branches as `rescue` does, by one process if nothing interferes.

    `also` are orders (`change_refs`) that the same process runs. Raises Conflict if git cannot run
    them.
    """
    kept: list[RescueRef | None] = []
    new = []
    for worker, task, tip in wanted:
        known = list_rescues(git, worker=worker, task=task)
        if known:  # the tip may be kept already, and the number 1 is taken
            kept.append(None)
            continue
        ref = Ref(f"{rescues_of(worker, task)}1")
        new.append(RescueRef(ref, tip, worker, task, 1))
        kept.append(new[-1])
    orders = [f"create {one.ref} {one.oid}" for one in new]
    if (orders or also) and not change_refs(git, [*also, *orders], reason="gitworker: rescue"):
        kept = [None] * len(kept)
        if also:
            _keep(git, also)
    return [
        one or rescue(git, worker=worker, task=task, tip=tip, worktree=None)
        for one, (worker, task, tip) in zip(kept, wanted, strict=True)
    ]


def list_rescues(
    git: Git, *, worker: WorkerId | None = None, task: TaskId | None = None
) -> tuple[RescueRef, ...]:
    """Return rescue refs sorted by worker, task and number, of all or of one worker or task.

    Starts no process if the files of the refs show that the task has none.
    """
    if task is not None and _has_none(git, worker, task):
        return ()
    pattern = f"{rescues_of(worker or '*', task or '*')}*"
    found = []
    for ref, oid in read_refs(git, [pattern]).items():
        number = ref.rpartition("/")[2]
        if number.isdigit():
            found.append(RescueRef(ref, oid, *task_of(ref), int(number)))
    return tuple(sorted(found, key=lambda one: (one.worker, one.task, one.number)))


def _has_none(git: Git, worker: WorkerId | None, task: TaskId) -> bool:
    """Return whether the files show that a task has no rescue, or none of one worker."""
    common_dir = require_repository(git.directory).common_dir
    if git.git_dir is not None or os.path.isdir(f"{common_dir}/reftable"):
        return False
    # Loose first, then packed: a ref that is packed meanwhile is found in packed-refs.
    workers = [worker] if worker else _names(f"{common_dir}/{RESCUES}")
    if any(os.path.lexists(f"{common_dir}/{rescues_of(one, task)}") for one in workers):
        return False
    packed = _read_packed(f"{common_dir}/packed-refs")
    wanted = f" {rescues_of(worker, task)}" if worker else f"/{task}/"
    return packed is not None and wanted.encode() not in packed


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except FileNotFoundError:
        return []


def _read_packed(path: str) -> bytes | None:
    """Return the file of packed refs; None if git has to read it, or searches it faster."""
    try:
        with open(path, "rb", opener=open_regular) as file:
            if os.fstat(file.fileno()).st_size > PACKED_AT_MOST_BYTES:
                return None
            return file.read()
    except FileNotFoundError:
        return b""
    except OSError:
        return None


def _snapshot(here: Git, *, tip: Oid, head: Oid, title: str) -> Oid:
    """Write the snapshot commit with a private copy of the index; return its id."""
    admin_dir = require_top(here.directory).git_dir
    with private_directory(admin_dir, "gitworker-rescue-") as private:
        env = {"GIT_INDEX_FILE": f"{private}/index"}
        copy_index(f"{admin_dir}/index", env["GIT_INDEX_FILE"])
        reveal(here, env)
        staged = _write_tree(here, env)  # None while paths are unmerged
        conflict = None if staged else _write_stages(here, env, f"{private}/stages")
        here.run("add", "--all", "--sparse", "--ignore-errors", "--", ":/",
                 env=env, settings=SETTINGS, ok=(0, 1, 128))  # fmt: skip
        everything = _write_tree(here, env)
        if everything is None:
            here.run("write-tree", env=env)  # its failure names the cause, as a full disk
    return _stash(here, everything, staged, conflict, tip=tip, head=head, title=title)


def _stash(
    here: Git, everything: Oid | None, staged: Oid | None, conflict: Oid | None, *,
    tip: Oid, head: Oid, title: str,
) -> Oid:  # fmt: skip
    """Commit the trees of a snapshot; `conflict` has the sides of unmerged paths."""
    if everything is None:
        raise GitFailed(f"git cannot write the work in {here.directory} into a tree")
    parents = dict.fromkeys((tip, head))
    if conflict is not None:
        parents[_commit(here, conflict, f"conflict of {title}")] = None
    index = _commit(here, staged or everything, f"index of {title}", *parents)
    return _commit(here, everything, f"{WORK} {title}", tip, index)


def _snapshot_index(here: Git, admin_dir: str, *, tip: Oid, title: str) -> Oid:
    """Write a snapshot of the index of a missing worktree; return the tip if nothing is staged."""
    head = here.find_oid("HEAD") or tip
    committed = here.find_oid(head, "tree")
    with private_directory(admin_dir, "gitworker-rescue-") as private:
        env = {"GIT_INDEX_FILE": f"{private}/index"}
        copy_index(f"{admin_dir}/index", env["GIT_INDEX_FILE"])
        if not os.path.exists(env["GIT_INDEX_FILE"]):
            return tip
        staged = _write_tree(here, env)  # None while paths are unmerged, or if it is damaged
        conflict = None if staged else _write_stages(here, env, f"{private}/stages")
    if conflict is None and staged in (None, committed):
        return tip if head == tip else _join(here, tip=tip, head=head, title=title)
    return _stash(here, staged or committed, staged, conflict, tip=tip, head=head, title=title)


def _join(here: Git, *, tip: Oid, head: Oid, title: str) -> Oid:
    tree = here.require_oid("HEAD")
    return _commit(here, Oid(f"{tree}^{{tree}}"), f"open rebase of {title}", tip, head)


def _write_tree(here: Git, env: Mapping[str, str]) -> Oid | None:
    done = here.run("write-tree", env=env, ok=(0, 128))
    return Oid(done.text.strip()) if done.status == 0 else None


def _write_stages(here: Git, env: Mapping[str, str], index: str) -> Oid | None:
    """Write the sides of unmerged paths, which may be in no commit, as `<stage>/<path>`.

    Returns None without any, for example from a damaged index.
    """
    entries = here.run("ls-files", "--unmerged", "-z", env=env, ok=(0, 128)).out.split(b"\0")
    sides = b""
    for entry in filter(None, entries):
        head, _, path = entry.partition(b"\t")
        mode, oid, stage = head.split(b" ")
        sides += b"%s %s 0\t%s/%s\0" % (mode, oid, stage, path)
    if not sides:
        return None
    own = {"GIT_INDEX_FILE": index}
    here.run("update-index", "--add", "-z", "--index-info", stdin=sides, env=own)
    return _write_tree(here, own)


def _commit(here: Git, tree: Oid, message: str, *parents: Oid) -> Oid:
    options = [part for parent in parents for part in ("-p", parent)]
    done = here.run("commit-tree", *options, "-m", f"gitworker: {message}", tree, settings=SETTINGS)
    return Oid(done.text.strip())
