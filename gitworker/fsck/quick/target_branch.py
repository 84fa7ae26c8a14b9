"""Checks of the target: the branch exists, and a killed git left no lock in its checkout."""

import os
from collections.abc import Iterator

from gitworker import clock
from gitworker.fsck.finding import Finding, fail, ok, warn
from gitworker.model.ref_names import short_name
from gitworker.observe.text import age_text
from gitworker.repo.plumbing.refs import find_ref, read_refs
from gitworker.repo.worktrees.worktree_list import list_worktrees
from gitworker.rules_text import quoted
from gitworker.session import Session, missing_target
from gitworker.store.planning.workstreams import open_branches
from gitworker.store.records.landings import landings_on

AT_WORK_MS = 60_000  # git rarely moves files for longer


def check_target(session: Session) -> Iterator[Finding]:
    """Check that the recorded target exists and that its checkout can follow a landing."""
    name = session.target_name
    if find_ref(session.git, session.target) is None:
        missing = missing_target(session)
        yield fail("target", missing.message, missing.hint)
        return
    places = [tree for tree in list_worktrees(session.git) if tree.branch == session.target]
    findings = []
    if len(places) > 1:
        findings.append(
            warn("target", f"{name} is checked out more than once, so no work can land",
                 f"git -C {quoted(places[-1].path)} switch --detach")
        )  # fmt: skip
    for place in places:
        lock = f"{place.admin_dir}/index.lock"
        age_ms = _age_ms(lock)
        if age_ms is not None and age_ms > AT_WORK_MS:
            findings.append(
                warn("target", f"{lock} is {age_text(age_ms)} old, probably left by a killed git",
                     f"rm {quoted(lock)}   # if no git command is running")
            )  # fmt: skip
    findings += _missing_branches(session)
    yield from findings or [ok("target", f"work lands on {name}")]


def _missing_branches(session: Session) -> Iterator[Finding]:
    """Yield the branches of workstreams that do not exist, and with which commit to create them."""
    with session.store.read() as reader:
        branches = open_branches(reader)
    present = read_refs(session.git, list(branches)) if branches else {}
    for ref, workstream in branches.items():
        if ref not in present:
            with session.store.read() as reader:
                tips = [one.target_new for one in landings_on(reader, ref)]
            yield fail(
                "target", f"branch {short_name(ref)} of workstream {workstream} does not exist",
                f"git branch {short_name(ref)} {tips[-1] if tips else session.target_name}",
            )  # fmt: skip


def _age_ms(path: str) -> int | None:
    try:
        return clock.now_ms() - os.stat(path).st_mtime_ns // 1_000_000
    except OSError:
        return None
