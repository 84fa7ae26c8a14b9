"""Files that git reports as unchanged although their bytes differ from those of a fresh checkout.

git compares a file after its conversion: a clean filter may strip outputs or secrets, `ident`
strips the content of `$Id$`, `text` and core.autocrlf strip carriage returns, and another encoding
may lose its byte order mark. The stripped bytes are in no commit. Only files with such an attribute
are read.
"""

import os
from collections.abc import Mapping, Sequence

from gitworker.paths import open_regular
from gitworker.repo.plumbing.disk import private_directory
from gitworker.repo.plumbing.git import Git

CONVERTING = frozenset({"filter", "ident", "text", "crlf", "eol", "working-tree-encoding"})
NO_CONVERSION = {"", "false", "no", "off", "0"}
BLOCK = 1024 * 1024


def find_converted(here: Git, env: Mapping[str, str], *, scratch_dir: str) -> str:
    """Return one tracked file whose bytes would be lost with the worktree, or "".

    `env` names an index with the entries of the kept commit; `scratch_dir` is a directory for
    a fresh checkout of the files that differ from their blobs. Raises GitFailed if git cannot write
    that checkout, and OSError if a file cannot be read.
    """
    blobs = _blobs(here, env)
    paths = _converting(here, env, list(blobs))
    differing = [path for path in paths if _is_file(f"{here.directory}/{path}")]
    if differing:
        found = _raw_ids(here, env, differing)
        differing = [path for path, oid in zip(differing, found, strict=True) if blobs[path] != oid]
    if not differing:
        return ""
    with private_directory(scratch_dir, "fresh-") as fresh:
        here.run(
            "checkout-index", "-q", "-z", "--stdin", "--ignore-skip-worktree-bits",
            f"--prefix={fresh}/", stdin=_joined(differing), env=env,
        )  # fmt: skip
        for path in differing:
            if not _are_equal(f"{here.directory}/{path}", f"{fresh}/{path}"):
                return path
    return ""


def _blobs(here: Git, env: Mapping[str, str]) -> dict[str, str]:
    """Return the regular files of an index with the ids of their blobs."""
    found = {}
    for entry in here.run("ls-files", "--stage", "-z", env=env).text.split("\0"):
        words, _, path = entry.partition("\t")
        if words.startswith("100"):
            found[path] = words.split(" ")[1]
    return found


def _converting(here: Git, env: Mapping[str, str], paths: Sequence[str]) -> list[str]:
    """Return the paths that git may convert, by attributes or by core.autocrlf."""
    automatic = here.run("config", "--get", "core.autocrlf", env=env, ok=(0, 1)).text.strip()
    if automatic.lower() not in NO_CONVERSION:
        return list(paths)
    fields = here.run(
        "check-attr", "--all", "-z", "--stdin", stdin=_joined(paths), env=env
    ).text.split("\0")
    facts = zip(fields[::3], fields[1::3], fields[2::3], strict=False)
    return list(
        dict.fromkeys(
            path for path, name, value in facts if name in CONVERTING and value != "unset"
        )
    )


def _raw_ids(here: Git, env: Mapping[str, str], paths: Sequence[str]) -> list[str]:
    """Return the ids of the raw files, without conversion."""
    lines = b"".join(_quoted(path) + b"\n" for path in paths)
    done = here.run("hash-object", "--no-filters", "--stdin-paths", stdin=lines, env=env)
    return done.text.split()


def _quoted(path: str) -> bytes:
    """Return a path as one line with C quotes, which git decodes."""
    escaped = (_escaped(byte) for byte in os.fsencode(path))
    return b'"' + b"".join(escaped) + b'"'


def _escaped(byte: int) -> bytes:
    plain = 0x20 <= byte < 0x7F and byte not in b'"\\'
    return bytes((byte,)) if plain else b"\\%03o" % byte


def _is_file(path: str) -> bool:
    return os.path.isfile(path) and not os.path.islink(path)


def _are_equal(path: str, other: str) -> bool:
    with (
        open(path, "rb", opener=open_regular) as one,
        open(other, "rb", opener=open_regular) as two,
    ):
        while True:
            mine, theirs = one.read(BLOCK), two.read(BLOCK)
            if mine != theirs:
                return False
            if not mine:
                return True


def _joined(paths: Sequence[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)
