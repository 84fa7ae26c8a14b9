"""The reflogs of a worker's branch and worktree, with the commits that git can still find."""

from collections.abc import Iterator
from typing import NamedTuple

from gitworker.fsck.picture import Picture
from gitworker.model.ids import Oid, is_oid
from gitworker.paths import open_regular
from gitworker.store.workers import Worker

MAKING = ("commit", "cherry-pick", "am", "revert", "merge")


class ReflogEntry(NamedTuple):
    """One line of a reflog; `is_made` if the command created the commit `new`."""

    old: Oid
    new: Oid
    is_made: bool


def read_reflogs(picture: Picture, worker: Worker) -> Iterator[ReflogEntry]:
    """Yield the entries of the reflogs of a worker's branch and of its worktree."""
    ref = picture.branch(worker)
    if ref is None or worker.task_id is None:
        return
    for path in (f"{picture.common_dir}/logs/{ref}", f"{worker.admin_dir}/logs/HEAD"):
        try:
            with open(path, encoding="utf-8", errors="replace", opener=open_regular) as file:
                lines = file.read().splitlines()
        except (OSError, ValueError):
            continue
        for line in lines:
            facts, _, reason = line.partition("\t")
            old, _, rest = facts.partition(" ")
            new = rest.partition(" ")[0]
            if is_oid(old) and is_oid(new):
                yield ReflogEntry(Oid(old), Oid(new), reason.startswith(MAKING))


def named_commits(picture: Picture, worker: Worker) -> set[Oid]:
    """Return the commits that these reflogs name, without the zeros of a new branch."""
    found = {oid for entry in read_reflogs(picture, worker) for oid in (entry.old, entry.new)}
    return {oid for oid in found if oid.strip("0")}
