"""Files at paths that git named are touched only inside the checkout, behind no link."""

import os
from pathlib import Path

import pytest

from fixtures.hostile_trees import commit_tree, hostile_tree, raw_tree
from fixtures.repos import Repo, tree_bytes
from gitworker.model.ids import Oid, Ref
from gitworker.repo.checkout.fastforward import settle_checkout
from gitworker.repo.checkout.partial_checkout import PartialCheckout, find_moved, put_back
from gitworker.repo.checkout.recover_move import recover_move
from gitworker.repo.plumbing.git import Git
from gitworker.repo.status.path_changes import changes_between, find_collisions
from gitworker.repo.status.tracked_files import (
    drop_empty_parents,
    find_file,
    is_inside,
    read_file,
    unlink_file,
)

ESCAPES = ("../out/f", "/out/f", "link/f", "deep/link/f", ".git/HEAD", "a/../../out/f", "./a", "")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A directory with a file, and links to one outside that has a file and an empty directory."""
    made = tmp_path / "top"
    (made / "deep").mkdir(parents=True)
    (made / ".git").mkdir()
    (made / ".git" / "HEAD").write_text("ref\n")
    (tmp_path / "out" / "empty").mkdir(parents=True)
    (tmp_path / "out" / "f").write_text("precious\n")
    (made / "link").symlink_to("../out")
    (made / "deep" / "link").symlink_to(tmp_path / "out")
    (made / "deep" / "f").write_text("ours\n")
    return made


@pytest.mark.parametrize("path", ESCAPES)
def test_escapes(top: Path, path: str) -> None:
    """A path outside, behind a link or of git's own counts as absent: never read, never deleted."""
    before = tree_bytes(top.parent)
    assert find_file(str(top), path) is None
    assert read_file(str(top), path) is None
    assert not is_inside(str(top), path)
    with pytest.raises(OSError, match="git does not|Errno"):
        unlink_file(str(top), path)
    drop_empty_parents(str(top), f"{os.path.dirname(path)}/empty/x")
    assert (top.parent / "out" / "empty").is_dir()
    assert tree_bytes(top.parent) == before


def test_files_inside(top: Path) -> None:
    """A file inside is found, read and deleted, with the directories that are empty then."""
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "b" / "c").write_text("1")
    assert read_file(str(top), "a/b/c") == b"1"
    assert is_inside(str(top), "a/b/c")
    assert is_inside(str(top), "not/there")
    unlink_file(str(top), "a/b/c")
    assert not (top / "a").exists()
    unlink_file(str(top), "link")
    assert (top.parent / "out" / "f").exists()


def test_a_fifo_does_not_block(top: Path) -> None:
    """A FIFO at a tracked path has no content and does not block its reader."""
    os.mkfifo(top / "pipe")
    assert read_file(str(top), "pipe") is None
    assert find_file(str(top), "pipe") is not None


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository whose parent directory holds a file that is not its own."""
    made = Repo.make(tmp_path / "repo")
    made.commit("Start", {"f": "one\n", "d/x": "one\n"})
    (tmp_path / "x").write_text("hostile\n")
    return made


def hostile(repo: Repo, shape: str) -> Oid:
    """Commit a tree with the entry beside all that is there."""
    parent = repo.head()
    kept = [
        tuple(line.replace("\t", " ").split(" ")[i] for i in (0, 3, 2))
        for line in repo.git("ls-tree", parent).splitlines()
    ]
    inner = repo.git("ls-tree", hostile_tree(repo, shape)).replace("\t", " ").split(" ")
    entries = sorted([(inner[0].lstrip("0"), inner[3], inner[2]),
                      *((mode.lstrip("0"), name, oid) for mode, name, oid in kept)],
                     key=lambda one: one[1])  # fmt: skip
    return Oid(commit_tree(repo, raw_tree(repo, entries), parent=parent))


@pytest.mark.parametrize("shape", ["directory ..", "directory .", "directory .git", "..", ".git"])
def test_recovery_touches_nothing_outside(repo: Repo, shape: str, tmp_path: Path) -> None:
    """Putting back a checkout of a tree with `..` or `.git` deletes nothing there."""
    (repo.root / ".git" / "x").write_text("hostile\n")
    (repo.root / "x").write_text("hostile\n")
    old, new = Oid(repo.head()), hostile(repo, shape)
    before = tree_bytes(tmp_path)
    here, admin = Git(str(repo.root)), f"{repo.root}/.git"
    checkout = PartialCheckout(str(repo.root), f"{admin}/index", old, new)
    assert find_moved(here, checkout) == ()
    assert not any(put_back(here, checkout))
    settle_checkout(here, ref=Ref("refs/heads/main"), new=new, since_ms=0)
    for first, second in ((old, new), (new, old)):
        assert find_collisions(str(repo.root), changes_between(here, first, second)) == ()
    after = tree_bytes(tmp_path)
    own = {name: data for name, data in before.items() if "/.git/" not in f"/{name}"}
    assert {name: after.get(name) for name in own} == own
    assert (repo.root / ".git" / "x").read_text() == "hostile\n"


@pytest.mark.parametrize("shape", ["directory ..", "directory .git", ".."])
def test_a_branch_that_moved_to_such_a_tree(repo: Repo, shape: str, tmp_path: Path) -> None:
    """Finishing a branch's move to, or from, such a tree deletes nothing outside the worktree."""
    (repo.root / ".git" / "x").write_text("hostile\n")
    old, new = Oid(repo.head()), hostile(repo, shape)
    repo.git("update-ref", "refs/heads/main", new)
    recover_move(
        Git(str(repo.root)), ref=Ref("refs/heads/main"), old=old, new=new, worktree=str(repo.root)
    )
    assert (tmp_path / "x").read_text() == "hostile\n"
    assert (repo.root / ".git" / "x").read_text() == "hostile\n"


def test_a_directory_that_became_a_link(repo: Repo, tmp_path: Path) -> None:
    """If a directory is a link now, files of its old content are not searched behind it."""
    out = tmp_path / "home"
    out.mkdir()
    (out / "x").write_text("two\n")
    old = Oid(repo.head())
    new = Oid(repo.commit("Two", {"d/x": "two\n", "d/y": "new\n"}))
    (out / "y").write_text("new\n")
    repo.git("reset", "-q", "--hard", old)
    (repo.root / "d" / "x").unlink()
    (repo.root / "d").rmdir()
    (repo.root / "d").symlink_to(out)
    put_back(
        Git(str(repo.root)), PartialCheckout(str(repo.root), f"{repo.root}/.git/index", old, new)
    )
    assert ((out / "x").read_text(), (out / "y").read_text()) == ("two\n", "new\n")
