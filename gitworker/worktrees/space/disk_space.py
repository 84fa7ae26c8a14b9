"""Check the disk space for a new worktree before it is made.

The size of a commit's files is measured once and cached, so that a spawn starts no process for it.
"""

import os
from collections.abc import Mapping

from gitworker.model.ids import Oid
from gitworker.paths import open_regular
from gitworker.session import Session
from gitworker.worktrees.space.rules_space import is_plenty, needed_bytes, space_refusal

CACHE = "checkout-sizes"  # in the state directory: a commit and its bytes per line, latest last
KEPT = 50


def require_space(session: Session, commit: Oid) -> None:
    """Raise Refused if the files of a commit would not leave `worktree.spare_bytes` free.

    In a partial clone or a sparse checkout the size is unknown, so only the spare bytes are
    required.
    """
    place = session.worktree_root
    while not os.path.isdir(place):
        place = os.path.dirname(place)
    free = _free(place)
    spare = session.settings.worktree_spare_bytes
    refusal = space_refusal(
        place, needed=_needed(session, commit, free=free, spare=spare), free=free, spare=spare
    )
    if refusal is not None:
        raise refusal


def require_free(session: Session, place: str, needed: int) -> None:
    """Raise Refused if `needed` more bytes would not leave `worktree.spare_bytes` free."""
    spare = session.settings.worktree_spare_bytes
    refusal = space_refusal(place, needed=needed, free=_free(place), spare=spare)
    if refusal is not None:
        raise refusal


def _free(place: str) -> int:
    found = os.statvfs(place)
    return found.f_bavail * found.f_frsize


def _needed(session: Session, commit: Oid, *, free: int, spare: int) -> int:
    if holds_a_part(session.git_config):
        return 0
    known = _read(session)
    if commit in known:
        return known[commit]
    if known and is_plenty(free, spare=spare, known=max(known.values())):
        return max(known.values())
    listed = session.git.run("ls-tree", "-r", "-l", "-z", commit).out.split(b"\0")
    sizes = [line.split(b"\t")[0].split()[-1] for line in listed if line]
    needed = needed_bytes([int(size) for size in sizes if size.isdigit()])  # `-` for a submodule
    _keep(session, {**known, commit: needed})
    return needed


def holds_a_part(config: Mapping[str, str]) -> bool:
    """Return whether checkouts are sparse or the repository is a partial clone."""
    is_partial = "extensions.partialclone" in config or any(
        name.startswith("remote.") and name.endswith(".promisor") for name in config
    )
    return is_partial or config.get("core.sparsecheckout") == "true"


def _read(session: Session) -> dict[str, int]:
    try:
        with open(f"{session.paths.root}/{CACHE}", encoding="ascii", opener=open_regular) as file:
            pairs = [line.split() for line in file]
        return {pair[0]: int(pair[1]) for pair in pairs}
    except (OSError, ValueError, IndexError):  # absent or damaged: measure again
        return {}


def _keep(session: Session, known: dict[str, int]) -> None:
    path = f"{session.paths.root}/{CACHE}"
    partial = f"{path}.{os.getpid()}.tmp"
    lines = [f"{commit} {size}\n" for commit, size in known.items()]
    try:
        with open(partial, "w", encoding="ascii", opener=open_regular) as file:
            file.writelines(lines[-KEPT:])
        os.replace(partial, path)
    except OSError:  # only a cache
        return
