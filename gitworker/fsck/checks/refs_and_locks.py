"""Files of refs and of HEAD that git cannot read: garbage, empty, or a dangling symbolic ref."""

import os
from collections.abc import Iterator
from functools import partial

from gitworker.fsck.checks.misplaced import ASIDE, move_aside
from gitworker.fsck.finding import Finding
from gitworker.fsck.picture import Picture
from gitworker.model.ids import Oid, Ref, is_oid
from gitworker.model.ref_names import BRANCHES, OURS, round_of
from gitworker.paths import open_regular
from gitworker.repo.plumbing.disk import write_atomically
from gitworker.repo.status.checkout_status import open_operation
from gitworker.repo.worktrees.ownership import OwnershipClaim, has_head
from gitworker.rules_text import quoted
from gitworker.session import Session
from gitworker.store.payloads.payload import rescue_of
from gitworker.store.reviewing.rounds import rounds_of


def check_ref_files(picture: Picture) -> Iterator[Finding]:
    """Find damaged files of workers' branches, of the target and of our own refs."""
    for ref in _loose_refs(picture):
        path = f"{picture.common_dir}/{ref}"
        text = _read(path)
        if ref in picture.refs or (text is not None and is_oid(text.strip())):
            continue
        message = f"git cannot read the ref file {path}"
        last = _last_oid(picture, ref)
        if last is None:
            hint = f"mv {quoted(path)} {quoted(path)}.damaged"
            yield Finding("ref_damaged", ref, message, hint)
        else:
            yield Finding(
                "ref_damaged", ref, message,
                f"points it at {last[:12]}, its last commit; {_kept(picture)}",
                _replacing(path, f"{last}\n"),
            )  # fmt: skip


def check_head_file(picture: Picture, owner: OwnershipClaim) -> Iterator[Finding]:
    """Find a HEAD of a worker's worktree that git cannot read."""
    admin, ref = owner.admin_dir or "", owner.ref
    path = f"{admin}/HEAD"
    if has_head(admin):
        return
    message = f"{path} is damaged, so git does not work in {owner.place}"
    if ref is not None and open_operation(admin) is None:
        hint = f"points it at {ref}; {_kept(picture)}"
        repair = _replacing(path, f"ref: {ref}\n")
        yield Finding("head_damaged", owner.place, message, hint, repair)
    else:  # during a rebase HEAD is detached
        last = _logged(f"{admin}/logs/HEAD") or picture.refs.get(ref or Ref(""), "COMMIT")
        yield Finding("head_damaged", owner.place, message, f"echo {last} >{quoted(path)}")


def files_of_refs(picture: Picture) -> Iterator[str]:
    """Yield the files, also lock files, below our refs and below the workers' branches."""
    workers = (f"{BRANCHES}{worker.worker_id}" for worker in picture.workers)
    for folder in (OURS, *workers):
        for place, _, names in os.walk(f"{picture.common_dir}/{folder}"):
            yield from (os.path.join(place, name) for name in names)


def _loose_refs(picture: Picture) -> list[Ref]:
    """Return the names of our loose refs, of workers' branches and of the target, sorted."""
    common = picture.common_dir
    found = {picture.session.target, *filter(None, map(picture.branch, picture.workers))}
    files = (path for path in files_of_refs(picture) if not path.endswith(".lock"))
    found.update(Ref(os.path.relpath(path, common)) for path in files)
    return sorted(ref for ref in found if os.path.isfile(f"{common}/{ref}"))


def _last_oid(picture: Picture, ref: Ref) -> Oid | None:
    """Return the last known commit of a ref, from its reflog, its worktree or our records."""
    candidates = [_logged(f"{picture.common_dir}/logs/{ref}")]
    for worker in picture.workers:
        if picture.branch(worker) == ref:
            candidates += [_logged(f"{worker.admin_dir}/logs/HEAD"), picture.tips.get(ref)]
    for operation in picture.operations:
        rescue, rescued = rescue_of(operation.data)
        if rescue == ref:
            candidates.append(rescued)
    if (found := round_of(ref)) is not None:
        worker_id, task, number = found
        with picture.session.store.read() as reader:
            rounds = rounds_of(reader, worker_id, task)
        candidates += [one.tip for one in rounds if one.number == number]
    for oid in candidates:
        if oid and is_oid(oid):
            present = picture.session.git.find_oid(oid)
            if present is not None:
                return present
    return None


def _logged(path: str) -> str | None:
    """Return the commit of a reflog's last line."""
    lines = (_read(path) or "").splitlines()
    words = lines[-1].split(" ") if lines else []
    return words[1] if len(words) > 1 and is_oid(words[1]) else None


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace", opener=open_regular) as file:
            return file.read()
    except (OSError, ValueError):
        return None


def _kept(picture: Picture) -> str:
    return f"the old file moves to {picture.session.paths.root}/{ASIDE}/"


def _replacing(path: str, text: str) -> partial[None]:
    return partial(_replace, path=path, text=text, before=_read(path))


def _replace(session: Session, *, path: str, text: str, before: str | None) -> None:
    """Write a file unless it has changed since the check."""
    if _read(path) == before:
        if os.path.lexists(path):
            move_aside(session.paths.root, path)
        write_atomically(path, os.fsencode(text))
