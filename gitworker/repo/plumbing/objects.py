"""Objects as bytes: read many with one process, compute ids, write commits.

Private loose objects are written only into a private directory, which git reads as an alternate.
They are removed with the directory.
"""

import os
import zlib
from collections.abc import Mapping, Sequence

from gitworker.errors import Naming
from gitworker.model.ids import Oid
from gitworker.paths import open_regular
from gitworker.repo.plumbing.git import Git, GitFailed

SHA1_LENGTH = 40
FASTEST = 1


def read_objects(
    git: Git, names: Sequence[str], *, env: Mapping[str, str] | None = None
) -> list[bytes | None]:
    """Return the content of each named object in order, None for one that does not exist.

    A name is any revision, for example `<tree>:<path>`, and may contain every byte but NUL. `env`
    may name other directories of objects.
    """
    if not names:
        return []
    request = b"".join(os.fsencode(name) + b"\0" for name in names)
    out = git.run("cat-file", "--batch", "-z", stdin=request, env=env).out
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
    from hashlib import sha1, sha256  # 3 ms, needed only for a replay without conflicts

    algorithm = sha1 if length == SHA1_LENGTH else sha256
    return Oid(algorithm(_header(commit) + commit, usedforsecurity=False).hexdigest())


def write_private_commit(commit: bytes, *, length: int, directory: str) -> Oid:
    """Write a commit as a loose object under `directory`, outside the repository; return its id.

    git sees it if `alternate(directory)` is in its environment.
    """
    oid = commit_id(commit, length=length)
    os.makedirs(f"{directory}/{oid[:2]}", exist_ok=True)
    with (
        Naming(f"{directory}/{oid[:2]}/{oid[2:]}"),
        open(f"{directory}/{oid[:2]}/{oid[2:]}", "wb", opener=open_regular) as file,
    ):
        file.write(zlib.compress(_header(commit) + commit, FASTEST))
    return oid


def alternate(directory: str) -> dict[str, str]:
    """Return the environment in which git also reads objects from `directory`."""
    quoted = os.path.abspath(directory).replace("\\", "\\\\").replace('"', '\\"')
    return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{quoted}"'}  # a colon would split it unquoted


def write_commits(git: Git, commits: Sequence[bytes], *, directory: str) -> list[Oid]:
    """Write commit objects byte for byte with one process; return their ids in order.

    `directory` is a private directory for temporary files. No ref points at the commits yet.
    """
    names = [f"commit-{number}" for number in range(len(commits))]
    for name, data in zip(names, commits, strict=True):
        with (
            Naming(f"{directory}/{name}"),
            open(f"{directory}/{name}", "wb", opener=open_regular) as file,
        ):
            file.write(data)
    request = "".join(f"{directory}/{name}\n" for name in names).encode()
    done = git.run(
        "hash-object", "-t", "commit", "-w", "--no-filters", "--stdin-paths", stdin=request
    )
    return [Oid(line) for line in done.text.split()]


def _header(commit: bytes) -> bytes:
    return b"commit %d\0" % len(commit)
