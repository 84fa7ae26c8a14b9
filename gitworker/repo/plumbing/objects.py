"""Objects as bytes: reading many with one process, their ids, and writing commits.

A loose object of our own making lives in a private directory only, where git finds it as in an
alternate: it is read by the next process and gone with the directory.
"""

import os
import zlib
from collections.abc import Sequence

from gitworker.errors import Naming
from gitworker.model.ids import Oid
from gitworker.paths import regular
from gitworker.repo.plumbing.git import Git, GitFailed

SHA1_LENGTH = 40
FASTEST = 1


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


def commit_id(commit: bytes, *, length: int) -> Oid:
    """Return the id of a commit, in a repository whose ids have `length` digits."""
    from hashlib import sha1, sha256  # 3 ms, and a conflict-free replay is what needs it

    algorithm = sha1 if length == SHA1_LENGTH else sha256
    return Oid(algorithm(_header(commit) + commit, usedforsecurity=False).hexdigest())


def write_private_commit(commit: bytes, *, length: int, directory: str) -> Oid:
    """Write a commit as a loose object under `directory`, which is no repository's; return its id.

    git sees it where `alternate(directory)` is in the environment.
    """
    oid = commit_id(commit, length=length)
    os.makedirs(f"{directory}/{oid[:2]}", exist_ok=True)
    with (
        Naming(f"{directory}/{oid[:2]}/{oid[2:]}"),
        open(f"{directory}/{oid[:2]}/{oid[2:]}", "wb", opener=regular) as file,
    ):
        file.write(zlib.compress(_header(commit) + commit, FASTEST))
    return oid


def alternate(directory: str) -> dict[str, str]:
    """Return the environment in which git reads objects from `directory` too."""
    quoted = os.path.abspath(directory).replace("\\", "\\\\").replace('"', '\\"')
    return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{quoted}"'}  # unquoted, a colon would end it


def write_commits(git: Git, commits: Sequence[bytes], *, directory: str) -> list[Oid]:
    """Write commit objects byte for byte with one process; return their ids in order.

    `directory` is a private one for temporary files. Nothing refers to the commits yet.
    """
    names = [f"commit-{number}" for number in range(len(commits))]
    for name, data in zip(names, commits, strict=True):
        with (
            Naming(f"{directory}/{name}"),
            open(f"{directory}/{name}", "wb", opener=regular) as file,
        ):
            file.write(data)
    request = "".join(f"{directory}/{name}\n" for name in names).encode()
    done = git.run(
        "hash-object", "-t", "commit", "-w", "--no-filters", "--stdin-paths", stdin=request
    )
    return [Oid(line) for line in done.text.split()]


def _header(commit: bytes) -> bytes:
    return b"commit %d\0" % len(commit)
