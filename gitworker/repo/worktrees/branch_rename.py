"""Rename a branch as its user would, with its reflog, its settings and its checkouts."""

import os
from contextlib import suppress
from dataclasses import dataclass

from gitworker.errors import Conflict, Naming, Refused
from gitworker.model.ids import Oid, Ref
from gitworker.model.ref_names import ALL, short_name
from gitworker.paths import open_regular
from gitworker.repo.plumbing.git import Git, GitFailed
from gitworker.repo.plumbing.refs import find_ref, is_ancestor

# The place of a branch's reflog during a rename, below the common directory.
MOVING_LOG = f"logs/{ALL}.tmp-renamed-log"


@dataclass(frozen=True, slots=True)
class KeptLog:
    """A copy of a branch's reflog at `path`, from which a killed rename is repaired.

    git moves the reflog to a temporary name, deletes the old ref, moves the reflog again and makes
    the new ref. With reftable a rename is one transaction; there is no file to copy.
    """

    common_dir: str
    path: str

    def keep(self, ref: Ref) -> None:
        """Copy the reflog of `ref`; an earlier copy stays unless the reflog continues it."""
        log = _read(self._log_of(ref))
        if log and _continues(log, _read(self.path)):
            self._write(log, self.path)

    def put_back(self, ref: Ref) -> None:
        """Make the reflog of `ref` continue the copy, then delete the copy."""
        with suppress(FileNotFoundError):
            os.unlink(f"{self.path}.partial")
        kept, log = _read(self.path), _read(self._log_of(ref))
        if not kept:
            return
        if not _continues(log, kept):
            os.makedirs(os.path.dirname(self._log_of(ref)), exist_ok=True)
            with suppress(OSError):  # an empty directory of branches below this name
                os.rmdir(self._log_of(ref))
            self._write(kept + log, self._log_of(ref))
        moving = f"{self.common_dir}/{MOVING_LOG}"
        if _read(moving) == kept:
            os.unlink(moving)
        os.unlink(self.path)

    def clear(self, ref: Ref) -> None:
        """Delete the reflog of a branch that does not exist, if git moved it there in a rename."""
        log, kept = _read(self._log_of(ref)), _read(self.path)
        if not kept or not log or not _continues(log, kept):
            return
        self.keep(ref)
        os.unlink(self._log_of(ref))
        with suppress(OSError):  # git, too, deletes only empty directories
            os.rmdir(os.path.dirname(self._log_of(ref)))

    def _log_of(self, ref: Ref) -> str:
        return f"{self.common_dir}/logs/{ref}"

    def _write(self, log: bytes, path: str) -> None:
        partial = f"{self.path}.partial"  # not below logs/: git would read it as a reflog
        with Naming(partial), open(partial, "wb", opener=open_regular) as file:
            file.write(log)
        os.replace(partial, path)


def rename_branch(
    git: Git, old: Ref, new: Ref, *, log: KeptLog | None = None, tip: Oid | None = None
) -> None:
    """Rename a branch by git itself, which moves reflog, `branch.*` settings and checkouts too.

    With `tip` the branch must be at that commit; later commits on it move too. With `log` the
    reflog is copied first, and after a kill the caller puts it back. Raises Conflict if the branch
    is not at `tip`, and Refused if git does not allow the name.
    """
    if tip is not None and find_ref(git, old) != tip:
        raise _moved(git, old, tip)
    names = (short_name(old), short_name(new))
    if log is not None:
        log.keep(old)
    try:
        git.run("branch", "--no-color", "-m", "--", *names)
    except GitFailed as failure:
        raise Refused(
            f"git does not rename {names[0]} to {names[1]}",
            f"git branch -m {names[0]} {names[1]}",
            code="rename_refused",
            detail=failure.detail,
        ) from failure
    now = find_ref(git, new)
    if now is None or (tip is not None and not is_ancestor(git, tip, now)):
        raise _moved(git, new, tip)
    if log is not None:
        log.put_back(new)


def _moved(git: Git, ref: Ref, tip: Oid | None) -> Conflict:
    expected = "" if tip is None else f": expected {tip[:12]}"
    hint = "git worker fsck" if find_ref(git, ref) is None else f"git reflog show {ref}"
    return Conflict(f"another process moved {ref}{expected}", hint, code="ref_moved")


def _read(path: str) -> bytes:
    """Return the bytes of a file, b"" if it cannot be read."""
    try:
        with open(path, "rb", opener=open_regular) as file:
            return file.read()
    except OSError:
        return b""


def _continues(log: bytes, kept: bytes) -> bool:
    """Return whether a reflog has the last entry of an earlier copy."""
    return not kept or kept.splitlines()[-1] in log.splitlines()
