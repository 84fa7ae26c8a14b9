"""Trees that git's index would refuse."""

from gitworker.repo.plumbing.rules_tree import LONGEST_PATH, tree_fault

BLOB = b"\1" * 20


def test_a_path_that_is_too_long() -> None:
    """A path counts with the directories above it."""
    raw = b"100644 file\0" + BLOB
    assert tree_fault(raw, oid_size=20, above=LONGEST_PATH - 4) is None
    assert tree_fault(raw, oid_size=20, above=LONGEST_PATH - 3) == (
        "file", "the path is too long for git",
    )  # fmt: skip
