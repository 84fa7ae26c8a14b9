"""Trees that git's index would refuse."""

import pytest

from gitworker.repo.plumbing.rules_tree import (
    LINK,
    LONGEST_PATH,
    Protection,
    is_safe_path,
    name_fault,
    tree_fault,
)

BLOB = b"\1" * 20
ANYWHERE = ("", ".", "..", ".git", ".GIT", "a/b")
SPELT = (
    ".git ", ".git.", ".git:x", ".git::$I", "git~1", "GIT~1", "git~1 .", "a\\.git", "a\\git~1\\b",
    ".g\u200cit", ".git\u200d", "\ufeff.git", ".git\udcff",
)  # fmt: skip
ALLOWED = ("..git", ".gitx", ".git. x", "git~2", "git~11", "a\\b", "..\\x", ".gitignore", "...")
LINKS = (
    ".gitmodules ", ".gitmodules:x", "gitmod~1", "gitmod~4", "gi7eba~1", "gi7eb~10",
    ".gitmod\u200cules", "a\\.gitmodules",
)  # fmt: skip
ALLOWED_LINKS = ("gitmod~5", "gi7eb~01", "gi7e~1", ".gitmodules x", "gitmodx")
OFF = Protection(hfs=False, ntfs=False)


def refused(names: tuple[str, ...], mode: bytes = b"", protection: Protection | None = None) -> int:
    """Return how many of the names are refused."""
    given = () if protection is None else (protection,)
    return sum(name_fault(name, mode, *given) is not None for name in names)


def test_names_that_stand_for_git() -> None:
    """A name is refused if it is `.git` on a file system that counts."""
    assert refused(ANYWHERE) == refused(ANYWHERE, protection=OFF) == len(ANYWHERE)
    assert (refused(SPELT), refused(SPELT, protection=OFF)) == (len(SPELT), 0)
    assert refused(ALLOWED) == 0


def test_links_in_the_place_of_gitmodules() -> None:
    """`.gitmodules` may be a file, but no symbolic link, however it is spelt."""
    assert refused((".gitmodules", *LINKS)) == refused(ALLOWED_LINKS, LINK) == 0
    assert refused((".gitmodules", *LINKS), LINK) == 1 + len(LINKS)
    assert refused((".GITMODULES", *LINKS), LINK, OFF) == 1


def test_safe_paths() -> None:
    """A path is safe if git could have checked out each of its parts."""
    assert is_safe_path("src/app.py")
    assert not any(map(is_safe_path, ("../x", "a/.git/config", "/etc/x", "a//b", "")))


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        (b"100644 x\0" + BLOB, None),
        (b"60000 x\0" + BLOB, ("x", "the mode is 60000")),
        (b"100644 x\0" + bytes(20), ("x", "the entry names no object")),
        (b"100644 x\0" + BLOB + b"100644 x\0" + BLOB, ("x", "the name occurs twice")),
        (b"100644 y\0" + BLOB + b"100644 x\0" + BLOB, ("x", "the entries are not sorted")),
        (b"40000 x\0" + BLOB + b"100644 x.c\0" + BLOB, ("x.c", "the entries are not sorted")),
        (b"100644 .git\0" + BLOB, (".git", "the name stands for `.git`")),
        (b"100644 x\0" + BLOB[1:], ("", "the tree object is damaged")),
        (b"100644 x", ("", "the tree object is damaged")),
    ],
)
def test_entries(raw: bytes, fault: tuple[str, str] | None) -> None:
    """The first entry that git refuses is named with the reason."""
    assert tree_fault(raw, oid_size=20) == fault


def test_a_path_that_is_too_long() -> None:
    """A path counts with the directories above it."""
    raw = b"100644 file\0" + BLOB
    assert tree_fault(raw, oid_size=20, above=LONGEST_PATH - 4) is None
    assert tree_fault(raw, oid_size=20, above=LONGEST_PATH - 3) == (
        "file", "the path is too long for git",
    )  # fmt: skip
