"""Private directories are deleted, whichever process made them and however that process ended."""

import os
from pathlib import Path

import pytest

from gitworker.repo.plumbing.disk import (
    clone_file,
    copy_index,
    private_directory,
    remove_tree,
    write_atomically,
)


def test_a_private_directory_is_private_and_deleted(tmp_path: Path) -> None:
    """Two directories at once are different, and both are deleted afterwards."""
    parent = str(tmp_path / "deep" / "parent")
    with private_directory(parent, "p-") as one, private_directory(parent, "p-") as two:
        assert one != two
        assert os.path.isdir(one)
        assert os.path.isdir(two)
    assert os.listdir(parent) == []


def test_the_directory_of_a_killed_process_is_swept(tmp_path: Path) -> None:
    """A directory whose lock is free has no owner; others' names are left alone."""
    (tmp_path / "p-dead" / "inside").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    with private_directory(str(tmp_path), "p-"):
        assert not (tmp_path / "p-dead").exists()
    assert os.listdir(tmp_path) == ["other"]


def test_a_tree_with_read_only_directories_is_removed(tmp_path: Path) -> None:
    """Links are removed, not followed; an absent path is fine."""
    keep = tmp_path / "keep"
    keep.mkdir()
    (keep / "f").write_text("1")
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "sub" / "f").write_text("1")
    (tree / "link").symlink_to(keep)
    (tree / "sub").chmod(0o555)
    remove_tree(str(tree))
    remove_tree(str(tree))
    assert not tree.exists()
    assert (keep / "f").exists()


def test_a_copied_index_keeps_its_time(tmp_path: Path) -> None:
    """The time decides which files may have changed for git; an absent index gives no copy."""
    source, copy = tmp_path / "index", tmp_path / "copy"
    copy_index(str(source), str(copy))
    assert not copy.exists()
    source.write_bytes(b"DIRC")
    os.utime(source, ns=(5, 1_000_000_007))
    copy_index(str(source), str(copy))
    assert copy.stat().st_mtime_ns == 1_000_000_007


def test_an_atomic_write_leaves_no_temporary(tmp_path: Path) -> None:
    """The name holds the new bytes, and nothing else is there."""
    write_atomically(str(tmp_path / "f"), b"1")
    write_atomically(str(tmp_path / "f"), b"2")
    assert (tmp_path / "f").read_bytes() == b"2"
    assert os.listdir(tmp_path) == ["f"]


def test_clone_or_nothing(tmp_path: Path) -> None:
    """A clone has the content if the file system shares blocks; otherwise it leaves nothing."""
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("content")
    if clone_file(str(source), str(target)):
        assert target.read_text() == "content"
    else:
        assert not target.exists()
    target.write_text("mine")
    with pytest.raises(FileExistsError):
        clone_file(str(source), str(target))
    assert target.read_text() == "mine"
