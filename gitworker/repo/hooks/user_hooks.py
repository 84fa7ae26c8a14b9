"""The user's own hooks, as git would find them in the main checkout. Read-only."""

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gitworker.paths import Repository, open_regular, require_repository
from gitworker.repo.hooks.layout import PLACE, is_hook_name
from gitworker.repo.plumbing.git import Git

SETTINGS = r"^(core\.(hookspath|worktree)|include\.path|includeif\..*\.path)$"
COMMAND_SCOPE = "command"  # `git -c`: one command's setting, not the repository's


class UserHooks(NamedTuple):
    """The user's hooks and their places.

    `hooks_path` is core.hooksPath with `~` expanded, or `<common dir>/hooks`; a relative one is
    relative to the top of the worktree in which git runs. `names` maps each hook that git would
    run to its path; `dormant` are files with a hook's name that are not executable. `seen` pairs
    each source with its time in nanoseconds (-1: absent), taken before the source was read.
    `config_files` are the configuration files among them, included ones too.
    """

    hooks_path: str
    is_relative: bool
    main_top: str | None
    names: Mapping[str, str]
    dormant: tuple[str, ...]
    seen: tuple[tuple[str, int], ...]
    config_files: tuple[str, ...] = ()

    @property
    def fallback(self) -> str:
        """Return the main checkout's directory of a relative `hooks_path`, else an empty string."""
        if not self.is_relative or self.main_top is None:
            return ""
        return f"{self.main_top}/{self.hooks_path}"


def find_user_hooks(git: Git, repository: Repository) -> UserHooks:
    """Return the user's hooks as the main checkout sees them; one git process.

    Scopes count as in git: worktree, local, global, system. gitworker's own path does not count.
    """
    common = repository.common_dir
    seen = sources_seen(config_files(common))
    configured, top, included = _read_settings(git, common)
    others = [path for path in included if path not in dict(seen)]
    if others:  # take their times before a second read: changes in between must not count as seen
        seen += sources_seen(others)
        configured, top, _ = _read_settings(git, common)
    files = tuple(path for path, _ in seen)
    main_top = top or _guess_main_top(repository)
    path = f"{common}/hooks" if configured is None else configured
    is_relative = bool(path) and not os.path.isabs(path)
    if is_relative and path.startswith("-"):
        path = f"./{path}"  # must not be an option of the shell's exec
    directories = list(_directories(repository, path, main_top))
    seen += sources_seen(directories)
    names: dict[str, str] = {}
    dormant: set[str] = set()
    for directory in directories:
        for name, file, executable in _hook_files(directory):
            if executable:
                names.setdefault(name, file)
            else:
                dormant.add(name)
    dormant -= set(names)
    return UserHooks(path, is_relative, main_top, names, tuple(sorted(dormant)), seen, files)


def find_own_hooks(git: Git, worktree: str, admin_dir: str) -> str | None:
    """Return a linked worktree's own core.hooksPath, None if it uses the main checkout's.

    `git` runs in the repository; `admin_dir` is the worktree's. gitworker's own path does not
    count.
    """
    if not os.path.lexists(f"{admin_dir}/config.worktree"):
        return None
    asked = ("config", "--type=path", "--get", "core.hooksPath")
    own = git.at(worktree).run(*asked, ok=(0, 1)).text.rstrip("\n")
    if not own or own.endswith(PLACE):
        return None
    common = require_repository(worktree, {}).common_dir
    shared = git.run(f"--git-dir={common}", *asked, ok=(0, 1)).text.rstrip("\n")
    return own if own != shared else None


def sources_seen(files: Iterator[str] | list[str]) -> tuple[tuple[str, int], ...]:
    """Return each path with its modification time in nanoseconds, -1 if it is absent."""
    seen = []
    for file in files:
        try:
            seen.append((file, os.stat(file).st_mtime_ns))
        except OSError:
            seen.append((file, -1))
    return tuple(seen)


def linked_worktrees(common_dir: str) -> Iterator[tuple[str, str]]:
    """Yield (admin directory, top) of every linked worktree, by name; no git process."""
    try:
        admins = sorted(os.listdir(f"{common_dir}/worktrees"))
    except OSError:
        return
    for name in admins:
        admin = f"{common_dir}/worktrees/{name}"
        try:
            with open(
                f"{admin}/gitdir", encoding="utf-8", errors="surrogateescape", opener=open_regular
            ) as file:
                pointer = file.read().rstrip("\n")
        except OSError:
            continue
        yield admin, os.path.dirname(os.path.normpath(os.path.join(admin, pointer)))


def config_files(common: str) -> list[str]:
    """Return the files of git's configuration, without included ones; some may not exist."""
    env = os.environ
    home = env.get("HOME", "")
    return [
        f"{common}/config",
        f"{common}/config.worktree",
        env.get("GIT_CONFIG_GLOBAL") or f"{home}/.gitconfig",
        f"{env.get('XDG_CONFIG_HOME') or home + '/.config'}/git/config",
        env.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig",
    ]


def _read_settings(git: Git, common: str) -> tuple[str | None, str | None, list[str]]:
    """Return core.hooksPath, the top in core.worktree, None if not set, and the files.

    The files are those in which the settings are, and those that they include, in use or not.
    """
    scoped = ("config", "-z", "--show-scope", "--show-origin", "--type=path", "--get-regexp")
    done = git.run(f"--git-dir={common}", *scoped, SETTINGS, ok=(0, 1))
    hooks_path = top = None
    files: dict[str, None] = {}
    fields = done.text.split("\0")
    for scope, origin, entry in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
        key, _, value = entry.partition("\n")
        if scope == COMMAND_SCOPE:
            continue
        file = os.path.join(git.directory, origin.removeprefix("file:"))
        if key.startswith("include"):
            files |= {file: None, os.path.join(os.path.dirname(file), value): None}
        elif key == "core.worktree":
            top = os.path.normpath(os.path.join(common, value))
        elif not value.endswith(PLACE):
            hooks_path = value
            files[file] = None
    return hooks_path, top, list(files)


def _guess_main_top(repository: Repository) -> str | None:
    if not repository.is_linked and repository.top is not None:
        return repository.top
    parent, name = os.path.split(repository.common_dir)
    return parent if name == ".git" else None


def _directories(repository: Repository, path: str, main_top: str | None) -> Iterator[str]:
    """Yield the hook directories of that path; a relative path names one per worktree."""
    if os.path.isabs(path):
        yield path
    elif path:
        if main_top is not None:
            yield f"{main_top}/{path}"
        for _, top in linked_worktrees(repository.common_dir):
            yield f"{top}/{path}"


def _hook_files(directory: str) -> Iterator[tuple[str, str, bool]]:
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return
    for name in names:
        file = f"{directory}/{name}"
        if is_hook_name(name) and os.path.isfile(file):
            yield name, file, os.access(file, os.X_OK)
