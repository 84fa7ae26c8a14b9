"""The decisions of doctor's checks. Pure: text and tables in, verdicts out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gitworker.model.ids import Oid

# File systems on which SQLite's write-ahead log does not work: its index is shared memory.
NETWORK_FILE_SYSTEMS = frozenset(
    {
        "nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "afs", "9p", "ceph", "glusterfs",
        "lustre", "ncpfs", "fuse.sshfs", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RecordedLanding:
    """One recorded fast-forward of a target."""

    worker: str
    task: str
    target_ref: str
    old: Oid
    new: Oid


def file_system_of(path: str, mounts: str) -> str | None:
    """Return the type of the file system that holds `path`, by the text of /proc/mounts.

    The longest mount point wins; the last of equal ones covers the others. None if none matches.
    """
    best, kind = -1, None
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = _unescaped(fields[1])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= best:
            best, kind = len(point), fields[2]
    return kind


def is_network(kind: str | None) -> bool:
    """Return whether a file system's type is a network file system."""
    return kind in NETWORK_FILE_SYSTEMS


def history_faults(
    landings: Sequence[RecordedLanding], parents: Mapping[Oid, Sequence[Oid]], *, since: Oid
) -> Iterator[tuple[RecordedLanding, str]]:
    """Yield each landing that is missing in the target's history or contains a merge, and why.

    `parents` is the target's history since `since`, the start of the first landing.
    """
    for landing in landings:
        if landing.new != since and landing.new not in parents:
            yield landing, "is no longer in the target: the branch was moved by force"
            continue
        merge = _first_merge(landing, parents)
        if merge is not None:
            yield landing, f"contains the merge commit {merge[:10]}"


def _first_merge(landing: RecordedLanding, parents: Mapping[Oid, Sequence[Oid]]) -> str | None:
    at = landing.new
    while at != landing.old and at in parents:
        if len(parents[at]) > 1:
            return at
        if not parents[at]:
            return None
        at = parents[at][0]
    return None


def _unescaped(text: str) -> str:
    """Return a field of /proc/mounts with its octal escapes (of blanks) resolved."""
    for escape, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(escape, char)
    return text
