"""A FIFO in the place of a file that git reads: git waits for ever, we do not."""

import os
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.repo.plumbing.disk import find_fifo
from gitworker.repo.plumbing.git import Git, GitFailed
from tests.hints.following import note

PLACES = (".gitignore", "sub/.gitignore", "sub/deeper/.gitattributes", ".git/info/exclude")


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    """A repository with an untracked directory; silence counts after a moment."""
    monkeypatch.setattr("gitworker.proc.SILENCE_MS", 50)
    made = Repo.make(tmp_path / "repo")
    made.commit("Start", {"f": "1\n"})
    made.write({"sub/deeper/g": "1\n"})
    return made


def make_fifo(path: Path) -> Path:
    """Make a FIFO, in the place of a file if there is one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("place", PLACES)
def test_git_does_not_wait_for_ever(repo: Repo, place: str) -> None:
    """The call fails with the name of the FIFO and the command that helps."""
    fifo = make_fifo(repo.root / place)
    with pytest.raises(GitFailed) as caught:
        Git(str(repo.root)).run("add", "--all")
    assert (caught.value.hint, caught.value.status) == (f"rm {fifo}", 1)
    assert str(fifo) in caught.value.message
    assert not (repo.root / ".git/index.lock").exists()
    fifo.unlink()
    Git(str(repo.root)).run("add", "--all")
    note(caught.value.hint or "", caught.value.message)


@pytest.mark.parametrize("name", ["HEAD", "index", "gitdir"])
def test_in_the_directory_of_a_worktree(repo: Repo, tmp_path: Path, name: str) -> None:
    """A FIFO in git's own directory of a worktree is found, too."""
    repo.worktree(tmp_path / "tree", "-b", "topic")
    fifo = make_fifo(repo.root / ".git/worktrees/tree" / name)
    assert find_fifo(str(tmp_path / "tree")) == str(fifo)
    assert find_fifo(str(repo.root)) == str(fifo)


def test_other_fifos_are_the_users(repo: Repo) -> None:
    """A FIFO that git never opens is not named, and a slow git is not stopped."""
    make_fifo(repo.root / "sub/pipe")
    make_fifo(repo.root / ".git/objects/pipe")
    assert find_fifo(str(repo.root)) is None
    slow = ("-c", "alias.slow=!read x <sub/pipe; echo $x", "slow")
    git = Git(str(repo.root))
    running = git.start(*slow)
    (repo.root / "sub/pipe").write_text("done\n")
    assert git.finish(running, slow).text == "done\n"
