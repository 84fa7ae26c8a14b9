"""`extensions.worktreeConfig`: switch it on as git-worktree(1) prescribes, and off again.

core.bare=true and core.worktree move to the main worktree's own file; otherwise linked worktrees
would inherit them. `<state>/worktree-config/` holds both files as they were before and after. It
exists only if gitworker switched the extension on.
"""

import contextlib
import os

from gitworker.paths import Repository, state_paths
from gitworker.repo.hooks.config_files import (
    Entries,
    before,
    forget,
    is_true,
    is_untouched,
    keep_after,
    keep_before,
    list_entries,
    read_bytes,
    replaced,
    write_config,
)
from gitworker.repo.hooks.user_hooks import linked_worktrees
from gitworker.repo.plumbing.git import Git

EXTENSION = "extensions.worktreeConfig"
PRIVATE = ("core.bare", "core.worktree")  # settings of the main worktree alone


def is_surely_off(repository: Repository) -> bool:
    """Return whether the extension is surely off, without a process; False: git must be asked."""
    content = read_bytes(f"{repository.common_dir}/config") or b""
    return b"worktreeconfig" not in content.lower()


def switch_on(git: Git, repository: Repository) -> None:
    """Switch the extension on if it is off; change nothing else about the repository.

    Raises Conflict if another git process holds the configuration's lock.
    """
    shared, private = _files(repository)
    entries = list_entries(git, shared)
    if _last(entries, EXTENSION.lower()) == "true":
        return
    marks = _marks(repository)
    os.makedirs(marks, mode=0o700, exist_ok=True)
    keep_before(f"{marks}/private", read_bytes(private))
    keep_before(f"{marks}/shared", read_bytes(shared))
    moved = [(key, value or "true") for key, value in entries if _moves(key, value)]
    for key, value in moved:  # first: without the extension git does not read that file
        git.run("config", "--file", private, key, value)
    with replaced(shared) as copy:
        git.run("config", "--file", copy, "--replace-all", EXTENSION, "true")
        for key in {key for key, _ in moved}:
            git.run("config", "--file", copy, "--unset-all", key)
    keep_after(f"{marks}/private", read_bytes(private))
    keep_after(f"{marks}/shared", read_bytes(shared))


def switch_off(git: Git, repository: Repository) -> None:
    """Switch the extension off if gitworker switched it on and no worktree has own settings."""
    marks = _marks(repository)
    if not os.path.isdir(marks):
        return
    if not _is_needed(git, repository):
        _put_back(git, repository, marks)
        for admin, _ in linked_worktrees(repository.common_dir):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{admin}/config.worktree")  # `git worktree add` made an emptied copy
    for base in ("private", "shared"):
        forget(f"{marks}/{base}")
    os.rmdir(marks)


def _put_back(git: Git, repository: Repository, marks: str) -> None:
    """Undo `switch_on`: byte for byte if nothing else has changed, else setting by setting.

    The shared file is first: from then on git does not read the other one.
    """
    shared, private = _files(repository)
    private_content = read_bytes(private)
    if is_untouched(f"{marks}/shared", read_bytes(shared)):
        write_config(shared, before(f"{marks}/shared"))
    else:
        moved = [entry for entry in list_entries(git, private) if _moves(*entry)]
        was = [
            value
            for key, value in list_entries(git, f"{marks}/shared-before")
            if key == EXTENSION.lower()
        ]
        with replaced(shared) as copy:
            git.run("config", "--file", copy, "--unset-all", EXTENSION, ok=(0, 5))
            for value in was:  # the setting existed, and was off
                git.run("config", "--file", copy, "--add", EXTENSION, value or "")
            for key, value in moved:
                git.run("config", "--file", copy, key, value or "true")
    earlier = before(f"{marks}/private")
    if earlier is None or is_untouched(f"{marks}/private", private_content):
        write_config(private, earlier)
        return
    for key in PRIVATE:
        git.run("config", "--file", private, "--unset-all", key, ok=(0, 5))


def _is_needed(git: Git, repository: Repository) -> bool:
    """Return whether a worktree has settings of its own besides the moved ones."""
    _, private = _files(repository)
    if not is_untouched(f"{_marks(repository)}/private", read_bytes(private)):
        rest = [key for key, _ in list_entries(git, private) if key not in PRIVATE]
        if rest:
            return True
    return any(
        list_entries(git, f"{admin}/config.worktree")
        for admin, _ in linked_worktrees(repository.common_dir)
    )


def _files(repository: Repository) -> tuple[str, str]:
    """Return the shared configuration file and the main worktree's own."""
    return f"{repository.common_dir}/config", f"{repository.common_dir}/config.worktree"


def _marks(repository: Repository) -> str:
    return f"{state_paths(repository).root}/worktree-config"


def _moves(key: str, value: str | None) -> bool:
    return key == "core.worktree" or (key == "core.bare" and is_true(value))


def _last(entries: Entries, key: str) -> str | None:
    values = [("true" if is_true(value) else "false") for name, value in entries if name == key]
    return values[-1] if values else None
