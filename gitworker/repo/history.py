"""Reading commits that are news: what a branch has that nobody was told of."""

from collections.abc import Iterable
from dataclasses import dataclass

from gitworker.model.ids import Oid
from gitworker.repo.git import Git

RECORD = "\x1e"
FIELD = "\x1f"
FORMAT = f"{RECORD}%H{FIELD}%an <%ae>{FIELD}%s"


@dataclass(frozen=True, slots=True)
class NewCommit:
    """One commit in short: id, author as `Name <mail>`, subject, changed paths."""

    oid: Oid
    author: str
    subject: str
    paths: tuple[str, ...]


def new_commits(git: Git, *, tip: Oid, last: Oid | None, known: Iterable[Oid]) -> list[NewCommit]:
    """Return the commits of `tip` that are in neither `last` nor `known`, oldest first.

    Commits that only carry a patch of `last`'s side again (a rebase) are left out too. A `last`
    that is gone from the repository counts as unknown.
    """
    excluded = [f"^{oid}" for oid in known]
    span = tip if last is None else f"{last}...{tip}"
    done = git.run(
        "log", "--reverse", "--topo-order", "--cherry-pick", "--right-only", "--name-only", "-z",
        "--no-renames", "--encoding=UTF-8", f"--format={FORMAT}", "--end-of-options", span,
        *excluded, "--",
        ok=(0, 128),
    )  # fmt: skip
    if done.status != 0:
        if last is None:
            return []
        return new_commits(git, tip=tip, last=None, known=known)
    return [_parse(record) for record in done.text.split(RECORD)[1:]]


def _parse(record: str) -> NewCommit:
    head, _, rest = record.partition("\0")
    oid, author, subject = head.split(FIELD, 2)
    subject, _, first = subject.partition("\n")
    names = (name.strip("\n") for name in (first, *rest.split("\0")))
    return NewCommit(Oid(oid), author, subject, tuple(name for name in names if name))
