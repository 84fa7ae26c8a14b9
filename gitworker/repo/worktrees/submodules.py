"""Submodules of linked worktrees; git gives each worktree module directories of its own.

The submodules of a new worktree are cloned from the main checkout and borrow its objects. Commits
made in them exist only in that worktree until they are pushed: landing requires the push. Before a
worktree is removed, their commits and uncommitted work move to the main checkout's modules.
"""

import os
from collections.abc import Iterator, Set
from contextlib import suppress
from typing import NamedTuple
from zlib import crc32

from gitworker import clock
from gitworker.errors import Refused, Unavailable
from gitworker.model.ids import Oid, TaskId, WorkerId
from gitworker.model.ref_names import BRANCHES, REMOTES, RESCUES, STASH, SUBMODULES
from gitworker.paths import require_repository
from gitworker.repo.plumbing.git import Git, GitFailed
from gitworker.repo.plumbing.git_environment import NO_UPKEEP
from gitworker.repo.rescue.rescue_refs import rescue
from gitworker.repo.status.embedded_repositories import find_embedded, own_git_dir
from gitworker.repo.status.hidden_files import holds_work
from gitworker.repo.status.tracked_files import is_inside
from gitworker.repo.worktrees.worktree_list import detached_heads, worktree_of
from gitworker.rules_text import quoted

GITLINK = b"160000"
UPDATE = ("submodule", "--quiet", "update", "--init", "--reference")
LIST = ("config", "-z", "--get-regexp", r"^submodule\..*\.path$")


class Submodule(NamedTuple):
    """One line of .gitmodules."""

    name: str
    path: str


class Unpublished(NamedTuple):
    """A submodule commit that a branch points to and that only its worktree has."""

    path: str
    commit: Oid


def populate_submodules(git: Git, worktree: str, *, limit_s: int = 0) -> None:
    """Populate the submodules of a new worktree that are populated in the main checkout.

    `git` runs in the main checkout. Nothing is fetched if the main checkout has the commits; a
    fetch may take `limit_s` (0: no limit). Raises Refused if a submodule cannot be populated.
    """
    _fill(git, git.at(worktree), limit_s)


def unpublished_submodule_commits(
    git: Git, base: Oid, tip: Oid, worktree: str | None
) -> tuple[Unpublished, ...]:
    """Return the submodule commits in `base..tip` that exist at most in `worktree`.

    A commit is published if the main checkout's module directory has it, or a remote-tracking
    branch in the worktree's. A submodule that is populated in neither is skipped.
    """
    links = _links(git, base, tip)
    if not links:
        return ()
    common = require_repository(git.directory).common_dir
    admin = require_repository(worktree, {}).git_dir if worktree is not None else None
    names = {path: name for name, path in _listed(git, "--blob", f"{tip}:.gitmodules")}
    kept = _links_at(git, tip, {path for path, _ in links} - names.keys())
    found = []
    for path, commit in links:
        name = names.get(path)
        if name is None and path not in kept:  # a nested repository that was taken out again
            continue
        main, own = _module(f"{common}/modules", name), _module(f"{admin}/modules", name)
        if own is None and worktree is not None:
            own = own_git_dir(worktree, path)
        if main is None and own is None:  # not populated, or not a submodule any more
            continue
        if main is not None and _has(git, main, commit):
            continue
        if own is not None and _is_pushed(git, own, commit):
            continue
        found.append(Unpublished(path, commit))
    return tuple(found)


def nested_repositories(git: Git, base: Oid, tip: Oid) -> tuple[str, ...]:
    """Return the paths at which `base..tip` added links that no .gitmodules explains."""
    paths = {path for path, _ in _links(git, base, tip)}
    if not paths:
        return ()
    paths -= {path for _, path in _listed(git, "--blob", f"{tip}:.gitmodules")}
    return tuple(sorted(_links_at(git, tip, paths) - _links_at(git, base, paths)))


def rescue_submodules(git: Git, *, worker: WorkerId, task: TaskId, admin_dir: str) -> list[str]:
    """Keep the work that exists only in the submodules of a worktree; return the refs that keep it.

    The refs are made in the module directory of the main checkout, or in the repository if that
    directory does not exist. Commits of any branch count, and uncommitted and untracked work. A
    repository inside the worktree counts as one of its submodules.
    """
    kept: list[str] = []
    common = require_repository(git.directory).common_dir
    for name, module, tree in _own_modules(admin_dir):
        here = Git(module, git_dir=module)
        head = here.find_oid("HEAD")
        if head is None or not _holds_own(here, tree):
            continue
        if tree is not None:
            rescue(git.at(tree), worker=worker, task=task, tip=head, worktree=tree)
        store = _module(f"{common}/modules", name) or common
        stamp = f"{clock.now_ms()}-{os.urandom(3).hex()}"  # later rescues never replace this one
        place = f"{SUBMODULES}{worker}/{task}/{_as_ref(name)}/{stamp}"
        git.at(store).run(
            f"--git-dir={store}", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
            "--refmap=", "--no-recurse-submodules", module, f"+HEAD:{place}/HEAD",
            f"+{BRANCHES}*:{place}/heads/*", f"+{STASH}*:{place}/stash*",
            f"+{RESCUES}{worker}/*:{place}/work/*",
            settings=NO_UPKEEP,
        )  # fmt: skip
        kept.append(f"{place}/HEAD")
    return kept


def _fill(git: Git, here: Git, limit_s: int) -> None:
    for name, path in _listed(here, "--file", ".gitmodules"):
        source = _source(git, name, path)
        if source is None or "=" in name or not is_inside(here.directory, path):
            continue
        if not _clone(here, name, path, source=source):
            _fetch(git, here, path, source=source, limit_s=limit_s)
        _fill(git.at(f"{git.directory}/{path}"), here.at(f"{here.directory}/{path}"), limit_s)


def _source(git: Git, name: str, path: str) -> str | None:
    """Return the module directory of a submodule that is populated in the main checkout."""
    if not os.path.lexists(f"{git.directory}/{path}/.git"):
        return None
    if not git.run("config", "--get", f"submodule.{name}.url", ok=(0, 1)).out:
        return None
    return require_repository(f"{git.directory}/{path}", {}).git_dir


def _clone(here: Git, name: str, path: str, *, source: str) -> bool:
    """Clone a submodule from the main checkout's, borrow its objects, and set the same remote URL.

    Returns whether the main checkout has all objects that it needs.
    """
    if not here.run("config", "--get", f"submodule.{name}.url", ok=(0, 1)).out:
        here.run("submodule", "--quiet", "init", "--", path, ok=range(256))  # a submodule's own
    local = (
        f"submodule.{name}.url={source}", "protocol.file.allow=always",
        "clone.defaultRemoteName=origin", "submodule.recurse=false",
    )  # fmt: skip
    done = here.run(*UPDATE, source, "--no-fetch", "--", path, settings=local, ok=range(256))
    sub = here.at(f"{here.directory}/{path}")
    if not os.path.lexists(f"{sub.directory}/.git"):
        return done.status == 0  # a setting prevents it (submodule.<name>.update)
    url = here.run(f"--git-dir={source}", "config", "--get", "remote.origin.url", ok=(0, 1)).text
    sub.run("config", "remote.origin.url", url.strip() or source)
    sub.run(
        "fetch", "--quiet", "--no-tags", "--prune", "--refmap=", "--no-recurse-submodules", source,
        f"+{REMOTES}origin/*:{REMOTES}origin/*",
    )  # fmt: skip
    return done.status == 0


def _fetch(git: Git, here: Git, path: str, *, source: str, limit_s: int) -> None:
    """Fetch the commit of a submodule, which the main checkout lacks, from its real remote.

    Other commands wait for the worktree lock meanwhile, so the wait for a silent remote is limited.
    """
    with suppress(Unavailable):
        done = here.run(*UPDATE, source, "--", path, ok=range(256), timeout_s=limit_s or None)
        if done.status == 0:
            return
    raise Refused(
        f"the submodule {path} of {here.directory} cannot be populated: its commit is not in the"
        " main checkout and cannot be fetched",
        f"git -C {quoted(git.directory)} submodule update --init {quoted(path)}",
        code="submodule_missing",
    )


def _listed(git: Git, *source: str) -> list[Submodule]:
    """Return the submodules in a .gitmodules, without names and paths that git refuses."""
    done = git.run(LIST[0], *source, *LIST[1:], ok=(0, 1, 128))
    found = []
    for entry in done.text.split("\0"):
        key, _, path = entry.partition("\n")
        name = key.removeprefix("submodule.").removesuffix(".path")
        if path and ".." not in name.split("/") and ".." not in path.split("/") and path[0] != "-":
            found.append(Submodule(name, path))
    return found


def _links(git: Git, base: Oid, tip: Oid) -> list[tuple[str, Oid]]:
    """Return the submodule paths and commits that the commits of a range add, once each."""
    done = git.run(
        "log", "--format=", "--raw", "-z", "--no-abbrev", "--no-renames", "--diff-filter=d", "-m",
        "--ignore-submodules=none", f"{base}..{tip}", "--",
    )  # fmt: skip
    found: dict[tuple[str, Oid], None] = {}
    words: list[bytes] = []
    for field in done.out.split(b"\0"):
        if words:
            if words[1] == GITLINK:
                found[os.fsdecode(field), Oid(words[3].decode())] = None
            words = []
        elif field.lstrip(b"\n").startswith(b":"):
            words = field.lstrip(b"\n:").split()
    return list(found)


def _links_at(git: Git, commit: Oid, paths: Set[str]) -> set[str]:
    """Return the paths of these that are submodule links in a commit."""
    if not paths:
        return set()
    listed = git.run("ls-tree", "-z", "--full-tree", commit, "--", *sorted(paths)).out
    entries = (entry.partition(b"\t") for entry in listed.split(b"\0"))
    return {os.fsdecode(path) for head, _, path in entries if head.startswith(GITLINK)}


def _module(modules: str, name: str | None) -> str | None:
    module = f"{modules}/{name}"
    return module if name is not None and os.path.isfile(f"{module}/HEAD") else None


def _own_modules(admin_dir: str) -> Iterator[tuple[str, str, str | None]]:
    """Yield name, git directory and work tree of each submodule that belongs to one worktree."""
    for name, module in _modules_in(f"{admin_dir}/modules"):
        yield name, module, _tree_of(Git(module, git_dir=module), module)
    worktree = worktree_of(admin_dir)
    if worktree is not None and os.path.isdir(worktree):
        for path, module in find_embedded(Git(worktree)):
            yield path, module, f"{worktree}/{path}"


def _modules_in(modules: str) -> Iterator[tuple[str, str]]:
    """Yield name and directory of every module below, including nested submodules."""
    for directory, names, files in os.walk(modules):
        if "HEAD" in files and "objects" in names:
            yield os.path.relpath(directory, modules), directory
            names[:] = ["modules"] if "modules" in names else []


def _holds_own(here: Git, tree: str | None) -> bool:
    """Return whether a module has commits that no remote is known to have, or unfinished work."""
    others = detached_heads(here.git_dir or here.directory)
    own = here.run(
        "rev-list", "--max-count=1", *others, "--single-worktree", "--all", "--not", "--remotes"
    )
    return bool(own.out) or (tree is not None and holds_work(here.at(tree)))


def _as_ref(name: str) -> str:
    """Return a submodule's name as a part of a ref, different for each name."""
    flat = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name)
    return f"{flat}-{crc32(os.fsencode(name)):08x}"


def _tree_of(here: Git, module: str) -> str | None:
    place = here.run("config", "--get", "core.worktree", ok=(0, 1)).text.rstrip("\n")
    tree = os.path.normpath(os.path.join(module, place))
    return tree if place and os.path.isdir(tree) else None


def _has(git: Git, module: str, commit: Oid) -> bool:
    done = git.run(f"--git-dir={module}", "cat-file", "-e", f"{commit}^{{commit}}", ok=(0, 1, 128))
    return done.status == 0


def _is_pushed(git: Git, module: str, commit: Oid) -> bool:
    try:
        done = git.run(
            f"--git-dir={module}", "for-each-ref", "--count=1", "--contains", commit, REMOTES
        )
    except GitFailed:  # the module has no such commit
        return False
    return bool(done.out)
