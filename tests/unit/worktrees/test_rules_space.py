"""Disk space: the size of files, cheap estimates, and refusals."""

from gitworker.worktrees.space.rules_space import (
    BLOCK,
    PER_FILE,
    is_plenty,
    needed_bytes,
    space_refusal,
)


def test_needed() -> None:
    """A file takes whole blocks, and space for its entries."""
    assert needed_bytes([0, 1, BLOCK, BLOCK + 1]) == 4 * BLOCK + 4 * PER_FILE


def test_plenty() -> None:
    """Space is plentiful if it is many times the known need."""
    assert is_plenty(501, spare=100, known=100)
    assert not is_plenty(500, spare=100, known=100)


def test_refusal() -> None:
    """A change that would leave too little space is refused with both figures."""
    assert space_refusal("/here", needed=100, free=300, spare=200) is None
    refusal = space_refusal("/here", needed=2 << 20, free=3 << 30, spare=4 << 30)
    assert refusal is not None
    assert refusal.code == "disk_space"
    assert "needs about 2.0 MiB" in refusal.message
    assert "has 3.0 GiB free" in refusal.message
    assert "git worker gc" in (refusal.hint or "")
