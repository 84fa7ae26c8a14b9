"""Commits that git refuses."""

import pytest

from fixtures.hostile_commits import HARMLESS, SHAPES, raw_commit
from gitworker.repo.history.rules_commit import commit_fault

OID = b"1" * 40
FAULTS = {
    "no email": "its author has no email", "no name": "its author has no email",
    "email closed in the name": "its author has no email",
    "email left open": "its author has a malformed email",
    "date of letters": "its author has a malformed date",
    "date of 63 bits": "its author has a date that overflows",
    "long zone": "its author has a malformed time zone",
    "committer without an email": "its committer has no email",
    "no author": "it has no author", "two authors": "it has two authors",
    "no committer": "it has no committer", "two trees": "it has two trees",
    "parent after the author": "it has no committer after its parents",
    "no tree": "its header does not start with a tree",
    "tree cut short": "its tree is not an object id",
    "parent cut short": "its parent is not an object id",
    "NUL in the header": "its header has a NUL byte",
    "no end of the header": "its header has no end",
    "NUL in the message": "its message has a NUL byte",
}  # fmt: skip


def fault(shape: str) -> str | None:
    """Return the fault of a commit of this shape."""
    return commit_fault(raw_commit(shape, OID, OID), oid_length=40)


@pytest.mark.parametrize("shape", FAULTS)
def test_the_fault_is_named(shape: str) -> None:
    """A malformed commit is refused with its fault."""
    assert fault(shape) == FAULTS[shape]


def test_all_shapes() -> None:
    """Each malformed commit is refused, and no odd one that git accepts."""
    assert [shape for shape in SHAPES if fault(shape) is None] == []
    assert [shape for shape in HARMLESS if fault(shape) is not None] == []
