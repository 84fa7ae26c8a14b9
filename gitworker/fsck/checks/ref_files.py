"""Files of refs and of HEAD that git cannot read: garbage, empty, or a symbolic ref to nowhere."""

import os
from collections.abc import Iterator
from shlex import quote

from gitworker.fsck.checks.misplaced import ASIDE, move_aside
from gitworker.fsck.finding import Finding, Repair
from gitworker.fsck.picture import Picture
from gitworker.model.ids import Oid, Ref, is_oid
from gitworker.model.ref_names import BRANCHES, OURS
from gitworker.paths import open_regular
from gitworker.repo.plumbing.disk import write_atomically
from gitworker.repo.status.checkout_status import open_operation
from gitworker.repo.worktrees.ownership import OwnershipClaim, has_head
from gitworker.session import Session
from gitworker.store.payloads.payload import rescue_of


def check_ref_files(picture: Picture) -> Iterator[Finding]:
    """Find damaged files of workers' branches, of the target and of our own refs."""
    common = picture.common_dir
    for ref in _loose_refs(picture):
        path = f"{common}/{ref}"
        text = _read(path)
        if ref in picture.refs or (text is not None and is_oid(text.strip())):
            continue
        what = f"{path} is no ref that git can read"
        last = _last_oid(picture, ref)
        if last is None:
            yield Finding("ref_damaged", ref, what, f"mv {quote(path)} {quote(path)}.damaged")
        else:
            yield Finding(
                "ref_damaged", ref, what,
                f"lets it point at {last[:12]} again, where it was last; the old file is kept in"
                f" {picture.session.paths.root}/{ASIDE}/",
                _replace(path, f"{last}\n"),
            )  # fmt: skip


def check_head_file(picture: Picture, owner: OwnershipClaim) -> Iterator[Finding]:
    """Find a HEAD of a worker's worktree that git cannot read."""
    admin, ref = owner.admin_dir or "", owner.ref
    path = f"{admin}/HEAD"
    if has_head(admin):
        return
    what = f"{path} is damaged: git does not work in {owner.place}"
    if ref is not None and open_operation(admin) is None:
        yield Finding(
            "head_damaged", owner.place, what, f"puts the worktree on {ref} again; the old file is"
            f" kept in {picture.session.paths.root}/{ASIDE}/", _replace(path, f"ref: {ref}\n"),
        )  # fmt: skip
    else:  # in the middle of a rebase HEAD is at a commit of its own
        last = _logged(f"{admin}/logs/HEAD") or picture.refs.get(ref or Ref(""), "COMMIT")
        yield Finding("head_damaged", owner.place, what, f"echo {last} >{quote(path)}")


def files_of_refs(picture: Picture) -> Iterator[str]:
    """Yield the files, also lock files, below our refs and below the workers' branches."""
    workers = (f"{BRANCHES}{worker.worker_id}" for worker in picture.workers)
    for folder in (OURS, *workers):
        for place, _, names in os.walk(f"{picture.common_dir}/{folder}"):
            yield from (os.path.join(place, name) for name in names)


def _loose_refs(picture: Picture) -> list[Ref]:
    """Return the names of loose ref files that concern us, sorted."""
    common = picture.common_dir
    found = {picture.session.target, *filter(None, map(picture.branch, picture.workers))}
    files = (path for path in files_of_refs(picture) if not path.endswith(".lock"))
    found.update(Ref(os.path.relpath(path, common)) for path in files)
    return sorted(ref for ref in found if os.path.isfile(f"{common}/{ref}"))


def _last_oid(picture: Picture, ref: Ref) -> Oid | None:
    """Return the commit that a ref was at last, by its reflog, its worktree or our records."""
    candidates = [_logged(f"{picture.common_dir}/logs/{ref}")]
    for worker in picture.workers:
        if picture.branch(worker) == ref:
            candidates += [_logged(f"{worker.admin_dir}/logs/HEAD"), picture.tips.get(ref)]
    for act in picture.acts:
        rescue, rescued = rescue_of(act.data)
        if rescue == ref:
            candidates.append(rescued)
    for oid in candidates:
        if oid and is_oid(oid):
            there = picture.session.git.find_oid(oid)
            if there is not None:
                return there
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


def _replace(path: str, text: str) -> Repair:
    before = _read(path)

    def mend(session: Session) -> None:
        if _read(path) == before:
            if os.path.lexists(path):
                move_aside(session.paths.root, path)
            write_atomically(path, os.fsencode(text))

    return mend
