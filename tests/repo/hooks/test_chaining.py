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
    hooked, _ = build("x", **{hook.replace("-", "_"): 3})
    before = git(hooked.worktree, "rev-parse", "HEAD")
    hooked.install()
    with pytest.raises(AssertionError):
        commit(hooked.worktree)
    assert git(hooked.worktree, "rev-parse", "HEAD") == before


def test_a_failing_pre_push_still_stops_the_push(build: Build) -> None:
    """A pre-push hook that refuses keeps the push from happening."""
    hooked, log = build("x", pre_push=1)
    hooked.install()
    with pytest.raises(AssertionError):
        git(hooked.worktree, "push", "-q", "../remote.git", "auth/x")
    assert "refs/heads/auth/x" in log.read_text()
    assert git(hooked.root.parent / "remote.git", "for-each-ref") == ""


def test_a_failing_post_checkout_is_reported(build: Build) -> None:
    """Git checkout fails if the user's post-checkout hook fails."""
    hooked, _ = build("x", post_checkout=7)
    hooked.install()
    with pytest.raises(AssertionError, match="git checkout"):
        git(hooked.worktree, "checkout", "-q", "-b", "other")


def test_a_hook_that_is_not_executable_is_ignored(build: Build) -> None:
    """A hook file without the executable bit does not run, and runs once it has it."""
    hooked, log = build("x")
    hook = hooked.root / ".git" / "hooks" / "commit-msg"
    hook.chmod(0o644)
    hooked.install()
    commit(hooked.worktree, "a")
    assert "commit-msg|" not in log.read_text().replace("prepare-commit-msg|", "")
    hook.chmod(0o755)
    commit(hooked.worktree, "b")
    assert "commit-msg|" in log.read_text().replace("prepare-commit-msg|", "")


def test_a_hook_without_a_first_line_is_a_shell_script(build: Build, tmp_path: Path) -> None:
    """A hook file that names no interpreter runs, as git itself would have it run."""
    hooked, _ = build("x")
    (hooked.root / ".git" / "hooks" / "commit-msg").write_text(f"cp \"$1\" '{tmp_path}/copy'\n")
    hooked.install()
    commit(hooked.worktree)
    assert (tmp_path / "copy").read_text() == "Change f\n"


def test_a_hook_that_was_removed_is_not_missed(build: Build) -> None:
    """A shim whose hook was deleted lets git continue."""
    hooked, _ = build("x")
    hooked.install()
    (hooked.root / ".git" / "hooks" / "commit-msg").unlink()
    commit(hooked.worktree)


def test_without_our_doorbell_the_users_hooks_run(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GITWORKER_HOOKS=off silences ours only."""
    hooked, log = build("x")
    hooked.install()
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    commit(hooked.worktree)
    assert "post-commit|" in log.read_text()
    assert not (hooked.spool / "hooks").exists()


@pytest.mark.parametrize("scope", ["--local", "--global"])
def test_an_absolute_hooks_path_is_followed(build: Build, tmp_path: Path, scope: str) -> None:
    """The user's core.hooksPath counts, whatever scope it is set in."""
    elsewhere = tmp_path / "my hooks"
    hooked, log = build("x", elsewhere)
    git(hooked.root, "config", scope, "core.hooksPath", str(elsewhere))
    hooked.install()
    commit(hooked.worktree)
    assert f"post-commit|{elsewhere}/post-commit|" in log.read_text()


def test_an_ignored_relative_directory_is_the_main_checkouts(build: Build) -> None:
    """A relative hooks path that the worktree lacks is taken from the main checkout."""
    hooked, log = build("x", ".husky/_")
    git(hooked.root, "config", "core.hooksPath", ".husky/_")
    hooked.install()
    commit(hooked.worktree)
    assert f"commit-msg|{hooked.root}/.husky/_/commit-msg|{hooked.worktree}|" in log.read_text()


def test_a_tracked_relative_directory_is_the_worktrees_own(build: Build, tmp_path: Path) -> None:
    """A relative hooks path is resolved in the worktree if it exists there, with its own hooks."""
    hooked, log = build("x", ".hooks")
    git(hooked.root, "config", "core.hooksPath", ".hooks")
    add_user_hook(hooked.worktree / ".hooks", "post-index-change", tmp_path / "own")
    hooked.install()
    commit(hooked.worktree)
    assert (tmp_path / "own").read_text().startswith("post-index-change|.hooks/post-index-change|")
    assert not log.exists()


def test_main_checkout_keeps_its_hooks(build: Build) -> None:
    """In the main checkout the user's hooks run from their own directory, and ours do not run."""
    hooked, log = build("x")
    hooked.install()
    commit(hooked.root, "z")
    assert "post-commit|.git/hooks/post-commit|" in log.read_text()
    assert not (hooked.spool / "hooks").exists()
