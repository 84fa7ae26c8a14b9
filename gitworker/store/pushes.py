"""Branches as we published them: what a later push may replace, and nothing else."""

from gitworker.model.ids import Oid
from gitworker.store.api import Reader, Writer


def published_tips(reader: Reader, remote: str, branch: str) -> list[Oid]:
    """Return the commits that a remote's branch may be at through us, the surest first."""
    row = reader.row("pushes.of_branch", remote=remote, branch=branch)
    if row is None:
        return []
    words = [row["oid"], *reversed(row["pending"].split(" "))]
    return [Oid(word) for word in dict.fromkeys(words) if word]


def begin_push(writer: Writer, remote: str, branch: str, *, oid: Oid, now: int) -> None:
    """Record what is about to be pushed, before anybody can kill us in the middle."""
    writer.run("pushes.begin", remote=remote, branch=branch, oid=oid, now=now)


def end_push(writer: Writer, remote: str, branch: str, *, oid: Oid, now: int) -> None:
    """Record what the remote's branch is at."""
    writer.run("pushes.end", remote=remote, branch=branch, oid=oid, now=now)
