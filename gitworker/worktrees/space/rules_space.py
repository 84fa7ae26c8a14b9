"""Decide whether the disk has room for a worktree. Pure."""

from gitworker.errors import Refused
from gitworker.rules_text import size_text

BLOCK = 4096
PER_FILE = 256  # its entry in the index, its name in a directory
PLENTY = 4  # if this many commits of a known size fit, the new one is not measured


def needed_bytes(sizes: list[int]) -> int:
    """Return the disk space that files of these sizes take, in whole blocks."""
    return sum((size + BLOCK - 1) // BLOCK * BLOCK + PER_FILE for size in sizes)


def is_plenty(free: int, *, spare: int, known: int) -> bool:
    """Return whether any commit of a size near `known` fits."""
    return free - spare > PLENTY * known


def space_refusal(path: str, *, needed: int, free: int, spare: int) -> Refused | None:
    """Return a refusal if a worktree would leave less than `spare` bytes free."""
    if free - spare >= needed:
        return None
    return Refused(
        f"a worktree here needs about {size_text(needed)}, and {path} has {size_text(free)} free,"
        f" of which {size_text(spare)} must stay free",
        "git worker gc   # or: git config worker.worktree.spare-bytes <number>",
        code="disk_space",
    )
