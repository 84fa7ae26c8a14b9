"""Helpers of the hook tests: a worktree with recorded hooks, and waiting for background jobs."""

import os
import select
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from gitworker.paths import Repository, require_repository, state_paths
from gitworker.repo.hooks.install import install
from gitworker.repo.hooks.layout import ALWAYS
from gitworker.repo.hooks.shims import refresh_shims, write_shims
from gitworker.repo.hooks.user_hooks import find_user_hooks
from gitworker.repo.plumbing.git import Git
from tests.conftest import git

DEADLINE_S = 60
# Hooks that a user has in these tests; all of them are called by `use_git_in_every_way`.
NAMES = (*ALWAYS, "prepare-commit-msg", "commit-msg", "pre-push", "pre-merge-commit",
         "pre-rebase", "applypatch-msg", "pre-applypatch", "reference-transaction")  # fmt: skip
# A stand-in for the interpreter: records pid, directory and arguments, removes the ring file.
RECORDER = """\
#!/bin/sh
printf '%s|%s|%s\\n' "$$" "$PWD" "$*" >>{log}
rm -f "$5/worker-state/spool/ring"
"""
SILENT = """\
#!/bin/sh
printf '%s|%s|%s\\n' "$$" "$PWD" "$*" >>{log}
"""
# A user's hook that records its call: name, own path, arguments, input, git's variables.
USER_HOOK = """\
#!/bin/sh
{{
    printf '%s|%s|%s' "{name}" "$0" "$PWD"
    for argument; do printf '|%s' "$argument"; done
    printf '\\n'
    cat
    env | grep ^GIT_ | sort
}} >>{log}
exit {status}
"""


class HookedRepo(NamedTuple):
    """A repository with a linked worktree, and the file in which the stand-in records its calls."""

    root: Path
    worktree: Path
    interpreter: Path
    calls: Path

    @property
    def repository(self) -> Repository:
        """Return the repository as seen from its main checkout or bare directory."""
        return require_repository(str(self.root), {})

    @property
    def git(self) -> Git:
        """Return git's door at the repository."""
        return Git(str(self.root))

    @property
    def hooks(self) -> Path:
        """Return the shim directory."""
        return Path(state_paths(self.repository).hooks)

    @property
    def spool(self) -> Path:
        """Return the spool directory."""
        return Path(state_paths(self.repository).spool)

    def install(self) -> None:
        """Install our hooks in the worktree."""
        install(
            self.git, self.repository, Git(str(self.worktree)), interpreter=str(self.interpreter)
        )

    def install_by_path(self) -> None:
        """Install our hooks as a git before 2.54 would have us, whatever git runs here."""
        found = find_user_hooks(self.git, self.repository)
        write_shims(self.repository, found, interpreter=str(self.interpreter))
        self.install()

    def refresh(self) -> None:
        """Write our shims again, in the way in which they are installed."""
        refresh_shims(self.git, self.repository, interpreter=str(self.interpreter), force=True)

    def starts(self) -> list[str]:
        """Return the arguments of each start of the stand-in interpreter, one line per start."""
        return self.calls.read_text().splitlines() if self.calls.exists() else []

    def spooled(self) -> list[list[str]]:
        """Return the fields of each line in the spool."""
        lines = (self.spool / "hooks").read_text().splitlines()
        return [line.split("\t") for line in lines]


Build = Callable[..., tuple[HookedRepo, Path]]  # (name, hooks=directory, **failing) → hooked, log


def make_hooked_repo(base: Path, root: Path, *, answers: bool = True) -> HookedRepo:
    """Give a repository a linked worktree `w` on branch auth/x, and a stand-in interpreter."""
    worktree = base / "w"
    git(root, "worktree", "add", "-q", "-b", "auth/x", str(worktree))
    calls = base / "calls"
    interpreter = base / "python"
    script = (RECORDER if answers else SILENT).format(log=quoted(calls))
    interpreter.write_text(script)
    interpreter.chmod(0o755)
    return HookedRepo(root, worktree, interpreter, calls)


def quoted(path: Path) -> str:
    """Return a path as one shell argument."""
    return "'" + str(path).replace("'", "'\\''") + "'"


def add_user_hook(directory: Path, name: str, log: Path, *, status: int = 0) -> Path:
    """Write an executable hook that records its calls, and return its path."""
    directory.mkdir(parents=True, exist_ok=True)
    hook = directory / name
    hook.write_text(USER_HOOK.format(name=name, log=quoted(log), status=status))
    hook.chmod(0o755)
    return hook


def commit(worktree: Path, name: str = "f", text: str = "1\n") -> None:
    """Commit one file."""
    (worktree / name).write_text(text)
    git(worktree, "add", "--", name)
    git(worktree, "commit", "-qm", f"Change {name}")


def use_git_in_every_way(worktree: Path) -> None:
    """Commit, amend, merge, rebase both ways, pick, apply mail, switch, check out, push."""
    commit(worktree, "a")
    git(worktree, "commit", "-q", "--amend", "-m", "Amended")
    git(worktree, "checkout", "-q", "-b", "side", "HEAD~1")
    commit(worktree, "b")
    git(worktree, "merge", "-q", "--no-edit", "auth/x")
    git(worktree, "checkout", "-q", "auth/x")
    git(worktree, "cherry-pick", "side^1")
    git(worktree, "rebase", "-q", "--force-rebase", "HEAD~2")
    git(worktree, "rebase", "-q", "--apply", "--force-rebase", "HEAD~1")
    git(worktree, "format-patch", "-q", "-1", "-o", "../mail")
    git(worktree, "reset", "-q", "--hard", "HEAD~1")
    (patch,) = (worktree.parent / "mail").iterdir()
    git(worktree, "am", "-q", str(patch))
    git(worktree, "checkout", "-q", "HEAD", "--", "a")
    (worktree / "sub").mkdir()
    git(worktree / "sub", "push", "-q", "../remote.git", "auth/x")


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait until a condition holds; fail after a generous deadline."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited {DEADLINE_S} s for {what}"
        select.select([], [], [], 0.005)


def make_newer(path: Path, than: Path) -> None:
    """Give a file a time after another's; some shells compare whole seconds."""
    later = than.stat().st_mtime_ns + 1_000_000_000
    os.utime(path, ns=(later, later))


def snapshot(root: Path) -> dict[str, bytes | str]:
    """Return every file and link below a directory with its content."""
    found: dict[str, bytes | str] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = os.readlink(path)
        elif path.is_file():
            found[name] = path.read_bytes()
        else:
            found[name] = "directory"
    return found
