"""The facts that every command asks git for first."""

from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import Invalid, Refused, Unavailable
from gitworker.paths import require_repository
from gitworker.proc import Completed
from gitworker.repo.plumbing.git import Git, failure_of
from gitworker.repo.plumbing.opening import TargetAnswer, ask, read_settings

NEARLY = ("sub/.gitworker.toml", "my .gitworker.toml", "1 100644 .gitworker.toml")
TEXT = "[verify]\ncommands = ['make']\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with settings on main."""
    repo = Repo.make(tmp_path / "repo")
    repo.commit("Settings", {".gitworker.toml": TEXT})
    return repo


def target(repo: Repo, *names: str) -> TargetAnswer:
    """Return the target among branches of these names."""
    opening = ask(require_repository(str(repo.root), {}), {})
    try:
        return opening.target(names)
    finally:
        opening.abandon()


@pytest.mark.parametrize("name", ["main", "unforeseen"])
@pytest.mark.parametrize("revision", ["HEAD:.gitworker.toml", "HEAD^{tree}"])
def test_settings_that_git_cannot_read(repo: Repo, name: str, revision: str) -> None:
    """Settings that git cannot read are an error, not absent; so is a tree that may have some."""
    repo.git("branch", "-M", name)
    assert target(repo, "absent", name).settings == TEXT
    oid = repo.git("rev-parse", revision)
    (repo.root / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    with pytest.raises(Unavailable, match="cannot be read") as caught:
        target(repo, "absent", name)
    assert caught.value.code == "settings_unreadable"


def test_no_settings(repo: Repo) -> None:
    """A commit without the file has none, whatever other files have in their names."""
    repo.git("rm", "-q", ".gitworker.toml")
    repo.commit("Elsewhere", dict.fromkeys(NEARLY, TEXT))
    found = target(repo, "main")
    assert (found.commit, found.settings) == (repo.head(), None)


@pytest.mark.parametrize("kind", ["symbolic link", "directory", "submodule"])
def test_settings_that_are_not_a_file(repo: Repo, kind: str) -> None:
    """Settings that are not a file are refused, whatever a link or a tree holds as text."""
    repo.git("rm", "-q", ".gitworker.toml")
    if kind == "symbolic link":
        (repo.root / ".gitworker.toml").symlink_to("#")  # valid TOML, and empty
        repo.git("add", ".gitworker.toml")
    elif kind == "directory":
        repo.write({".gitworker.toml/a": TEXT}).git("add", ".gitworker.toml")
    else:
        entry = f"160000,{'1' * 40},.gitworker.toml"
        repo.git("update-index", "--add", "--cacheinfo", entry)
    repo.git("commit", "-q", "-m", kind)
    with pytest.raises(Refused, match=kind) as caught:
        target(repo, "main")
    assert caught.value.code == "settings_not_a_file"
    with pytest.raises(Invalid, match=kind):
        read_settings(Git(str(repo.root)), repo.head())


def test_an_empty_tree(repo: Repo) -> None:
    """A commit without any file has no settings."""
    repo.git("rm", "-q", ".gitworker.toml")
    repo.git("commit", "-q", "--allow-empty", "-m", "Nothing")
    assert target(repo, "main").settings is None


def test_a_damaged_worktree_that_git_does_not_name(tmp_path: Path) -> None:
    """The cause names the worktree's admin directory, although git 2.55 says `(null)`."""
    admin_dir = tmp_path / "repo" / ".git" / "worktrees" / "w"
    (tmp_path / ".git").write_text(f"gitdir: {admin_dir}\n")
    complaint = b"fatal: not a git repository: (null)\n"
    done = Completed(("git", "-C", str(tmp_path), "config"), 128, b"", complaint)
    failed = failure_of(("config",), done)
    assert str(admin_dir) in failed.message
    assert failed.hint == f"git -C {tmp_path}/repo worker fsck --repair"


def test_several_values_of_a_list(repo: Repo) -> None:
    """All values of a list count that its last scope gives; of another key the last one does."""
    for command in ("make a", "make b"):
        repo.git("config", "--add", "worker.verify.commands", command)
        repo.git("config", "--add", "worker.merge.remote", command)
    opening = ask(require_repository(str(repo.root), {}), {})
    found = opening.settings()
    opening.abandon()
    assert found["worker.verify.commands"] == "make a\nmake b"
    assert found["worker.merge.remote"] == "make b"
