"""The logs as history in git: commits of bus.jsonl, transitions.jsonl and the archives.

They are made by plumbing commands on `refs/worker/log`, which is not a branch, so no checkout and
no push of branches touches it. `git log -p refs/worker/log` reads it, `git push REMOTE
refs/worker/log` shares it.
"""

import os
from typing import NamedTuple

from gitworker.bus.files.export import ExportLock, export_held
from gitworker.errors import Conflict
from gitworker.model.ids import Oid
from gitworker.model.ref_names import LOG
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.refs import create_ref, find_ref, move_ref
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.session import Session

ATTEMPTS = 5
FILE_MODE = "100644"
REASON = "gitworker: export"


class LogCommit(NamedTuple):
    """The commit of the ref; `is_new` if this export made it."""

    oid: Oid
    is_new: bool


def commit_logs(session: Session) -> LogCommit:
    """Update the log files and commit them, unless nothing changed.

    The author is git's configured user. Raises GitFailed if there is no user, Conflict if other
    processes keep moving the ref or hold the export lock.
    """
    with hold(f"{session.paths.locks}/log", name="log"):
        return _commit_held(session)


def _commit_held(session: Session) -> LogCommit:
    git = session.git
    for _ in range(ATTEMPTS):
        parent = find_ref(git, LOG)
        blobs = _logs(session)  # after the read of the ref, so that no commit has fewer lines
        tree = _tree(session, blobs, parent)
        if parent is not None and git.text("rev-parse", f"{parent}^{{tree}}") == tree:
            return LogCommit(parent, is_new=False)
        commit = _commit(git, tree, parent)
        try:
            if parent is None:
                create_ref(git, LOG, commit, reason=REASON)
            else:
                move_ref(git, LOG, old=parent, new=commit, reason=REASON)
        except Conflict:
            continue
        return LogCommit(commit, is_new=True)
    raise Conflict(
        f"other processes keep moving {LOG}", "git worker msg export --git", code="ref_moved"
    )


def _logs(session: Session) -> dict[str, Oid]:
    """Write both logs as git objects under the export lock."""
    paths = (session.paths.bus_log, session.paths.transition_log)
    with ExportLock(session.paths):
        export_held(session.store, session.paths)
        return dict(
            zip(map(os.path.basename, paths), _write_blobs(session.git, paths), strict=True)
        )


def _tree(session: Session, blobs: dict[str, Oid], parent: Oid | None) -> Oid:
    """Write the tree: the logs, every present archive, and every archive of the parent."""
    known = {} if parent is None else _archives_of(session.git, parent)
    names = os.listdir(session.paths.archive) if os.path.isdir(session.paths.archive) else []
    fresh = sorted(n for n in names if n.endswith(".jsonl.gz") and n not in known)
    written = _write_blobs(session.git, [f"{session.paths.archive}/{name}" for name in fresh])
    archives = known | dict(zip(fresh, written, strict=True))
    entries = [f"{FILE_MODE} blob {oid}\t{name}" for name, oid in blobs.items()]
    if archives:
        lines = [f"{FILE_MODE} blob {oid}\t{name}" for name, oid in archives.items()]
        entries.append(f"040000 tree {_make_tree(session.git, lines)}\tarchive")
    return _make_tree(session.git, entries)


def _archives_of(git: Git, commit: Oid) -> dict[str, Oid]:
    out = git.run("ls-tree", "-z", f"{commit}:archive", ok=(0, 128)).text
    found = {}
    for entry in out.split("\0")[:-1]:
        facts, _, name = entry.partition("\t")
        found[name] = Oid(facts.split(" ")[2])
    return found


def _write_blobs(git: Git, paths: tuple[str, ...] | list[str]) -> list[Oid]:
    if not paths:
        return []
    request = "".join(f"{_quoted(path)}\n" for path in paths).encode("utf-8", "surrogateescape")
    done = git.run("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=request)
    return [Oid(line) for line in done.text.split()]


def _quoted(path: str) -> str:
    """Return a path as git reads it from a line: C-quoted if it contains a line feed."""
    if "\n" not in path:
        return path
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _make_tree(git: Git, entries: list[str]) -> Oid:
    text = "".join(f"{entry}\0" for entry in entries)
    return Oid(git.run("mktree", "-z", stdin=text.encode()).text.strip())


def _commit(git: Git, tree: Oid, parent: Oid | None) -> Oid:
    parents = () if parent is None else ("-p", parent)
    done = git.run(
        "commit-tree", tree, *parents, "-F", "-", stdin=b"Export the bus\n",
        settings=("i18n.commitEncoding=UTF-8", "commit.gpgSign=false"),
    )  # fmt: skip
    return Oid(done.text.strip())
