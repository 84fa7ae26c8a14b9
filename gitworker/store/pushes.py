"""Branches as we pushed them; a later push may replace only these commits."""

from gitworker.model.ids import Oid
from gitworker.store.api import Reader, Writer


def published_tips(reader: Reader, remote: str, branch: str) -> list[Oid]:
    """Return the commits that our pushes may have put on a remote's branch, the surest first."""
    row = reader.row("pushes.of_branch", remote=remote, branch=branch)
    if row is None:
        return []
    words = [row["oid"], *reversed(row["pending"].split(" "))]
    return [Oid(word) for word in dict.fromkeys(words) if word]


def begin_push(writer: Writer, remote: str, branch: str, *, oid: Oid, now: int) -> None:
    """Record the commit of a push before the push begins, in case the process is killed."""
    writer.run("pushes.begin", remote=remote, branch=branch, oid=oid, now=now)


def end_push(writer: Writer, remote: str, branch: str, *, oid: Oid, now: int) -> None:
    """Record the commit of the remote's branch."""
    writer.run("pushes.end", remote=remote, branch=branch, oid=oid, now=now)
