"""Fixtures for the tests of our hooks."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import git
from tests.repo.hooks.support import (
    NAMES,
    Build,
    HookedRepo,
    add_user_hook,
    commit,
    make_hooked_repo,
)

FIXED = "2026-01-02T03:04:05Z"

DIALECTS = {
    "sh": ("sh",),
    "dash": ("dash",),
    "bash": ("bash", "--posix"),
    "busybox": ("busybox", "sh"),
    "mksh": ("mksh",),
}


@pytest.fixture
def hooked(repository: Path, tmp_path: Path) -> HookedRepo:
    """A worktree with our hooks installed, whose drain removes the ring file at once."""
    made = make_hooked_repo(tmp_path, repository)
    made.install()
    return made


@pytest.fixture(params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Return the command of a POSIX shell; skip if this machine lacks it."""
    command = DIALECTS[request.param]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    return command


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """Return a builder of equal repositories with a worktree each, and the user's hook log."""
    monkeypatch.setenv("GIT_AUTHOR_DATE", FIXED)
    monkeypatch.setenv("GIT_COMMITTER_DATE", FIXED)

    def make(
        name: str, hooks: Path | str = ".git/hooks", **failing: int
    ) -> tuple[HookedRepo, Path]:
        base = tmp_path / name
        root = base / "re po's"
        root.mkdir(parents=True)
        git(root, "init", "-q")
        commit(root, "README")
        git(base, "init", "-q", "--bare", "remote.git")
        hooked = make_hooked_repo(base, root)
        log = base / "log"
        for hook in NAMES:
            status = failing.get(hook.replace("-", "_"), 0)
            add_user_hook(root / hooks, hook, log, status=status)
        return hooked, log

    return make
