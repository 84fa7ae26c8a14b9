"""After a change of the user's hooks or of their path, the very next commit runs the new ones."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gitworker.repo.hooks.shims import refresh_shims
from tests.conftest import git
from tests.repo.hooks.support import HookedRepo, add_user_hook, commit, make_hooked_repo

COMMIT_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")
Change = Callable[[HookedRepo, Path, Path], None]  # (hooked, directory of new hooks, log)


@pytest.fixture
def hooked(repository: Path, tmp_path: Path) -> HookedRepo:
    """A worktree with our hooks by path, whose background program is the real one."""
    made = make_hooked_repo(tmp_path, repository)
    made = made._replace(interpreter=Path(sys.executable))
    made.install_by_path()
    return made


def new_hooks(directory: Path, log: Path) -> None:
    """Write the hooks of a commit into a directory."""
    for name in COMMIT_HOOKS:
        add_user_hook(directory, name, log)


def names(log: Path) -> list[str]:
    """Return which hooks have run, in order."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [line.split("|")[0] for line in lines if "|" in line]


def set_path(*words: str) -> Change:
    """Return the change that sets core.hooksPath by `git config`."""

    def change(hooked: HookedRepo, directory: Path, log: Path) -> None:
        new_hooks(directory, log)
        git(hooked.root, "config", *words, "core.hooksPath", str(directory))

    return change


def keep_old_time(hooked: HookedRepo, directory: Path, log: Path) -> None:
    """Write core.hooksPath into a configuration file that keeps an older time."""
    config = hooked.root / ".git" / "config"
    set_path()(hooked, directory, log)
    os.utime(config, (1_000_000_000, 1_000_000_000))


def set_in_included(hooked: HookedRepo, directory: Path, log: Path) -> None:
    """Change core.hooksPath in a file that the configuration includes."""
    new_hooks(directory, log)
    included = hooked.root.parent / "included"
    git(hooked.root, "config", "--file", str(included), "core.hooksPath", str(directory))


def add_hooks(hooked: HookedRepo, directory: Path, log: Path) -> None:
    """Add hooks to the directory of the user's hooks."""
    new_hooks(hooked.root / ".git" / "hooks", log)


def add_with_old_time(hooked: HookedRepo, directory: Path, log: Path) -> None:
    """Put a directory with hooks in the place of the other one, all its times old."""
    hooks = hooked.root / ".git" / "hooks"
    new_hooks(directory, log)
    for path in (*directory.iterdir(), directory):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    hooks.rename(hooks.with_name("old"))
    directory.rename(hooks)


def make_executable(hooked: HookedRepo, directory: Path, log: Path) -> None:
    """Give hooks that were there the executable bit."""
    for path in (hooked.root / ".git" / "hooks").iterdir():
        path.chmod(0o755)


def link_elsewhere(hooked: HookedRepo, directory: Path, log: Path) -> None:
    """Make the hooks directory a link to one that is older."""
    new_hooks(directory, log)
    os.utime(directory, (1_000_000_000, 1_000_000_000))
    hooks = hooked.root / ".git" / "hooks"
    hooks.rename(hooks.with_name("old"))
    hooks.symlink_to(directory)


CHANGES: dict[str, Change] = {
    "local": set_path(),
    "global": set_path("--global"),
    "the main worktree's": set_path("--worktree"),
    "with an old time": keep_old_time,
    "included": set_in_included,
    "hooks added": add_hooks,
    "directory replaced by an older one": add_with_old_time,
    "made executable": make_executable,
    "directory linked": link_elsewhere,
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("verify", ["", "--no-verify"])
def test_the_next_commit_runs_the_new_hooks(
    hooked: HookedRepo, tmp_path: Path, name: str, verify: str
) -> None:
    """Each hook of a commit that git would run without us runs in the first commit."""
    log, directory = tmp_path / "log", tmp_path / "new hooks"
    if name == "made executable":
        new_hooks(hooked.root / ".git" / "hooks", log)
        for path in (hooked.root / ".git" / "hooks").iterdir():
            path.chmod(0o644)
    if name == "included":
        git(hooked.root, "config", "include.path", "../../included")
    refresh_shims(hooked.git, hooked.repository, interpreter=sys.executable, force=True)
    CHANGES[name](hooked, directory, log)
    (hooked.worktree / "f").write_text("1\n")
    git(hooked.worktree, "add", "f")
    git(hooked.worktree, "commit", "-qm", "f", *([verify] if verify else []))
    wanted = set(COMMIT_HOOKS) - ({"pre-commit", "commit-msg"} if verify else set())
    if verify and name != "made executable":
        wanted -= {"prepare-commit-msg"}  # no shim of ours ran before git looked for it
    assert set(names(log)) == wanted
    assert len(names(log)) == len(wanted)


@pytest.mark.parametrize("hook", ["pre-commit", "commit-msg", "prepare-commit-msg"])
@pytest.mark.parametrize("scope", ["--local", "--global"])
def test_a_new_policy_refuses_the_next_commit(
    hooked: HookedRepo, tmp_path: Path, hook: str, scope: str
) -> None:
    """A hook that refuses does so in the first commit after core.hooksPath names it."""
    add_user_hook(tmp_path / "policy", hook, tmp_path / "log", status=1)
    before = git(hooked.worktree, "rev-parse", "HEAD")
    git(hooked.root, "config", scope, "core.hooksPath", str(tmp_path / "policy"))
    with pytest.raises(AssertionError):
        commit(hooked.worktree)
    assert git(hooked.worktree, "rev-parse", "HEAD") == before


@pytest.mark.parametrize("hook", COMMIT_HOOKS)
def test_removed_hooks_run_no_more(hooked: HookedRepo, tmp_path: Path, hook: str) -> None:
    """A hook that was removed is not missed, and the old path's hooks run no more."""
    log = tmp_path / "log"
    path = add_user_hook(hooked.root / ".git" / "hooks", hook, log)
    commit(hooked.worktree, "a")
    assert names(log) == [hook]
    path.unlink()
    commit(hooked.worktree, "b")
    new_hooks(hooked.root / ".git" / "hooks", log)
    git(hooked.root, "config", "core.hooksPath", str(tmp_path / "none"))
    commit(hooked.worktree, "c")
    assert names(log) == [hook]


@pytest.mark.parametrize(
    ("hook", "words"),
    [
        ("pre-merge-commit", ("merge", "-q", "--no-ff", "--no-edit", "side")),
        ("pre-rebase", ("rebase", "-q", "--force-rebase", "HEAD~1")),
        ("pre-push", ("push", "-q", "../remote.git", "auth/x")),
        ("post-checkout", ("checkout", "-q", "-b", "other")),
        ("post-rewrite", ("commit", "-q", "--amend", "--no-verify", "-m", "again")),
    ],
)
@pytest.mark.parametrize("elsewhere", [False, True])
def test_hooks_beside_commits(
    hooked: HookedRepo, tmp_path: Path, hook: str, words: tuple[str, ...], elsewhere: bool
) -> None:
    """A new hook of another command runs the first time that git would run it."""
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    commit(hooked.worktree, "a")
    git(hooked.worktree, "branch", "side")
    git(hooked.worktree, "checkout", "-q", "side")
    commit(hooked.worktree, "b")
    git(hooked.worktree, "checkout", "-q", "auth/x")
    log, directory = tmp_path / "log", hooked.root / ".git" / "hooks"
    if elsewhere:
        directory = tmp_path / "elsewhere"
        git(hooked.root, "config", "core.hooksPath", str(directory))
    add_user_hook(directory, hook, log)
    git(hooked.worktree, *words)
    assert names(log) == [hook]


def test_a_relative_path_in_each_worktree(hooked: HookedRepo, tmp_path: Path) -> None:
    """A relative core.hooksPath that is set now runs this worktree's own hooks at once."""
    log = tmp_path / "log"
    new_hooks(hooked.worktree / ".policy", log)
    git(hooked.root, "config", "core.hooksPath", ".policy")
    commit(hooked.worktree)
    assert names(log) == list(COMMIT_HOOKS)


def test_unchanged_hooks_start_no_process(
    hooked: HookedRepo, tmp_path: Path, dialect: tuple[str, ...]
) -> None:
    """While nothing has changed a shim forks nothing, whatever the shell."""
    mark = tmp_path / "started"
    fake = tmp_path / "fake-python"
    fake.write_text(f"#!/bin/sh\necho started >>'{mark}'\n")
    fake.chmod(0o755)
    refresh_shims(hooked.git, hooked.repository, interpreter=str(fake), force=True)
    argv = [*dialect, str(hooked.hooks / "pre-commit")]
    subprocess.run(argv, cwd=hooked.worktree, check=True, timeout=60)
    assert not mark.exists()
    git(hooked.root, "config", "user.note", "changed")
    later_s = time.time() + 2  # busybox compares whole seconds
    os.utime(hooked.root / ".git" / "config", (later_s, later_s))
    subprocess.run(argv, cwd=hooked.worktree, check=True, timeout=60)
    assert mark.read_text() == "started\n"
