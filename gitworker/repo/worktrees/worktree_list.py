"""Worktrees: list them, find the checkout of a branch, add one safely.

This module never runs `git worktree prune`, which would drop a user's unmounted worktrees.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from gitworker.clock import sleep
from gitworker.errors import Conflict, Refused
from gitworker.model.ids import Branch, Oid, Ref, is_oid
from gitworker.model.ref_names import ref_of, short_name
from gitworker.paths import open_regular, require_repository
from gitworker.repo.plumbing.disk import remove_tree
from gitworker.repo.plumbing.git import OTHER_WORKTREES, PAUSES_S, Git, GitFailed
from gitworker.repo.plumbing.refs import delete_branch, find_head_ref, find_ref
from gitworker.repo.worktrees.main_worktree import find_separate
from gitworker.rules_text import quoted

# git's messages if another process holds one of its lock files for a moment.
CONTENTION = ("could not lock config file", "File exists", "Another git process", *OTHER_WORKTREES)
# `git worktree prune`, a part of `git maintenance`, removes an admin directory before its lock.
HALF_MADE = ("could not create directory of", "/locked' for", "/gitdir' for", "/HEAD' for")
TAKEN = ("already exists", "already checked out", "already used by worktree")


class Worktree(NamedTuple):
    """One worktree as listed by `git worktree list`, with its own git directory.

    `head` is None in a bare repository and before the first commit. `branch` is None if HEAD is
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
        found[0] = found[0]._replace(head=None, branch=None, bare=True, detached=False)
    return tuple(found)


def _is_bare(git: Git, common_dir: str) -> bool:
    """Return whether a repository is bare by a file that git ignores in a linked worktree."""
    file = f"{common_dir}/config.worktree"
    if not os.path.lexists(file):
        return False
    done = git.run("config", "--file", file, "--type=bool", "--get", "core.bare", ok=(0, 1))
    return done.text == "true\n"


def find_checkout(git: Git, ref: Ref, *, alone: bool = True) -> str | None:
    """Return the worktree in which a branch is checked out, None if there is no such worktree.

    A rebase or bisect of the branch in progress counts: git refuses to check it out elsewhere. With
    `alone`, raises Refused if it is checked out twice (`git worktree add --force`): only one
    checkout could follow a move, and the other would show the move as reverted.
    """
    found = [
        _place(git, worktree)
        for worktree in list_worktrees(git)
        if worktree.branch == ref
        or (worktree.branch is None and ref in busy_branches(worktree.admin_dir))
    ]
    name = short_name(ref)
    if alone and len(found) > 1:
        raise Refused(
            f"{name} is checked out more than once: {', '.join(found)}",
            f"git -C {quoted(found[-1])} switch --detach",
            code="checked_out_twice",
        )
    return found[0] if found else None


def _place(git: Git, worktree: Worktree) -> str:
    """Return the path of a worktree; git lists a separate git directory instead of that path."""
    if worktree.bare or os.path.realpath(worktree.path) != os.path.realpath(worktree.admin_dir):
        return worktree.path
    here = require_repository(git.directory)
    place = find_separate(here) if here.is_linked else here.top
    if place is None:
        raise Refused(
            f"git does not show the path of the main checkout of {worktree.admin_dir}",
            "run the command again in the main checkout",
            code="checkout_unknown",
        )
    return place


def is_half_made(admin_dir: str) -> bool:
    """Return whether `git worktree add` has not ended: it locks the worktree until then."""
    return _read_line(f"{admin_dir}/locked") == "initializing"


def find_admin_dir(common_dir: str, path: str) -> str | None:
    """Return the admin directory of the linked worktree at `path`, which may not exist."""
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
    """Return the real paths of all linked worktrees, existing or not; start no process."""
    return list(linked_admins(common_dir))


def find_inner(places: Sequence[str], worktree: str) -> str | None:
    """Return one of the places inside a worktree, which would be removed with it, or None."""
    top = f"{os.path.realpath(worktree)}/"
    return next((one for one in places if one.startswith(top) and os.path.isdir(one)), None)


def worktree_of(admin_dir: str) -> str | None:
    """Return the worktree path that an admin directory records, existing or not, or None."""
    pointer = _read_line(f"{admin_dir}/gitdir")
    if not pointer:
        return None
    dot_git = os.path.join(admin_dir, pointer)  # relative with worktree.useRelativePaths
    return os.path.realpath(os.path.dirname(dot_git))


def detached_head(git: Git, admin_dir: str) -> Oid | None:
    """Return the commit of a detached HEAD, None if HEAD is on a branch.

    No process is started unless another ref backend stores the refs.
    """
    head = _read_line(f"{admin_dir}/HEAD")
    if head.endswith("/.invalid"):  # reftable
        return git.find_oid("HEAD") if find_head_ref(git) is None else None
    return Oid(head) if is_oid(head) else None


def detached_heads(common_dir: str) -> list[Oid]:
    """Return the commits of the detached HEADs of all worktrees.

    They are read from files without a process: `--all` makes git read the directories of all
    worktrees, and git fails if one of them is being made (its HEAD names no object yet). Other ref
    backends keep HEAD in no file, and git is asked for it.
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
    """Return the commit of HEAD or, if its branch does not exist, the last one in its reflog."""
    head = git.find_oid("HEAD")
    if head is not None:
        return head
    try:
        with open(
            f"{admin_dir}/logs/HEAD", encoding="utf-8", errors="replace", opener=open_regular
        ) as file:
            last = file.read().splitlines()[-1].split(" ")[1]
    except (OSError, IndexError):
        return None
    return git.find_oid(last) if is_oid(last) else None


def add_worktree(
    git: Git, *, path: str, branch: Branch, base: Oid, workers_setting: int | None = None
) -> Worktree:
    """Make a new branch at `base` and a worktree for it at `path`; the user's post-checkout runs.

    If other git processes interfere, retry for about two seconds. The rest of a failed attempt
    (directory, admin directory, branch) is removed. `workers_setting` is git's checkout.workers.
    Raises Refused if branch or path exist, and Conflict if git stays locked.
    """
    if find_ref(git, ref_of(branch)) is not None:
        raise _taken(branch, path)
    if os.path.lexists(path) and not _is_empty_directory(path):
        raise Refused(f"{path} exists already and is not empty", f"ls -la {quoted(path)}")
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
    """Make a worktree for an existing branch at a free path; return its admin directory.

    It retries like `add_worktree`, and the user's post-checkout hook may fail.
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
    """Return whether git failed because of another process, so that a retry can help."""
    is_missing = "No such file or directory" in failure.detail
    marks = (*CONTENTION, *HALF_MADE) if is_missing else CONTENTION
    return any(mark in failure.detail for mark in marks)


def _try_patiently(attempt: Callable[[], GitFailed | None], branch: Branch) -> None:
    """Try until an attempt succeeds; raise Conflict if git stays locked for two seconds."""
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
                detail="" if known else failure.detail,
            ) from failure
        sleep(pause_s)


def _attempt(
    git: Git, *, path: str, branch: Branch, base: Oid, settings: Sequence[str]
) -> GitFailed | None:
    """Add once; return None, or the failure if a retry may help; raise other failures."""
    try:
        git.run(
            "worktree", "add", "--quiet", "--no-track", "-b", branch, "--", path, base,
            settings=settings,
        )  # fmt: skip
    except GitFailed as failure:
        if any(mark in failure.detail for mark in TAKEN):
            raise _taken(branch, path, failure) from failure  # another call made it: keep it
        if _is_whole(path):
            return None
        _clean_up(git, path=path, ref=ref_of(branch), base=base)
        if is_contention(failure):
            return failure
        raise explained(failure, branch) from failure
    return None


def _is_whole(path: str) -> bool:
    """Return whether only the user's post-checkout hook failed: then git keeps the worktree.

    If git was killed, the worktree is still locked.
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
    """Return the branches that a rebase or bisect in this worktree will switch to or move."""
    heads = {
        _read_line(f"{admin_dir}/rebase-merge/head-name"),
        _read_line(f"{admin_dir}/rebase-apply/head-name"),
    }
    start = _read_line(f"{admin_dir}/BISECT_START")
    if start:
        heads.add(ref_of(Branch(start)))
    try:
        with open(
            f"{admin_dir}/rebase-merge/update-refs", encoding="utf-8", opener=open_regular
        ) as file:
            heads.update(file.read().splitlines()[::3])  # ref, old, new
    except OSError:
        pass
    return heads - {""}


def _read_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", opener=open_regular) as file:
            return file.read().removesuffix("\n")  # git allows line feeds inside a path
    except OSError:
        return ""


def _is_empty_directory(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path) and not os.listdir(path)


def _clean_up(git: Git, *, path: str, ref: Ref, base: Oid) -> None:
    """Remove the rest of a failed `worktree add`; none of it existed before the call."""
    remove_tree(path)
    admin = find_admin_dir(require_repository(git.directory).common_dir, path)
    if admin is not None:
        remove_tree(admin)
    if find_ref(git, ref) == base:
        delete_branch(git, ref, base)


def explained(failure: GitFailed, branch: Branch) -> GitFailed | Refused:
    """Explain the failure if another branch has the name of a directory that this one needs."""
    if "cannot create" not in failure.detail and "cannot lock ref" not in failure.detail:
        return failure
    return Refused(
        f"git cannot make branch {branch}: another branch is in its way",
        "git branch --list",
        code="branch_blocked",
        detail=failure.detail,
    )
