"""The versions of the files in conflict, and their text merged by git with the common version.

A merge writes its objects into a private directory, and no ref, index or worktree is touched. The
user's merge programs and filters do not run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.paths import open_regular
from gitworker.repo.plumbing.disk import private_directory
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.objects import alternate, read_objects
from gitworker.repo.replay.attributes import lay_out
from gitworker.repo.replay.merge_pairs import (
    NO,
    NOTHING,
    TEXT,
    TEXT_MERGE,
    find_objects_place,
    neutral_options,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitworker.model.ids import Oid
    from gitworker.repo.replay.merge_pairs import Attributes, Pair

BASE, OURS, THEIRS = 1, 2, 3  # the stages of an unmerged file
BYTES_AT_MOST = 256 * 1024  # of one version; a larger one is not read
MOST_CONFLICTS = 127  # the highest status of git merge-file without an error
MARKERS_AT_LEAST = 7


class Version(NamedTuple):
    """One version of a file. `data` is None if it is too large, or no file: `mode` tells which."""

    mode: str
    oid: str
    size: int
    data: bytes | None


Versions = dict[int, Version]


def merged_versions(
    common_dir: str,
    pair: Pair,
    attributes: Attributes,
    *,
    scratch_dir: str,
    git_config: Mapping[str, str],
) -> dict[str, Versions]:
    """Merge the second commit into the first; return the versions of each path in conflict.

    Raises GitFailed if git cannot merge them.
    """
    with (
        private_directory(scratch_dir, "conflict-") as private,
        private_directory(find_objects_place(scratch_dir), "gitworker-conflict-") as objects,
    ):
        tree = f"{private}/tree"
        lay_out(tree, attributes)
        git = Git(tree, git_dir=common_dir)
        env = {
            **alternate(f"{common_dir}/objects"),
            "GIT_OBJECT_DIRECTORY": objects, "GIT_WORK_TREE": tree,
            TEXT: TEXT_MERGE, NOTHING: "", NO: "false",
        }  # fmt: skip
        done = git.run(
            *neutral_options(git_config), "merge-tree", "--write-tree", "-z", "--no-messages",
            "--allow-unrelated-histories", *pair, env=env, ok=(0, 1),
        )  # fmt: skip
        entries = [one for one in done.text.split("\0")[1:] if one] if done.status else []
        return _load(git, [_parse(one, pair) for one in entries], env=env)


def versions_in(git: Git, commits: Mapping[int, Oid], paths: Sequence[str]) -> dict[str, Versions]:
    """Return the versions of paths in the commit of each stage."""
    found = []
    for stage, commit in commits.items():
        out = git.run("--literal-pathspecs", "ls-tree", "-z", commit, "--", *paths).text
        for line in filter(None, out.split("\0")):
            facts, _, path = line.partition("\t")
            mode, _, oid = facts.split(" ")
            found.append((path, stage, mode, oid))
    return _load(git, found, env=None)


def merge_texts(
    git: Git, versions: Sequence[bytes], *, scratch_dir: str
) -> tuple[list[bytes], int] | None:
    """Merge our, the base's and their text; return the lines and the length of the markers.

    With an empty base, lines that both have are no conflict. Returns None if git refuses: one of
    them is binary.
    """
    style = ("--diff3",) if versions[1] else ()  # it would make one conflict of two whole files
    size = max(MARKERS_AT_LEAST, *(_longest_marker(one) for one in versions)) + 1
    with private_directory(scratch_dir, "conflict-") as private:
        names = [f"{private}/{name}" for name in ("ours", "base", "theirs")]
        for name, data in zip(names, versions, strict=True):
            with open(name, "wb", opener=open_regular) as file:
                file.write(data)
        done = git.run(
            "merge-file", "-p", "-q", *style, f"--marker-size={size}", *names,
            ok=range(256),
        )  # fmt: skip
    return (done.out.split(b"\n"), size) if done.status <= MOST_CONFLICTS else None


def _parse(entry: str, pair: Pair) -> tuple[str, int, str, str]:
    """Return path, stage, mode and id of an entry; git renames some paths to `path~commit`."""
    facts, _, path = entry.partition("\t")
    mode, oid, stage = facts.split(" ")
    for commit in pair:
        path = path.partition(f"~{commit}")[0]
    return path, int(stage), mode, oid


def _load(
    git: Git, entries: Sequence[tuple[str, int, str, str]], *, env: Mapping[str, str] | None
) -> dict[str, Versions]:
    """Read the sizes of all versions, and the small ones."""
    oids = list(dict.fromkeys(oid for *_, oid in entries))
    sizes: dict[str, int] = {}
    if oids:
        asked = "".join(f"{oid}\n" for oid in oids).encode()
        check = "--batch-check=%(objectname) %(objecttype) %(objectsize)"
        for line in git.run("cat-file", check, stdin=asked, env=env).text.splitlines():
            oid, kind, *size = line.split(" ")
            if kind == "blob":
                sizes[oid] = int(size[0])
    small = [oid for oid, size in sizes.items() if size <= BYTES_AT_MOST]
    data = dict(zip(small, read_objects(git, small, env=env), strict=True))
    found: dict[str, Versions] = {}
    for path, stage, mode, oid in entries:
        version = Version(mode, oid, sizes.get(oid, 0), data.get(oid))
        found.setdefault(path, {})[stage] = version
    return found


def _longest_marker(data: bytes) -> int:
    """Return the length of the longest beginning of a line that looks like a marker."""
    lengths = (
        len(line) - len(line.lstrip(line[:1]))
        for line in data.split(b"\n")
        if line[:1] in (b"<", b"|", b"=", b">") and line[:1]
    )
    return max(lengths, default=0)
