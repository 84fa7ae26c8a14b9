"""The user's own hooks run in our worktrees as they would without us."""

from pathlib import Path

import pytest

from tests.conftest import git
from tests.repo.hooks.support import NAMES, Build, add_user_hook, commit, use_git_in_every_way


def test_users_hooks_run_as_they_would_without_us(build: Build) -> None:
    """In fifteen uses of git, every hook gets the same path, arguments, input and variables."""
    plain, plain_log = build("plain")
    use_git_in_every_way(plain.worktree)
    ours, our_log = build("ours")
    ours.install()
    our_log.unlink(missing_ok=True)
    use_git_in_every_way(ours.worktree)
    expected = plain_log.read_text()
    assert {line.split("|")[0] for line in expected.splitlines() if "|" in line} >= set(NAMES)
    assert our_log.read_text().replace("/ours/", "/plain/") == expected


@pytest.mark.parametrize("hook", ["pre-commit", "commit-msg", "prepare-commit-msg"])
def test_a_failing_hook_still_stops_the_commit(build: Build, hook: str) -> None:
    """Git refuses if the user's hook refuses."""
    seat, _ = build("x", **{hook.replace("-", "_"): 3})
    before = git(seat.worktree, "rev-parse", "HEAD")
    seat.install()
    with pytest.raises(AssertionError):
        commit(seat.worktree)
    assert git(seat.worktree, "rev-parse", "HEAD") == before


def test_a_failing_pre_push_still_stops_the_push(build: Build) -> None:
    """A pre-push hook that refuses keeps the push from happening."""
    seat, log = build("x", pre_push=1)
    seat.install()
    with pytest.raises(AssertionError):
        git(seat.worktree, "push", "-q", "../remote.git", "auth/x")
    assert "refs/heads/auth/x" in log.read_text()
    assert git(seat.root.parent / "remote.git", "for-each-ref") == ""


def test_a_failing_post_checkout_is_reported(build: Build) -> None:
    """Git checkout fails if the user's post-checkout hook fails."""
    seat, _ = build("x", post_checkout=7)
    seat.install()
    with pytest.raises(AssertionError, match="git checkout"):
        git(seat.worktree, "checkout", "-q", "-b", "other")


def test_a_hook_that_is_not_executable_is_ignored(build: Build) -> None:
    """A hook file without the executable bit does not run, and runs once it has it."""
    seat, log = build("x")
    hook = seat.root / ".git" / "hooks" / "commit-msg"
    hook.chmod(0o644)
    seat.install()
    commit(seat.worktree, "a")
    assert "commit-msg|" not in log.read_text().replace("prepare-commit-msg|", "")
    hook.chmod(0o755)
    commit(seat.worktree, "b")
    assert "commit-msg|" in log.read_text().replace("prepare-commit-msg|", "")


def test_a_hook_without_a_first_line_is_a_shell_script(build: Build, tmp_path: Path) -> None:
    """A hook file that names no interpreter runs, as git itself would have it run."""
    seat, _ = build("x")
    (seat.root / ".git" / "hooks" / "commit-msg").write_text(f"cp \"$1\" '{tmp_path}/copy'\n")
    seat.install()
    commit(seat.worktree)
    assert (tmp_path / "copy").read_text() == "Change f\n"


def test_a_hook_that_was_removed_is_not_missed(build: Build) -> None:
    """A shim whose hook was deleted lets git continue."""
    seat, _ = build("x")
    seat.install()
    (seat.root / ".git" / "hooks" / "commit-msg").unlink()
    commit(seat.worktree)


def test_without_our_doorbell_the_users_hooks_run(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GITWORKER_HOOKS=off silences ours only."""
    seat, log = build("x")
    seat.install()
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    commit(seat.worktree)
    assert "post-commit|" in log.read_text()
    assert not (seat.spool / "hooks").exists()


@pytest.mark.parametrize("scope", ["--local", "--global"])
def test_an_absolute_hooks_path_is_followed(build: Build, tmp_path: Path, scope: str) -> None:
    """The user's core.hooksPath counts, whatever scope it is set in."""
    elsewhere = tmp_path / "my hooks"
    seat, log = build("x", elsewhere)
    git(seat.root, "config", scope, "core.hooksPath", str(elsewhere))
    seat.install()
    commit(seat.worktree)
    assert f"post-commit|{elsewhere}/post-commit|" in log.read_text()


def test_an_ignored_relative_directory_is_the_main_checkouts(build: Build) -> None:
    """A relative hooks path that the worktree lacks is taken from the main checkout."""
    seat, log = build("x", ".husky/_")
    git(seat.root, "config", "core.hooksPath", ".husky/_")
    seat.install()
    commit(seat.worktree)
    assert f"commit-msg|{seat.root}/.husky/_/commit-msg|{seat.worktree}|" in log.read_text()


def test_a_tracked_relative_directory_is_the_worktrees_own(build: Build, tmp_path: Path) -> None:
    """A relative hooks path is resolved in the worktree if it exists there, with its own hooks."""
    seat, log = build("x", ".hooks")
    git(seat.root, "config", "core.hooksPath", ".hooks")
    add_user_hook(seat.worktree / ".hooks", "post-index-change", tmp_path / "own")
    seat.install()
    commit(seat.worktree)
    assert (tmp_path / "own").read_text().startswith("post-index-change|.hooks/post-index-change|")
    assert not log.exists()


def test_main_checkout_keeps_its_hooks(build: Build) -> None:
    """In the main checkout the user's hooks run from their own directory, and ours do not run."""
    seat, log = build("x")
    seat.install()
    commit(seat.root, "z")
    assert "post-commit|.git/hooks/post-commit|" in log.read_text()
    assert not (seat.spool / "hooks").exists()
