"""Trees that git never checks out: names, modes and order that its index refuses. Pure.

The rules are those of verify_path (read-cache.c) and of the tree checks in fsck.c. Names that are
`.git` on HFS+ or NTFS count on every platform, since a branch may be checked out on any of them.
"""

from collections.abc import Iterator
from typing import NamedTuple

from gitworker.model.ids import Oid

TREE, LINK = b"40000", b"120000"
MODES = frozenset({b"100644", b"100664", b"100755", TREE, LINK, b"160000"})
DOTS = frozenset({"", ".", ".."})
# Code points that HFS+ ignores in names (utf8.c, next_hfs_char).
HFS_IGNORED = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)
LONGEST_PATH = 4095  # PATH_MAX less the NUL, below the top of a worktree
SHORT = "gi7eba"  # start of the 8.3 name of `.gitmodules` on NTFS if `gitmod~1` is taken
SHORT_LENGTH = 8


class Protection(NamedTuple):
    """The file systems whose spellings of `.git` count."""

    hfs: bool = True
    ntfs: bool = True


class TreeEntry(NamedTuple):
    """One entry of a tree object."""

    mode: bytes
    name: str
    oid: Oid


ALL = Protection()


def is_safe_path(path: str) -> bool:
    """Return whether git could have checked a path out; if not, no file there belongs to git."""
    return all(name_fault(name) is None for name in path.split("/"))


def name_fault(name: str, mode: bytes = b"", protection: Protection = ALL) -> str | None:
    """Return why git refuses a name in a tree, None if it does not."""
    if name in DOTS:
        return "the name is empty" if not name else f"the name is `{name}`"
    if "/" in name:
        return "the name has a slash"
    if _is_dotgit(name, protection):
        return "the name stands for `.git`"
    if mode == LINK and _is_dotgitmodules(name, protection):
        return "`.gitmodules` is a symbolic link"
    return None


def tree_fault(
    raw: bytes, *, oid_size: int, protection: Protection = ALL, above: int = 0
) -> tuple[str, str] | None:
    """Return the first entry of a raw tree that git refuses, with the reason, or None.

    `above` is the length of the tree's own path in bytes.
    """
    seen: set[str] = set()
    before = b""
    try:
        for entry in read_entries(raw, oid_size=oid_size):
            key = entry.name.encode("utf-8", "surrogateescape") + b"/" * (entry.mode == TREE)
            fault = name_fault(entry.name, entry.mode, protection)
            if fault is None and entry.mode not in MODES:
                fault = f"the mode is {entry.mode.decode('ascii', 'replace')}"
            if fault is None and not entry.oid.strip("0"):
                fault = "the entry names no object"
            if fault is None and entry.name in seen:
                fault = "the name occurs twice"
            if fault is None and above + len(key) > LONGEST_PATH:
                fault = "the path is too long for git"
            if fault is None and key < before:
                fault = "the entries are not sorted"
            if fault is not None:
                return entry.name, fault
            seen.add(entry.name)
            before = key
    except ValueError:
        return "", "the tree object is damaged"
    return None


def read_entries(raw: bytes, *, oid_size: int) -> Iterator[TreeEntry]:
    """Yield the entries of a raw tree; raise ValueError if it is truncated."""
    at = 0
    while at < len(raw):
        blank = raw.index(b" ", at)
        end = raw.index(b"\0", blank)
        oid = raw[end + 1 : end + 1 + oid_size]
        if len(oid) < oid_size:
            raise ValueError("cut short")
        name = raw[blank + 1 : end].decode("utf-8", "surrogateescape")
        yield TreeEntry(raw[at:blank], name, Oid(oid.hex()))
        at = end + 1 + oid_size


def _is_dotgit(name: str, protection: Protection) -> bool:
    if name[0] not in ".gG" and name.isascii() and "\\" not in name:
        return False
    if name.lower() == ".git":
        return True
    if protection.hfs and _as_hfs(name) == ".git":
        return True
    return protection.ntfs and any(
        _ends_on_ntfs(part, len(stem))
        for part in name.lower().split("\\")
        for stem in (".git", "git~1")
        if part.startswith(stem)
    )


def _is_dotgitmodules(name: str, protection: Protection) -> bool:
    low = name.lower()
    if low == ".gitmodules" or (protection.hfs and _as_hfs(name) == ".gitmodules"):
        return True
    return protection.ntfs and any(map(_is_ntfs_dotgitmodules, low.split("\\")))


def _is_ntfs_dotgitmodules(low: str) -> bool:
    if low.startswith(".gitmodules"):
        return _ends_on_ntfs(low, len(".gitmodules"))
    stem, tilde, number = low[:SHORT_LENGTH].partition("~")
    if not tilde or not number.isdecimal() or number[0] == "0":
        return False
    is_short = stem == "gitmod" and number in "1234"
    is_hashed = SHORT.startswith(stem) and len(stem) + 1 + len(number) == SHORT_LENGTH
    return (is_short or is_hashed) and _ends_on_ntfs(low, SHORT_LENGTH)


def _ends_on_ntfs(name: str, length: int) -> bool:
    """Return whether NTFS ignores the rest of a name: dots and blanks, then the end or a stream."""
    rest = name[length:].lstrip(". ")
    return not rest or rest[0] == ":"


def _as_hfs(name: str) -> str:
    """Return a name as HFS+ compares it; a byte that is not UTF-8 ends it, as in git."""
    kept = name.translate(HFS_IGNORED)
    for place, letter in enumerate(kept):
        if "\udc80" <= letter <= "\udcff":
            return kept[:place].lower()
    return kept.lower()
