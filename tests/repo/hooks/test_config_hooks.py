"""Config hooks, for git 2.54 and later: an include in the worktree's settings, no hooksPath."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitworker.repo.hooks.hook_status import status
from gitworker.repo.hooks.install import install, uninstall
from gitworker.repo.hooks.shims import (
    CONFIG_HOOKS_SINCE,
    refresh_shims,
    shims_are_stale,
    write_shims,
)
from gitworker.repo.hooks.user_hooks import find_user_hooks
from gitworker.repo.plumbing.git import require_version
from tests.conftest import git
from tests.repo.hooks.support import (
    NAMES,
    Build,
    HookedRepo,
    add_user_hook,
    commit,
    make_hooked_repo,
    make_newer,
    snapshot,
    use_git_in_every_way,
    wait_until,
)

NEWER = Path(__file__).resolve().parents[3] / ".peers" / "git-newer" / "bin"


def install_config_hooks(hooked: HookedRepo) -> None:
    """Install as git 2.54 or later would have us, whatever git runs here."""
    user_hooks = find_user_hooks(hooked.git, hooked.repository)
    write_shims(
        hooked.repository, user_hooks, interpreter=str(hooked.interpreter), config_hooks=True
    )
    hooked.install()


@pytest.fixture
def newer_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a git with config hooks on PATH; skip if none is installed or unpacked."""
    if require_version(git(Path("/"), "version")) >= CONFIG_HOOKS_SINCE:
        return
    if not (NEWER / "git").exists():
        pytest.skip("no git of 2.54 or later is unpacked: fixtures/newer_git")
    monkeypatch.setenv("PATH", f"{NEWER}:{os.environ['PATH']}")


def test_uninstall_leaves_no_trace(repository: Path, tmp_path: Path) -> None:
    """The include is added and removed byte by byte, and core.hooksPath is never set."""
    hooked = make_hooked_repo(tmp_path, repository)

    def kept() -> dict[str, bytes | str]:
        everything = snapshot(repository / ".git")
        return {k: v for k, v in everything.items() if not k.startswith("worker-state")}

    before = kept()
    install_config_hooks(hooked)
    listed = git(hooked.worktree, "config", "--worktree", "--list")
    assert listed == f"include.path={hooked.hooks}/gitconfig"
    assert [w.is_installed for w in status(hooked.git, hooked.repository).worktrees] == [True]
    assert status(hooked.git, hooked.repository).by_config
    uninstall(hooked.git, hooked.repository)
    assert kept() == before


def test_the_way_once_taken_is_kept(repository: Path, tmp_path: Path) -> None:
    """A refresh under another git keeps how the worktrees were installed."""
    hooked = make_hooked_repo(tmp_path, repository)
    install_config_hooks(hooked)
    make_newer(repository / ".git" / "config", hooked.hooks / "stamp")
    refresh_shims(hooked.git, hooked.repository)
    assert status(hooked.git, hooked.repository).by_config
    assert not shims_are_stale(str(hooked.hooks))


WATCHED_REFRESH = """\
import os, sys
from gitworker.paths import require_repository
from gitworker.repo.plumbing.git import Git
from gitworker.repo.hooks.shims import refresh_shims

def look(event, arguments):
    if event == "os.remove" and os.path.basename(arguments[0]) == "commit-msg":
        with open(os.path.join(os.path.dirname(arguments[0]), "gitconfig")) as file:
            print("named" if "commit-msg" in file.read() else "unnamed")

sys.addaudithook(look)
refresh_shims(Git(sys.argv[1]), require_repository(sys.argv[1], {}), force=True)
"""


def test_a_hook_is_removed_only_after_its_setting(repository: Path, tmp_path: Path) -> None:
    """A shim is removed after the setting that names it: git fails if a config hook is absent."""
    hooked = make_hooked_repo(tmp_path, repository)
    hook = add_user_hook(repository / ".husky" / "_", "commit-msg", tmp_path / "log")
    git(repository, "config", "core.hooksPath", ".husky/_")
    install_config_hooks(hooked)
    hook.unlink()
    argv = [sys.executable, "-c", WATCHED_REFRESH, str(repository)]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    assert done.stdout == "unnamed\n"
    assert not (hooked.hooks / "commit-msg").exists()


@pytest.mark.parametrize("name", ["plain", 'a "b"', "it's", "a\\b;c#d e", "é\t"])
def test_git_reads_back_the_written_value(tmp_path: Path, name: str) -> None:
    """The commands in the included file name our shims, whatever the repository's path."""
    root = tmp_path / name / "repo"
    root.mkdir(parents=True)
    git(root, "init", "-q")
    commit(root, "README")
    hooked = make_hooked_repo(root.parent, root)
    install_config_hooks(hooked)
    command = git(hooked.worktree, "config", "hook.gitworker-post-commit.command")
    shown = subprocess.run(
        ["sh", "-c", f"printf '%s\\n' {command}"], check=True, capture_output=True, text=True
    )
    assert shown.stdout == f"{hooked.hooks}/post-commit\n"
    assert git(hooked.worktree, "config", "hook.gitworker-post-commit.event") == "post-commit"
    assert git(root, "config", "hook.gitworker-post-commit.event", check=False) == ""


@pytest.mark.usefixtures("newer_git")
def test_users_hooks_run_as_they_would_without_us(build: Build) -> None:
    """With config hooks too, every hook gets the same path, arguments, input and variables."""
    plain, plain_log = build("plain")
    use_git_in_every_way(plain.worktree)
    ours, our_log = build("ours")
    install_config_hooks(ours)
    our_log.unlink(missing_ok=True)
    use_git_in_every_way(ours.worktree)
    expected = plain_log.read_text()
    assert {line.split("|")[0] for line in expected.splitlines() if "|" in line} >= set(NAMES)
    assert our_log.read_text().replace("/ours/", "/plain/") == expected


@pytest.mark.usefixtures("newer_git")
def test_ours_fire_in_our_worktree_only(build: Build) -> None:
    """A commit in our worktree starts one drain, a commit in the main checkout starts none."""
    hooked, log = build("x")
    install_config_hooks(hooked)
    commit(hooked.root, "main")
    assert not (hooked.spool / "hooks").exists()
    log.unlink()
    commit(hooked.worktree)
    assert [line[1] for line in hooked.spooled()] == ["post-commit"]
    wait_until(lambda: bool(hooked.starts()), "the drain")
    assert log.read_text().count("\npost-commit|") == 1


@pytest.mark.usefixtures("newer_git")
@pytest.mark.parametrize("hook", ["pre-commit", "commit-msg"])
def test_a_failing_hook_still_stops_the_commit(build: Build, hook: str) -> None:
    """Git refuses if the user's hook refuses."""
    hooked, _ = build("x", **{hook.replace("-", "_"): 3})
    install_config_hooks(hooked)
    with pytest.raises(AssertionError):
        commit(hooked.worktree)


@pytest.mark.usefixtures("newer_git")
def test_an_ignored_relative_directory_is_the_main_checkouts(build: Build) -> None:
    """Hooks in a directory that the worktree lacks run from the main checkout, others once."""
    hooked, log = build("x", ".husky/_")
    git(hooked.root, "config", "core.hooksPath", ".husky/_")
    install_config_hooks(hooked)
    commit(hooked.worktree)
    assert f"commit-msg|{hooked.root}/.husky/_/commit-msg|{hooked.worktree}|" in log.read_text()
    add_user_hook(hooked.worktree / ".husky" / "_", "commit-msg", log)
    log.unlink()
    commit(hooked.worktree, "g")
    lines = [line for line in log.read_text().splitlines() if line.startswith("commit-msg|")]
    assert [line.split("|")[1] for line in lines] == [".husky/_/commit-msg"]


@pytest.mark.usefixtures("newer_git")
def test_this_git_is_asked_for_config_hooks(repository: Path, tmp_path: Path) -> None:
    """On git 2.54 and later a first install chooses config hooks by itself."""
    hooked = make_hooked_repo(tmp_path, repository)
    program = (
        "import sys; from gitworker.paths import require_repository as find\n"
        f"from gitworker.repo.plumbing.git import Git; from {install.__module__} import install\n"
        "install(Git(sys.argv[1]), find(sys.argv[1]), Git(sys.argv[2]))\n"
    )
    argv = [sys.executable, "-c", program, str(hooked.root), str(hooked.worktree)]
    subprocess.run(argv, check=True)
    assert status(hooked.git, hooked.repository).by_config


@pytest.mark.usefixtures("newer_git")
def test_a_commit_starts_the_same_jobs_as_by_path(repository: Path, tmp_path: Path) -> None:
    """Config hooks cost a commit no process more than core.hooksPath does, a shell among them."""
    started: dict[str, list[str]] = {}
    for way in ("path", "config"):
        base = tmp_path / way
        base.mkdir()
        git(base, "clone", "-q", str(repository), "repo")
        hooked = make_hooked_repo(base, base / "repo")
        hooked.install_by_path() if way == "path" else install_config_hooks(hooked)
        trace = base / "trace"
        (hooked.worktree / "f").write_text("1\n")
        git(hooked.worktree, "add", "f")
        commit_it = ["git", "-C", str(hooked.worktree), "commit", "-qm", "Traced"]
        subprocess.run(commit_it, check=True, env={**os.environ, "GIT_TRACE": str(trace)})
        lines = [line.split("start_command: ") for line in trace.read_text().splitlines()]
        started[way] = [line[1].replace(f"/{way}/", "/") for line in lines if len(line) > 1]
    assert [Path(line).name for line in started["path"]] == ["pre-commit", "post-commit"]
    assert started["config"] == started["path"]
