"""An unusual state of a worker's worktree or branch: its words and the command that helps.

`status`, `show`, `done`, `doctor` and `fsck` take both from here, so that they agree.
"""

from itertools import chain, count
from typing import NamedTuple

from gitworker.errors import Refused
from gitworker.model.ids import Branch, Oid, Ref
from gitworker.model.ref_names import BRANCHES, ref_of, short_name
from gitworker.repo.plumbing.git import Git
from gitworker.repo.status.checkout_status import end_command, open_operation
from gitworker.repo.worktrees.ownership import (
    Flaw,
    OwnershipClaim,
    WorkerRecord,
    find_flaw,
    is_in_order,
    owner_of,
    read_head,
    refusal_of,
)
from gitworker.rules_text import REMARK, quoted

REPAIR = "git worker fsck --repair"
RENAMED = "branch_renamed"
PLACE_CODES = ("worktree_", "branch_", "wrong_branch", "rebase_stopped")


class Trouble(NamedTuple):
    """An error code, one sentence, and one command that helps."""

    code: str
    words: str
    command: str

    @property
    def is_of_worktree(self) -> bool:
        """Return whether it is about the worktree or the branch, not the agent or its task."""
        return self.code.startswith(PLACE_CODES)

    def refused(self) -> Refused:
        """Return the refusal of a command that the state prevents."""
        return Refused(self.words, self.command, code=self.code)


def find_trouble(
    git: Git, common_dir: str, worker: WorkerRecord, *, exists: bool, published: Oid | None
) -> Trouble | None:
    """Return why a worker's worktree or branch is not as its commands need it, or None.

    `exists` is whether the branch does, `published` its last published commit. Starts git only if
    there is trouble, or if HEAD is not a file (reftable).
    """
    owner = owner_of(common_dir, worker)
    if exists and owner is not None and is_in_order(owner):
        return None
    flaw = find_flaw(owner) if owner is not None else None
    if flaw is Flaw.MISSING and not exists:
        return _missing_branch(git, None, worker, published)
    if owner is not None and flaw is not None:
        refusal = refusal_of(owner, flaw)
        return Trouble(refusal.code, refusal.message, refusal.hint or REPAIR)
    if not exists:
        return _missing_branch(git, owner, worker, published)
    return None if owner is None else find_other_head(git, owner)


def find_place_trouble(
    git: Git, common_dir: str, worker: WorkerRecord, *, exists: bool, published: Oid | None
) -> Trouble | None:
    """Return why a worker's directory is not its worktree, as `find_trouble` does, or None."""
    owner = owner_of(common_dir, worker)
    if owner is None or find_flaw(owner) is None:
        return None
    return find_trouble(git, common_dir, worker, exists=exists, published=published)


def find_other_head(git: Git, owner: OwnershipClaim) -> Trouble | None:
    """Return the trouble of a proved worktree whose HEAD is not the worker's branch, or None.

    Commits that only its HEAD has are brought to the branch by the command, or get a branch.
    """
    head = read_head(git, owner)
    if head == owner.ref or owner.ref is None:
        return None
    from gitworker.repo.worktrees.worktree_list import find_checkout  # 1 ms, only on a wrong branch

    here = f"git -C {quoted(owner.place)}"
    branch, found = short_name(owner.ref), short_name(head or "") or "a detached HEAD"
    words = f"{owner.place} is on {found}, not on {branch}"
    switch = f"{here} switch {branch}"
    holder = find_checkout(git, owner.ref, alone=False)
    if holder is not None:  # git checks a branch out once
        words += f", which is checked out in {holder}"
        command = f"git -C {quoted(holder)} switch --detach && {switch}"
        return Trouble("wrong_branch", words, command)
    inside = git.at(owner.place)
    ahead = inside.run("rev-list", "--count", f"{owner.ref}..HEAD", "--", ok=(0, 128)).text.strip()
    behind = inside.run("rev-list", "--count", f"HEAD..{owner.ref}", "--", ok=(0, 128)).text.strip()
    if ahead not in ("", "0"):
        commits = "1 commit there is" if ahead == "1" else f"{ahead} commits there are"
        words += f"; {commits} not on the branch"
        if behind == "0" and head is None:
            switch = f"{here} switch -C {branch}"
        elif behind == "0":
            switch += f" && {here} merge --ff-only {found}"
        elif head is None:
            kept = _free_branch(inside, f"{branch}-detached")
            pick = f"{REMARK}its commits: git cherry-pick {branch}..{kept}"
            switch = f"{here} branch {kept} && {switch}{pick}"
    return Trouble("wrong_branch", words, switch)


def _free_branch(git: Git, name: str) -> str:
    """Return a branch name that is free: the name itself, or with a number from 2 on."""
    names = chain((name,), (f"{name}-{number}" for number in count(2)))
    return next(one for one in names if git.find_oid(f"{BRANCHES}{one}") is None)


def require_no_operation(place: str, admin_dir: str) -> None:
    """Raise Refused if a rebase or another operation is open in a worker's worktree.

    The hint continues it, since to abort it would drop resolved conflicts.
    """
    busy = open_operation(admin_dir)
    if busy is None:
        return
    ending = f"git -C {quoted(place)} {end_command(busy)}"
    if busy == "rebase":
        ending = f"cd {quoted(place)} && git worker sync --continue   # or: --abort"
    raise Refused(f"a {busy} is open in {place}", ending, code="operation_open")


def require_on_branch(git: Git, owner: OwnershipClaim) -> None:
    """Raise Refused unless HEAD of a proved worktree is the worker's branch.

    A rebase or bisect of that branch in progress counts as on the branch.
    """
    trouble = find_other_head(git, owner)
    if trouble is not None:
        raise trouble.refused()


def _missing_branch(
    git: Git, owner: OwnershipClaim | None, worker: WorkerRecord, published: Oid | None
) -> Trouble:
    words = f"branch {worker.branch} does not exist"
    head = read_head(git, owner) if owner is not None else None
    if head is not None and worker.branch and _was_renamed(git, Branch(worker.branch), head):
        name = short_name(head)
        words += f": it was renamed to {name}"
        return Trouble(RENAMED, words, f"git branch -m {name} {worker.branch}")
    if published is None:
        return Trouble("branch_gone", words, f"git worker cancel {worker.worker_id}")
    return Trouble("branch_gone", words, REPAIR)


def _was_renamed(git: Git, branch: Branch, head: Ref) -> bool:
    """Return whether git has renamed the branch to `head`, by the reflog of `head`."""
    if head == ref_of(branch) or not head.startswith(BRANCHES):
        return False
    done = git.run("log", "--walk-reflogs", "--format=%gs", head, "--", ok=(0, 128))
    return f"Branch: renamed {ref_of(branch)} to {head}" in done.text.splitlines()
