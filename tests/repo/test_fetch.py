"""Fetching one branch: concurrent fetches, and fetches that take too long."""

import os
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import NotFound
from gitworker.repo.plumbing.git import Git
from gitworker.repo.remote.fetch import fetch_branch
from gitworker.repo.remote.rules_transfer import TransferFailed


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A clone without a commit of its own; its remote `up` has one on main."""
    Repo.make(tmp_path / "up").commit("Start", {"f": "1\n"})
    repo = Repo.make(tmp_path / "repo")
    repo.git("remote", "add", "up", str(tmp_path / "up"))
    return repo


def served_by(repo: Repo, script: str) -> None:
    """Put a script in front of the program that the remote runs for a fetch."""
    path = repo.root.parent / "upload-pack"
    path.write_text(f'#!/bin/sh\n{script}\nexec git-upload-pack "$@"\n')
    path.chmod(0o755)
    repo.git("config", "remote.up.uploadpack", str(path))


def fetch(repo: Repo, branch: str = "main", **options: float) -> str:
    """Fetch a branch and return its commit."""
    return fetch_branch(Git(str(repo.root)), remote="up", branch=branch, **options)


def lock(repo: Repo) -> Path:
    """Leave git's lock of the tracking ref behind."""
    path = repo.root / ".git/refs/remotes/up/main.lock"
    path.parent.mkdir(parents=True)
    path.write_text("")
    return path


def test_a_concurrent_fetch(repo: Repo) -> None:
    """A lock that is released a moment later is waited for."""
    once = repo.root.parent / "once"
    served_by(repo, f"[ -e {once} ] && rm -f {lock(repo)}; touch {once}")
    assert fetch(repo) == Repo(repo.root.parent / "up").head()


def test_a_lock_that_stays(repo: Repo) -> None:
    """A lock that a killed git left is reported by its path."""
    path = lock(repo)
    with pytest.raises(TransferFailed) as caught:
        fetch(repo)
    assert str(path) in caught.value.detail


def test_time_limit(repo: Repo) -> None:
    """A fetch from a remote that sends nothing ends after a time limit."""
    fifo = repo.root.parent / "fifo"
    os.mkfifo(fifo)
    served_by(repo, f"read x <{fifo}")
    with pytest.raises(TransferFailed) as caught:
        fetch(repo, limit_s=0.3)
    assert caught.value.code == "remote_timeout"
    os.close(os.open(fifo, os.O_RDWR | os.O_NONBLOCK))


def test_no_limit(repo: Repo) -> None:
    """A limit of zero means no limit."""
    assert fetch(repo, limit_s=0) == repo.head("up/main")


@pytest.mark.parametrize("name", ["-d", "none"])
def test_no_such_branch(repo: Repo, name: str) -> None:
    """A branch that is not there is not found, and no name becomes an option."""
    with pytest.raises(NotFound):
        fetch(repo, name)


def test_ssh_is_not_asked(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """If no user can answer, ssh is started without prompts; the user's own command stays."""
    said = repo.root.parent / "said"
    ssh = repo.root.parent / "ssh"
    ssh.write_text(f'#!/bin/sh\necho "$@" >{said}\nexit 1\n')
    ssh.chmod(0o755)
    repo.git("remote", "set-url", "up", "ssh://unknown@localhost/x")
    monkeypatch.setenv("PATH", f"{ssh.parent}:{os.environ['PATH']}")
    with pytest.raises(TransferFailed):
        fetch(repo)
    assert "BatchMode=yes" in said.read_text()
    repo.git("config", "core.sshCommand", f"{ssh} -x")
    with pytest.raises(TransferFailed):
        fetch(repo)
    assert said.read_text().startswith("-x ")
    monkeypatch.setenv("GIT_SSH_COMMAND", f"{ssh} -y")
    with pytest.raises(TransferFailed):
        fetch(repo)
    assert said.read_text().startswith("-y ")
