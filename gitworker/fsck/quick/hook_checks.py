"""Checks of our git hooks: they run in every worker's worktree and are unchanged."""

import os
from collections.abc import Iterator

from gitworker.fsck.finding import Finding, ok, warn
from gitworker.repo.hooks.hook_status import HookStatus, status
from gitworker.session import Session
from gitworker.store.workers import all_workers

REPAIR = "git worker hooks install"


def check_hooks(session: Session) -> Iterator[Finding]:
    """Check the hooks by the repository's settings and the files of the hook directory."""
    if session.paths.is_uninstalled:
        yield ok("hooks", f"uninstalled; install them by {REPAIR}")
        return
    with session.store.read() as reader:
        owned = {os.path.realpath(w.worktree): w for w in all_workers(reader) if w.worktree}
    found = status(session.git, session.repository)
    without = [
        owned[os.path.realpath(tree.path)].worker_id
        for tree in found.worktrees
        if not tree.is_installed and os.path.realpath(tree.path) in owned
    ]
    findings = list(_shims(found)) if owned else []
    if without:
        names = ", ".join(sorted(without))
        message = f"gitworker's hooks do not run in the worktree of {names}"
        findings.append(warn("hooks", message, REPAIR))
    yield from findings or [ok("hooks", "in place" if owned else "not needed yet")]


def _shims(found: HookStatus) -> Iterator[Finding]:
    if found.put_aside:
        names = ", ".join(found.put_aside)
        yield ok("hooks", f"other programs' hooks in our directory run from hooks-found: {names}")
    if not found.is_present:
        yield warn("hooks", "gitworker's hook scripts are missing", REPAIR)
    elif found.tampered:
        names = ", ".join(found.tampered)
        yield warn("hooks", f"hook scripts are missing or changed: {names}", REPAIR)
    elif found.is_stale:
        yield warn("hooks", "the hook scripts are outdated", REPAIR)
