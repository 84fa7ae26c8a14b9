"""Checks of the target: the branch is there, and nothing of a killed git is in its checkout."""

import os
from collections.abc import Iterator

from gitworker import clock
from gitworker.fsck.finding import Finding, fail, ok, warn
from gitworker.observe.text import age_text
from gitworker.repo.plumbing.refs import find_ref
from gitworker.repo.worktrees.worktree_list import list_worktrees
from gitworker.session import Session

AT_WORK_MS = 60_000  # a git that moves files for longer is looked at by a person


def check_target(session: Session) -> Iterator[Finding]:
    """Check that the recorded target exists and that its checkout can follow a landing."""
    name = session.target_name
    if find_ref(session.git, session.target) is None:
        yield fail(
            "target", f"there is no branch {name}, which is the target that work lands on",
            "git config worker.target NAME",
        )  # fmt: skip
        return
    places = [tree for tree in list_worktrees(session.git) if tree.branch == session.target]
    findings = []
    if len(places) > 1:
        findings.append(
            warn("target", f"{name} is checked out more than once, so that nothing can land",
                 f"git -C {places[-1].path} switch --detach")
        )  # fmt: skip
    for place in places:
        lock = f"{place.admin_dir}/index.lock"
        age_ms = _age_ms(lock)
        if age_ms is not None and age_ms > AT_WORK_MS:
            findings.append(
                warn("target", f"{lock} is there for {age_text(age_ms)}, as a killed git leaves it",
                     f"rm {lock}   (where no git is at work in {place.path})")
            )  # fmt: skip
    yield from findings or [ok("target", f"work lands on {name}")]


def _age_ms(path: str) -> int | None:
    try:
        return clock.now_ms() - os.stat(path).st_mtime_ns // 1_000_000
    except OSError:
        return None
