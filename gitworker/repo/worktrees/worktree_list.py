"""Worktrees: listing them, finding where a branch is checked out, adding one safely.

Nothing here runs `git worktree prune`, which would drop a user's unmounted worktrees.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from gitworker.clock import sleep
from gitworker.errors import Conflict, Refused
from gitworker.model.ids import Branch, Oid, Ref, is_oid, ref_of
from gitworker.paths import regular, require_repository
from gitworker.repo.plumbing.disk import remove_tree
from gitworker.repo.plumbing.git import OTHER_WORKTREES, PAUSES_S, Git, GitFailed
from gitworker.repo.plumbing.refs import delete_branch, find_head_ref, find_ref
from gitworker.repo.worktrees.main_worktree import find_separate

# What git says when another process holds one of its lock files for a moment.
CONTENTION = ("could not lock config file", "File exists", "Another git process", *OTHER_WORKTREES)
# `git worktree prune`, a part of git's upkeep, takes an admin directory that is not locked yet.
HALF_MADE = ("could not create directory of", "/locked' for", "/gitdir' for", "/HEAD' for")
TAKEN = ("already exists", "already checked out", "already used by worktree")


@dataclass(frozen=True, slots=True)
class Worktree:
    """One worktree as `git worktree list` tells, with its own git directory.

    `head` is None in a bare repository and before the first commit. `branch` is None where HEAD is
    detached, as during a rebase. `admin_dir` is the common directory for the main worktree.
    """

    path: str
    head: Oid | None
    branch: Ref | None
    bare: bool
    detached: bool
    locked: bool
    prunable: bool
    admin_dir: str


def list_worktrees(git: Git) -> tuple[Worktree, ...]:
    """Return all worktrees, the main one (or the bare repository) first."""
    here = require_repository(git.directory)
    admins = linked_admins(here.common_dir)
    out = git.run("worktree", "list", "--porcelain", "-z").text
    records = [record.split("\0") for record in out.split("\0\0") if record.strip("\0")]
    found = [_parse(record, here.common_dir, admins) for record in records]
    if here.is_linked and not found[0].bare and _is_bare(git, here.common_dir):
        found[0] = replace(found[0], head=None, branch=None, bare=True, detached=False)
    return tuple(found)


def _is_bare(git: Git, common_dir: str) -> bool:
    """Tell whether a bare repository says so where git does not look from a linked worktree."""
    file = f"{common_dir}/config.worktree"
    if not os.path.lexists(file):
        return False
    done = git.run("config", "--file", file, "--type=bool", "--get", "core.bare", ok=(0, 1))
    return done.text == "true\n"


def find_checkout(git: Git, ref: Ref, *, alone: bool = True) -> str | None:
    """Return the worktree in which a branch is checked out, None where it is in none.

    A rebase or bisect of the branch in progress counts: git refuses to check it out elsewhere.
    Raises Refused where it is checked out twice (`git worktree add --force`) and must be `alone`:
    only one of them could follow, the other would show the move reverted.
    """
    found = [
        _place(git, worktree)
        for worktree in list_worktrees(git)
        if worktree.branch == ref
        or (worktree.branch is None and ref in busy_branches(worktree.admin_dir))
    ]
    name = ref.removeprefix("refs/heads/")
    if alone and len(found) > 1:
        raise Refused(
            f"{name} is checked out more than once: {', '.join(found)}",
            f"git -C {found[-1]} switch --detach",
            code="checked_out_twice",
        )
    return found[0] if found else None


def _place(git: Git, worktree: Worktree) -> str:
    """Return where a worktree is; with a separate git directory git itself names that instead."""
    if worktree.bare or os.path.realpath(worktree.path) != os.path.realpath(worktree.admin_dir):
        return worktree.path
    here = require_repository(git.directory)
    place = find_separate(here) if here.is_linked else here.top
    if place is None:
        raise Refused(
            f"git does not tell where the main checkout of {worktree.admin_dir} is",
            "run it again from the main checkout",
            code="checkout_unknown",
        )
    return place


def is_half_made(admin_dir: str) -> bool:
    """Tell whether `git worktree add` has not ended: it locks the worktree until then."""
    return _read_line(f"{admin_dir}/locked") == "initializing"


def find_admin_dir(common_dir: str, path: str) -> str | None:
    """Return the admin directory of the linked worktree at `path`, which may be gone."""
    return linked_admins(common_dir).get(os.path.realpath(path))


def linked_admins(common_dir: str) -> dict[str, str]:
    """Return the admin directory of every linked worktree, by the worktree's real path."""
    found = {}
    try:
        names = sorted(os.listdir(f"{common_dir}/worktrees"))
    except FileNotFoundError:
        return {}
    for name in names:
        admin = f"{common_dir}/worktrees/{name}"
        place = worktree_of(admin)
        if place is not None:
            found[place] = admin
    return found


def linked_places(common_dir: str) -> list[str]:
    """Return where every linked worktree is, or was, as real paths; no process is started."""
    return list(linked_admins(common_dir))


def find_inner(places: Sequence[str], worktree: str) -> str | None:
    """Return one of the places that lies inside a worktree and would go with it, if any does."""
    top = f"{os.path.realpath(worktree)}/"
    return next((one for one in places if one.startswith(top) and os.path.isdir(one)), None)


def worktree_of(admin_dir: str) -> str | None:
    """Return where the linked worktree of an admin directory is or was, None where git forgot."""
    pointer = _read_line(f"{admin_dir}/gitdir")
    if not pointer:
        return None
    dot_git = os.path.join(admin_dir, pointer)  # relative with worktree.useRelativePaths
    return os.path.realpath(os.path.dirname(dot_git))


def detached_head(git: Git, admin_dir: str) -> Oid | None:
    """Return the commit of a HEAD that is on no branch, None where it is on one.

    Without a process, but where the refs are in another backend's files.
    """
    head = _read_line(f"{admin_dir}/HEAD")
    if head.endswith("/.invalid"):  # reftable
        return git.find_oid("HEAD") if find_head_ref(git) is None else None
    return Oid(head) if is_oid(head) else None


def detached_heads(common_dir: str) -> list[Oid]:
    """Return the commits that only the HEAD of some worktree leads to: those on no branch.

    Read from the files, with no process: `--all` makes git read the directories of all worktrees,
    and git fails if one of them is being made (its HEAD names no object yet). With other ref
    backends a HEAD is in no file, and git is asked for it.
    """
    admins = [common_dir]
    with suppress(FileNotFoundError):
        names = sorted(os.listdir(f"{common_dir}/worktrees"))
        admins += [f"{common_dir}/worktrees/{name}" for name in names]
    found = set()
    for admin in admins:
        head = _read_line(f"{admin}/HEAD")
        if head.endswith("/.invalid"):
            head = Git(common_dir, git_dir=admin).find_oid("HEAD") or ""
        if is_oid(head) and head.strip("0"):
            found.add(Oid(head))
    return sorted(found)


def last_head(git: Git, admin_dir: str) -> Oid | None:
    """Return the commit of HEAD or, where its branch is gone, what its reflog says it was."""
    head = git.find_oid("HEAD")
    if head is not None:
        return head
    try:
        with open(
            f"{admin_dir}/logs/HEAD", encoding="utf-8", errors="replace", opener=regular
        ) as file:
            last = file.read().splitlines()[-1].split(" ")[1]
    except (OSError, IndexError):
        return None
    return git.find_oid(last) if is_oid(last) else None


def add_worktree(
    git: Git, *, path: str, branch: Branch, base: Oid, workers_setting: int | None = None
) -> Worktree:
    """Make a new branch at `base` and a worktree for it at `path`; the user's post-checkout runs.

    Parallel calls are retried for about two seconds. What a failure leaves behind (directory,
    admin directory, branch) is taken away again. `workers_setting` is git's checkout.workers.
    Raises Refused where branch or path exist, Conflict where git stays locked.
    """
    if find_ref(git, ref_of(branch)) is not None:
        raise _taken(branch, path)
    if os.path.lexists(path) and not _is_empty_directory(path):
        raise Refused(f"{path} exists already and is not empty", f"ls -la {path}")
    settings = [] if workers_setting is None else [f"checkout.workers={workers_setting}"]
    _try_patiently(
        lambda: _attempt(git, path=path, branch=branch, base=base, settings=settings), branch
    )
    admin_dir = require_repository(path).git_dir
    return Worktree(
        path=os.path.realpath(path), head=base, branch=ref_of(branch), bare=False, detached=False,
        locked=False, prunable=False, admin_dir=admin_dir,
    )  # fmt: skip


def check_out(git: Git, *, path: str, branch: Branch, workers_setting: int | None = None) -> str:
    """Make a worktree for a branch that exists, at a free path; return its admin directory.

    As `add_worktree` it is patient, and the user's post-checkout hook may fail.
    """
    settings = [] if workers_setting is None else [f"checkout.workers={workers_setting}"]

    def attempt() -> GitFailed | None:
        try:
            git.run("worktree", "add", "--quiet", "--", path, branch, settings=settings)
        except GitFailed as failure:
            if _is_whole(path):
                return None
            if is_contention(failure):
                return failure
            raise
        return None

    _try_patiently(attempt, branch)
    return require_repository(path).git_dir


def is_contention(failure: GitFailed) -> bool:
    """Tell whether git failed because another process was at work, so that trying again helps."""
    is_gone = "No such file or directory" in failure.detail
    marks = (*CONTENTION, *HALF_MADE) if is_gone else CONTENTION
    return any(mark in failure.detail for mark in marks)


def _try_patiently(attempt: Callable[[], GitFailed | None], branch: Branch) -> None:
    """Try until nothing has failed; raise Conflict where git stays locked for two seconds."""
    for pause_s in (*PAUSES_S, None):
        failure = attempt()
        if failure is None:
            return
        if pause_s is None:
            known = failure.code != GitFailed.code
            because = failure.message if known else "git stays locked by another process"
            raise Conflict(
                f"no worktree was made for {branch}: {because}",
                failure.hint if known else "git worktree list",
                code="locked",
                detail=failure.detail,
            ) from failure
        sleep(pause_s)


def _attempt(
    git: Git, *, path: str, branch: Branch, base: Oid, settings: Sequence[str]
) -> GitFailed | None:
    """Add once; return None, or what failed where trying again may help. Else it raises."""
    try:
        git.run(
            "worktree", "add", "--quiet", "--no-track", "-b", branch, "--", path, base,
            settings=settings,
        )  # fmt: skip
    except GitFailed as failure:
        if any(mark in failure.detail for mark in TAKEN):
            raise _taken(branch, path, failure) from failure  # by another call: not ours to remove
        if _is_whole(path):
            return None
        _clean_up(git, path=path, ref=ref_of(branch), base=base)
        if is_contention(failure):
            return failure
        raise explained(failure, branch) from failure
    return None


def _is_whole(path: str) -> bool:
    """Tell whether only the user's post-checkout hook failed: git keeps the worktree then.

    One in which git was killed is locked still.
    """
    if not os.path.isfile(f"{path}/.git"):
        return False
    return not os.path.lexists(f"{require_repository(path).git_dir}/locked")


def _taken(branch: Branch, path: str, failure: GitFailed | None = None) -> Refused:
    return Refused(
        f"branch {branch} or its worktree {path} exists already",
        f"git branch --list {branch}",
        code="branch_exists",
        detail=failure.detail if failure else "",
    )


def _parse(record: list[str], common_dir: str, admins: dict[str, str]) -> Worktree:
    facts = dict.fromkeys(("worktree", "HEAD", "branch"), "")
    for line in record:
        name, _, value = line.partition(" ")
        facts[name] = value
    path = facts["worktree"]
    branch, head = facts["branch"], facts["HEAD"]
    return Worktree(
        path=path,
        head=Oid(head) if head.strip("0") else None,
        branch=Ref(branch) if branch else None,
        bare="bare" in facts,
        detached="detached" in facts,
        locked="locked" in facts,
        prunable="prunable" in facts,
        admin_dir=admins.get(os.path.realpath(path), common_dir),
    )


def busy_branches(admin_dir: str) -> set[str]:
    """Return the branches that a rebase or bisect in this worktree will come back to or move."""
    heads = {
        _read_line(f"{admin_dir}/rebase-merge/head-name"),
        _read_line(f"{admin_dir}/rebase-apply/head-name"),
    }
    start = _read_line(f"{admin_dir}/BISECT_START")
    if start:
        heads.add(f"refs/heads/{start}")
    try:
        with open(
            f"{admin_dir}/rebase-merge/update-refs", encoding="utf-8", opener=regular
        ) as file:
            heads.update(file.read().splitlines()[::3])  # ref, old, new
    except OSError:
        pass
    return heads - {""}


def _read_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", opener=regular) as file:
            return file.read().removesuffix("\n")  # git allows line feeds inside a path
    except OSError:
        return ""


def _is_empty_directory(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path) and not os.listdir(path)


def _clean_up(git: Git, *, path: str, ref: Ref, base: Oid) -> None:
    """Take away what a failed `worktree add` left: we checked before that none of it was there."""
    remove_tree(path)
    admin = find_admin_dir(require_repository(git.directory).common_dir, path)
    if admin is not None:
        remove_tree(admin)
    if find_ref(git, ref) == base:
        delete_branch(git, ref, base)


def explained(failure: GitFailed, branch: Branch) -> GitFailed | Refused:
    """Say in our words that a branch stands where this one would need a directory."""
    if "cannot create" not in failure.detail and "cannot lock ref" not in failure.detail:
        return failure
    return Refused(
        f"git cannot make branch {branch}: another branch is in its way",
        "git branch --list",
        code="branch_blocked",
        detail=failure.detail,
    )
