"""What decides whether a worktree has room on the disk. Pure."""

from gitworker.errors import Refused

BLOCK = 4096
PER_FILE = 256  # its entry in the index, its name in a directory
PLENTY = 4  # so many times the need of another commit: this one is not measured


def needed_bytes(sizes: list[int]) -> int:
    """Return what files of these sizes take on a disk that gives whole blocks."""
    return sum((size + BLOCK - 1) // BLOCK * BLOCK + PER_FILE for size in sizes)


def is_plenty(free: int, *, spare: int, known: int) -> bool:
    """Return whether there is room enough for any commit like the one that is known."""
    return free - spare > PLENTY * known


def space_refusal(path: str, *, needed: int, free: int, spare: int) -> Refused | None:
    """Return the refusal where a worktree would leave less free than is to be spared."""
    if free - spare >= needed:
        return None
    return Refused(
        f"a worktree here needs about {size_text(needed)}, and {path} has {size_text(free)} free,"
        f" of which {size_text(spare)} are to stay free",
        "git worker gc   (or: git config worker.worktree.spare-bytes N)",
        code="disk_space",
    )


def size_text(size: int) -> str:
    """Return a number of bytes as people read it."""
    value = float(size)
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"
