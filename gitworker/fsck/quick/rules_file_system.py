"""The type of the file system that holds a path, by the text of /proc/mounts. Pure."""

# File systems on which SQLite's write-ahead log does not work: its index is shared memory.
NETWORK_FILE_SYSTEMS = frozenset(
    {
        "nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "afs", "9p", "ceph", "glusterfs",
        "lustre", "ncpfs", "fuse.sshfs", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs",
    }
)  # fmt: skip


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


def _unescaped(text: str) -> str:
    """Return a field of /proc/mounts with its octal escapes (of blanks) resolved."""
    for escape, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(escape, char)
    return text
