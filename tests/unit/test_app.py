"""The composition root: what a command finds prepared, wherever it stands."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gitworker.app import (
    EXCLUDE_BEGIN,
    add_excludes,
    open_session,
    remove_excludes,
    require_target_tip,
)
from gitworker.errors import Invalid, Refused, Unavailable
from gitworker.paths import write_seat
from gitworker.session import Session
from tests.conftest import git


@pytest.fixture
def at(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Open a session as a command started in a directory does."""

    def open_at(where: Path = repository, **options: Any) -> Session:
        monkeypatch.chdir(where)
        return open_session(**options)

    return open_at


def test_the_first_command_prepares_the_state(repository: Path, at: Any) -> None:
    """State directory, link and excludes are made once, private, and git sees none of it."""
    session = at()
    state = repository / ".git" / "worker-state"
    assert session.paths.root == str(state)
    assert state.stat().st_mode & 0o777 == 0o700
    assert os.readlink(repository / ".worker-state") == ".git/worker-state"
    assert (repository / ".worker-state" / "bus.db").exists()
    assert git(repository, "status", "--porcelain") == ""
    assert at().paths.root == session.paths.root
    exclude = (repository / ".git" / "info" / "exclude").read_text()
    assert exclude.count(EXCLUDE_BEGIN) == 1


def test_sixteen_first_commands_may_race(repository: Path) -> None:
    """Any number of first commands at once prepare one state, and all of them work."""
    program = (
        "import sys; sys.stdin.readline()\nfrom gitworker.app import open_session\nopen_session()"
    )
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", program], cwd=repository, stdin=subprocess.PIPE, text=True
        )
        for _ in range(16)
    ]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
        racer.stdin.flush()
    for racer in racers:
        racer.communicate()
    assert [racer.returncode for racer in racers] == [0] * 16
    exclude = (repository / ".git" / "info" / "exclude").read_text()
    assert exclude.count(EXCLUDE_BEGIN) == 1
    assert [p.name for p in (repository / ".git" / "info").iterdir()] == ["exclude"]


def test_a_command_that_only_reads_makes_nothing(repository: Path, at: Any) -> None:
    """Where nothing is set up, `create=False` says which command does it."""
    with pytest.raises(Unavailable) as caught:
        at(create=False)
    assert (caught.value.code, caught.value.hint) == ("not_initialised", "git worker init")
    assert not (repository / ".git" / "worker-state").exists()


def test_a_lost_link_is_made_again(repository: Path, at: Any) -> None:
    """The link comes back with any command; a file of the user's in its place stays."""
    at()
    link = repository / ".worker-state"
    link.unlink()
    at()
    assert link.is_symlink()
    link.unlink()
    link.write_text("the user's")
    at()
    assert link.read_text() == "the user's"


def test_excludes_keep_what_was_there(repository: Path) -> None:
    """Our lines go in once, after the user's, and out again without a trace."""
    path = repository / ".git" / "info" / "exclude"
    for before in ("", "*.tmp\n", "*.tmp", "\udcff\n"):
        path.write_text(before, errors="surrogateescape")
        add_excludes(str(repository / ".git"))
        add_excludes(str(repository / ".git"))
        assert path.read_text(errors="surrogateescape").startswith(before)
        remove_excludes(str(repository / ".git"))
        wanted = before if before.endswith("\n") or not before else before + "\n"
        assert path.read_text(errors="surrogateescape") == wanted
    remove_excludes(str(repository / ".git"))
    path.unlink()
    path.parent.rmdir()
    remove_excludes(str(repository / ".git"))
    add_excludes(str(repository / ".git"))
    assert path.exists()


def test_who_asks(repository: Path, at: Any, tmp_path: Path) -> None:
    """Identity goes by option, then GITWORKER_ID, then the worktree's seat, then it is hq."""
    linked = tmp_path / "linked"
    git(repository, "worktree", "add", "-q", str(linked))
    write_seat(git(linked, "rev-parse", "--absolute-git-dir"), "auth", "t")
    env = {**os.environ, "GITWORKER_ID": "docs"}
    assert at().actor == "hq"
    assert at(linked).actor == "auth"
    assert at(linked, env=env).actor == "docs"
    assert at(linked, env=env, identity="orchestrator").actor == "orchestrator"
    with pytest.raises(Invalid):
        at(identity="No Such Name")


def test_the_target(repository: Path, at: Any) -> None:
    """The target is what is configured, else main, else git's default branch, else master."""
    assert at().target == "refs/heads/main"
    git(repository, "branch", "-m", "main", "trunk")
    git(repository, "branch", "master")
    assert at().target == "refs/heads/master"
    git(repository, "config", "init.defaultBranch", "trunk")
    assert at().target == "refs/heads/trunk"
    git(repository, "config", "worker.target", "unborn")
    assert at().target == "refs/heads/unborn"
    assert at(env={**os.environ, "GITWORKER_TARGET": "trunk"}).target == "refs/heads/trunk"


def test_a_target_without_a_commit(repository: Path, at: Any) -> None:
    """Where the target has no commit yet, what needs one says what to do."""
    assert require_target_tip(at()) == git(repository, "rev-parse", "main")
    git(repository, "config", "worker.target", "unborn")
    with pytest.raises(Refused) as caught:
        require_target_tip(at())
    assert caught.value.code == "no_target"


def test_settings_are_the_targets(repository: Path, at: Any) -> None:
    """The team's file counts as committed on the target, not as it lies in a worktree."""
    file = repository / ".gitworker.toml"
    file.write_text("[claims]\nlease_s = 7\n")
    assert at().settings.claims_lease_s == 60
    git(repository, "add", file.name)
    git(repository, "commit", "-qm", "Settings")
    file.write_text("[claims]\nlease_s = 8\n")
    git(repository, "checkout", "-q", "-b", "other")
    git(repository, "commit", "-qam", "Mine")
    assert at().settings.claims_lease_s == 7
    git(repository, "config", "worker.claims.lease-s", "9")
    assert at().settings.claims_lease_s == 9


def test_a_key_without_a_value_is_true(repository: Path, at: Any) -> None:
    """In git's configuration a key that stands alone is true, one with an empty value false."""
    config = repository / ".git" / "config"
    text = config.read_text()
    config.write_text(text + '[worker "review"]\n\tself\n')
    assert at().settings.review_self is True
    config.write_text(text + '[worker "review"]\n\trequired =\n')
    assert at().settings.review_required is False


def test_the_main_worktree(repository: Path, at: Any, tmp_path: Path) -> None:
    """From a linked worktree, a bare repository or a submodule the main place is found."""
    linked, bare = tmp_path / "linked", tmp_path / "x.git"
    git(repository, "worktree", "add", "-q", str(linked))
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(bare))
    git(bare, "worktree", "add", "-q", str(tmp_path / "of-bare"))
    git(repository, "submodule", "--quiet", "add", str(bare), "sub")
    assert at(linked).main_top == str(repository)
    assert at(bare).main_top == str(bare)
    assert at(tmp_path / "of-bare").main_top == str(bare)
    assert at(repository / "sub").main_top == str(repository / "sub")
    git(repository / "sub", "worktree", "add", "-q", str(tmp_path / "of-sub"))
    assert at(tmp_path / "of-sub").main_top == str(repository / "sub")
    assert at(linked).worktree_root == f"{repository}/worktrees"


def test_a_state_directory_that_cannot_be_made(repository: Path, at: Any) -> None:
    """Where the state directory cannot be made the error names it."""
    (repository / ".git" / "worker-state").write_text("in the way")
    with pytest.raises(Unavailable) as caught:
        at()
    assert caught.value.code == "read_only"
    assert "worker-state" in caught.value.message
