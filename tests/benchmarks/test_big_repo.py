"""The generated repository is the same everywhere, so that figures from two machines compare."""

from pathlib import Path

from fixtures.big_repo import build_big_repo, path_of, text_of
from tests.conftest import git

TIP = "4c88c51bedee12bca19bc34d18918f3f472bbc1b"


def test_ids_are_pinned(tmp_path: Path) -> None:
    """The same arguments give the same commit id on every machine."""
    root = build_big_repo(tmp_path / "big", files=60, commits=4)
    assert git(root, "rev-parse", "main") == TIP


def test_checkout_is_clean(tmp_path: Path) -> None:
    """Every file is checked out and git sees no change."""
    root = build_big_repo(tmp_path / "big", files=60, commits=1)
    assert git(root, "status", "--porcelain") == ""
    assert len(git(root, "ls-files").splitlines()) == 60
    assert (root / path_of(59)).read_text() == text_of(59)
