"""Read the commits of a branch that are not published yet."""

from collections.abc import Sequence
from dataclasses import dataclass

from gitworker.model.ids import Oid
from gitworker.repo.plumbing.git import Git

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


def new_commits(git: Git, *, tip: Oid, last: Oid | None, known: Sequence[Oid]) -> list[NewCommit]:
    """Return the commits of `tip` that are in neither `last` nor `known`, oldest first.

    Commits with the same patch as a commit on the side of `last` (a rebase) are left out too.
    Missing objects among `last` and `known` exclude nothing.
    """
    excluded = [f"^{oid}" for oid in known]
    span = tip if last is None else f"{last}...{tip}"
    done = git.run(
        "log", "--reverse", "--topo-order", "--cherry-pick", "--right-only", "--name-only", "-z",
        "--no-renames", "--no-relative", "--no-show-signature", "--no-notes", "--no-ext-diff",
        "--ignore-submodules=none", "-O/dev/null", "--encoding=UTF-8", f"--format={FORMAT}",
        "--end-of-options", span, *excluded, "--",
        ok=(0, 128),
    )  # fmt: skip
    if done.status != 0:
        present = _present(git, [*known, *([last] if last else [])])
        left = [oid for oid in known if oid in present]
        if len(left) == len(known) and (last is None or last in present):
            return []
        return new_commits(git, tip=tip, last=last if last in present else None, known=left)
    return [_parse(record) for record in done.text.split(RECORD)[1:]]


def _present(git: Git, oids: Sequence[Oid]) -> set[str]:
    """Return the objects that the repository still has."""
    asked = "".join(f"{oid}\n" for oid in oids).encode()
    answer = git.run("cat-file", "--batch-check=%(objectname)", stdin=asked).text
    return {line for line in answer.splitlines() if " " not in line}


def _parse(record: str) -> NewCommit:
    head, _, rest = record.partition("\0")
    oid, author, subject = head.split(FIELD, 2)
    subject, _, first = subject.partition("\n")
    names = (name.strip("\n") for name in (first, *rest.split("\0")))
    return NewCommit(Oid(oid), author, subject, tuple(name for name in names if name))
