"""Trees, blobs and commits that branches, the target and our refs need exist in the repository."""

import os
import re
from collections.abc import Callable, Iterator
from functools import partial

from gitworker.errors import NotFound, Unavailable
from gitworker.fsck.checks.misplaced import empty_objects, open_repaired
from gitworker.fsck.finding import Finding
from gitworker.fsck.picture import Picture, take_picture
from gitworker.model.ids import Oid
from gitworker.model.ref_names import short_name
from gitworker.repo.history.reachable import find_absent, find_missing
from gitworker.repo.plumbing.disk import private_directory
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.opening import SETTINGS_UNREADABLE
from gitworker.repo.worktrees.ownership import find_flaw, owner_of
from gitworker.rules_text import count_text
from gitworker.session import Session
from gitworker.store.payloads.payload import recorded_commits
from gitworker.worktrees.space.disk_space import holds_a_part

NAMED = 5  # objects that one line names


def open_readable(
    opened: Callable[[], Session], without_settings: Callable[[], Session], *, repair: bool
) -> tuple[Session | None, list[Finding]]:
    """Open a session as `open_repaired` does, also if objects of the settings file are missing.

    With `repair` they are written again first. Raises NotFound if no worktree has them.
    """
    try:
        return open_repaired(opened, repair=repair)
    except Unavailable as error:
        if error.code != SETTINGS_UNREADABLE:
            raise
        session = without_settings()
        found = _missing_or_empty(session)
        if not found:
            raise
    if not repair:
        return None, found
    repaired: list[Finding] = []
    while found and found != repaired:  # an empty object is moved aside, then it is missing
        for one in found:
            assert one.repair is not None
            one.repair(session)
        repaired, found = [*repaired, *found], _missing_or_empty(session)
    complete, done = open_repaired(opened, repair=True)
    return complete, [*repaired, *done]


def _missing_or_empty(session: Session) -> list[Finding]:
    picture = take_picture(session)
    return [*check_empty_objects(picture), *check_objects(picture)]


def check_empty_objects(picture: Picture) -> Iterator[Finding]:
    """Find empty loose objects, which a full disk or a power failure leaves."""
    yield from empty_objects(picture.common_dir, picture.session.paths.root)


def check_objects(picture: Picture) -> Iterator[Finding]:
    """Find missing objects that refs, worktrees and open operations need."""
    session = picture.session
    tips = {*picture.refs.values(), *(tree.head for tree in picture.worktrees.values())}
    for operation in picture.operations:
        if operation.is_open:
            tips |= recorded_commits(operation.data)
    git = session.git
    is_partial = holds_a_part(session.git_config)
    absent, complaint = find_absent(git, sorted(filter(None, tips)), is_partial=is_partial)
    if complaint:
        named = {Oid(word) for word in re.findall(r"\b[0-9a-f]{40,64}\b", complaint)}
        absent |= find_missing(git, named)
    if not absent and not complaint:
        return
    known = _paths_of(picture, absent)
    some = ", ".join(" of ".join(known.get(oid, (oid[:12],))) for oid in sorted(absent)[:NAMED])
    branch = next((place[1] for place in known.values()), "'<branch>'")
    fetch = f"git fetch --refetch '<clone>' {branch}   # a remote, or the path of a clone"
    message = f"the repository lacks {count_text(len(absent), 'object')}: {some}"
    if not absent:
        message = f"git cannot read every commit: {complaint.strip().splitlines()[-1]}"
    yield Finding(
        "object_missing", "objects", message,
        f"writes each object again that a worktree has as an unchanged file; for others: {fetch}",
        partial(_write_again, picture=picture, absent=absent, hint=fetch),
    )  # fmt: skip


def _paths_of(picture: Picture, absent: set[Oid]) -> dict[Oid, tuple[str, str]]:
    """Return path and branch of absent objects that the last commit of a branch contains."""
    found: dict[Oid, tuple[str, str]] = {}
    refs = (picture.session.target, *filter(None, map(picture.branch, picture.workers)))
    for ref in refs if absent else ():
        listed = picture.session.git.run("ls-tree", "-r", "-t", "-z", ref, ok=(0, 1, 128)).text
        for line in filter(None, listed.split("\0")):
            facts, _, path = line.partition("\t")
            oid = Oid(facts.split(" ")[2])
            if oid in absent:
                found.setdefault(oid, (path, short_name(ref)))
    return found


def _write_again(session: Session, *, picture: Picture, absent: set[Oid], hint: str) -> None:
    for place in _checkouts(picture):
        here = session.git.at(place)
        listed = here.run("ls-files", "-s", "-z", ok=(0, 128)).text
        _write_blobs(here, place, listed, absent)
        _write_trees(session, here, listed)
    left = find_missing(session.git, absent) if absent else set()
    if left or not absent:
        raise NotFound(
            f"{len(left) or 'some'} objects are in no worktree: {', '.join(sorted(left))}",
            hint, code="object_missing",
        )  # fmt: skip


def _checkouts(picture: Picture) -> list[str]:
    """Return the main checkout and the workers' worktrees whose ownership is proved."""
    owners = [owner_of(picture.common_dir, worker) for worker in picture.workers]
    top = picture.session.main_top
    main = [top] if os.path.lexists(f"{top}/.git") else []
    return [*main, *(one.place for one in owners if one is not None and find_flaw(one) is None)]


def _write_blobs(here: Git, place: str, listed: str, absent: set[Oid]) -> None:
    names = []
    for line in filter(None, listed.split("\0")):
        facts, _, name = line.partition("\t")
        path = f"{place}/{name}"
        if Oid(facts.split(" ")[1]) not in absent or "\n" in name:
            continue
        if os.path.islink(path):
            target = os.fsencode(os.readlink(path))
            here.run("hash-object", "-w", "--stdin", stdin=target)
        elif os.path.isfile(path):
            names.append(name)
    if names:
        here.run("hash-object", "-w", "--stdin-paths", stdin=os.fsencode("\n".join((*names, ""))))


def _write_trees(session: Session, here: Git, listed: str) -> None:
    """Write the trees of the paths that an index lists; a new index has no cached trees."""
    with private_directory(session.paths.root, "index-") as private:
        env = {"GIT_INDEX_FILE": f"{private}/index"}
        here.run("update-index", "-z", "--index-info", stdin=os.fsencode(listed), env=env)
        here.run("write-tree", "--missing-ok", env=env, ok=(0, 128))
