"""Reading refs from their files: the same answer as git's, or none at all."""

from pathlib import Path

from gitworker.model.ids import Ref
from gitworker.paths import require_repository
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.refs import read_loose_refs, read_refs
from tests.conftest import git

MAIN = Ref("refs/heads/main")
TOPIC = Ref("refs/heads/auth/login")
MISSING = Ref("refs/heads/gone")


def test_loose_and_packed_refs_read_as_git_reads_them(repository: Path) -> None:
    """A ref that is loose, packed, or both (the loose one wins) has the value that git reports."""
    git(repository, "branch", "auth/login")
    git(repository, "pack-refs", "--all")
    git(repository, "commit", "-q", "--allow-empty", "-m", "Go on")
    common_dir = require_repository(str(repository)).common_dir
    wanted = [MAIN, TOPIC, MISSING]
    assert read_loose_refs(common_dir, wanted) == read_refs(Git(str(repository)), wanted)


def test_a_symbolic_ref_is_left_to_git(repository: Path) -> None:
    """A branch that is a symbolic ref gives no answer, so that git is asked."""
    git(repository, "symbolic-ref", "refs/heads/auth/login", "refs/heads/main")
    common_dir = require_repository(str(repository)).common_dir
    assert read_loose_refs(common_dir, [TOPIC]) is None


def test_a_large_packed_file_is_left_to_git(repository: Path) -> None:
    """A packed-refs file that git searches faster gives no answer for refs that are not loose."""
    common_dir = require_repository(str(repository)).common_dir
    Path(common_dir, "packed-refs").write_text("# pack-refs with: peeled\n" + "#" * 2_000_000)
    assert read_loose_refs(common_dir, [MISSING]) is None
    assert read_loose_refs(common_dir, [MAIN]) is not None
