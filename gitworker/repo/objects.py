"""Reading many objects with one process, and writing commits from their exact bytes."""

import os
from collections.abc import Sequence

from gitworker.model.ids import Oid
from gitworker.repo.git import Git, GitFailed


def read_objects(git: Git, names: Sequence[str]) -> list[bytes | None]:
    """Return the content of each named object in order, None for one that does not exist.

    A name is anything git resolves, as `<tree>:<path>`; it may hold every byte but NUL.
    """
    if not names:
        return []
    request = b"".join(os.fsencode(name) + b"\0" for name in names)
    out = git.run("cat-file", "--batch", "-z", stdin=request).out
    found: list[bytes | None] = []
    at = 0
    for name in names:
        absent = os.fsencode(name) + b" missing\n"
        if out.startswith(absent, at):
            found.append(None)
            at += len(absent)
            continue
        end = out.index(b"\n", at)
        size = out[at:end].rsplit(b" ", 1)[-1]
        if not size.isdigit():
            raise GitFailed(f"git cannot read {name}: {os.fsdecode(out[at:end])}")
        start = end + 1
        found.append(out[start : start + int(size)])
        at = start + int(size) + 1
    return found


def write_commits(git: Git, commits: Sequence[bytes], *, directory: str) -> list[Oid]:
    """Write commit objects byte for byte with one process; return their ids in order.

    `directory` is a private one for temporary files. Nothing refers to the commits yet.
    """
    names = [f"commit-{number}" for number in range(len(commits))]
    for name, data in zip(names, commits, strict=True):
        with open(f"{directory}/{name}", "wb") as file:
            file.write(data)
    request = "".join(f"{directory}/{name}\n" for name in names).encode()
    done = git.run(
        "hash-object", "-t", "commit", "-w", "--no-filters", "--stdin-paths", stdin=request
    )
    return [Oid(line) for line in done.text.split()]
