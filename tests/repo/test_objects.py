"""Objects that we make ourselves are equal to git's: the same ids, readable in the same store."""

from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.model.ids import Oid
from gitworker.repo.plumbing.commit_bytes import format_commit
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.objects import (
    alternate,
    commit_id,
    write_commits,
    write_private_commit,
)

FOLDERS = ["plain", "co:lon", 'quo"te', "back\\slash", "sp ace", "né\nw"]


def made(repo: Repo) -> bytes:
    """Return a commit that the repository does not have."""
    who = "Ådä <a@e.org> 1600000000 -0330".encode()
    tree = Oid(repo.git("write-tree"))
    return format_commit(tree=tree, parent=None, author=who, committer=who, message=b"m\n")


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_our_ids_are_gits(tmp_path: Path, object_format: str) -> None:
    """Whatever the object format, git writes a commit under the id that we found."""
    repo = Repo.make(tmp_path / "repo", f"--object-format={object_format}")
    commit = made(repo)
    length = 40 if object_format == "sha1" else 64
    written = write_commits(Git(str(repo.root)), [commit], directory=str(tmp_path))
    assert written == [commit_id(commit, length=length)]


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_private_commit_is_read_from_its_directory_only(tmp_path: Path, folder: str) -> None:
    """git reads it through the environment, whatever the directory's name, and not without."""
    repo = Repo.make(tmp_path / "repo")
    commit = made(repo)
    place = str(tmp_path / folder / "objects")
    oid = write_private_commit(commit, length=40, directory=place)
    git = Git(str(repo.root))
    assert git.run("cat-file", "commit", oid, env=alternate(place)).out == commit
    assert git.run("fsck", oid, env=alternate(place)).status == 0
    assert git.find_oid(oid) is None
