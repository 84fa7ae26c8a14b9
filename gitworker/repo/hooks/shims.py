"""The shim directory `<state>/hooks`: written from the shipped scripts, checked, removed.

One directory serves all worktrees. Each file is replaced by a rename, so git never starts a partial
hook. A hook installer that an agent runs in its worktree writes here: its files are moved to
`hooks-found` and run from there. The directory stays writable, so that its owner can delete a clone
by `rm -rf`. The times of the stamp and of the directory are the newest time of the sources: a
source newer than the stamp makes the shims stale, in Python and in sh (`-nt`).
"""

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gitworker import __version__
from gitworker.clock import monotonic_ms
from gitworker.paths import Repository, StatePaths, open_regular, state_paths
from gitworker.repo.hooks.config_files import read_bytes
from gitworker.repo.hooks.layout import (
    ALWAYS,
    ANY_HOOK,
    BESIDE_COMMITS,
    COMMITTED,
    CONFIG_HOOKS,
    FOUND,
    ID_LINE,
    SEEN,
    SHARED,
    STAMP,
    config_escaped,
    hook_command,
    hook_sources,
    is_hook_name,
    shell_quoted,
)
from gitworker.repo.hooks.user_hooks import UserHooks, find_user_hooks, sources_seen
from gitworker.repo.plumbing.disk import remove_tree
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.repository_lock import hold_descriptor

CONFIG_HOOKS_SINCE = (2, 54)
LOCK_WAIT_MS = 10_000  # writing shims takes a few milliseconds
SCRIPT_MODE = 0o555
FILE_MODE = 0o444
DIRECTORY_MODE = 0o755
OWNER_WRITES = 0o200


class Stamp(NamedTuple):
    """The input of the shims: program version, interpreter, the user's hooks path, sources."""

    version: str
    interpreter: str
    hooks_path: str
    seen: tuple[tuple[str, int], ...]

    def encode(self) -> bytes:
        """Return the stamp file's content: fields ended by NUL."""
        fields = [self.version, self.interpreter, self.hooks_path]
        for path, mtime_ns in self.seen:
            fields += [path, str(mtime_ns)]
        return b"".join(os.fsencode(field) + b"\0" for field in fields)


def read_stamp(state_hooks: str) -> Stamp | None:
    """Return the stamp of the shims in a directory, None if there is no readable stamp."""
    content = read_bytes(f"{state_hooks}/{STAMP}")
    if content is None:
        return None
    fields = os.fsdecode(content).split("\0")[:-1]
    if len(fields) < 3 or not all(field.lstrip("-").isdigit() for field in fields[4::2]):
        return None
    seen = zip(fields[3::2], map(int, fields[4::2]), strict=False)
    return Stamp(fields[0], fields[1], fields[2], tuple(seen))


def shims_are_stale(state_hooks: str, worktree_top: str | None = None) -> bool:
    """Return whether the shims are missing, changed by others, or older than their sources.

    Starts no process: one read and a dozen stat calls. With a relative core.hooksPath, the
    directory in the worktree `worktree_top` counts too.
    """
    stamp = read_stamp(state_hooks)
    stamped_ns = None if stamp is None else _stamped_ns(state_hooks, stamp)
    if stamp is None or stamped_ns is None:
        return True
    if worktree_top is not None and stamp.hooks_path and not os.path.isabs(stamp.hooks_path):
        ((_, mtime_ns),) = sources_seen([f"{worktree_top}/{stamp.hooks_path}"])
        if mtime_ns > stamped_ns:
            return True
    return sources_seen([path for path, _ in stamp.seen]) != stamp.seen


def shims_differ(state_hooks: str, user_hooks: UserHooks) -> bool:
    """Return whether stale shims would change: a touched configuration alone changes none.

    The next hook writes stale shims again, so a report of these helps no reader.
    """
    stamp = read_stamp(state_hooks)
    if stamp is None or _stamped_ns(state_hooks, stamp) is None:
        return True
    sources = [path for path, _ in stamp.seen]
    if (stamp.hooks_path, sources) != (
        user_hooks.hooks_path,
        [path for path, _ in user_hooks.seen],
    ):
        return True
    names = () if uses_config_hooks(state_hooks) else user_hooks.names
    return any(not os.path.lexists(f"{state_hooks}/{name}") for name in names)


def _stamped_ns(state_hooks: str, stamp: Stamp) -> int | None:
    """Return the time of intact shims; None if they are unusable or others changed them."""
    try:
        stamped_ns = os.stat(f"{state_hooks}/{STAMP}").st_mtime_ns
        directory = os.stat(state_hooks)
    except OSError:
        return None
    is_intact = directory.st_mtime_ns == stamped_ns and directory.st_mode & OWNER_WRITES
    return stamped_ns if is_intact and _is_usable(stamp) else None


def refresh_shims(
    git: Git, repository: Repository, *, interpreter: str | None = None, force: bool = False
) -> bool:
    """Write stale shims again (or all with `force`); return whether that was needed.

    The command `refresh-hooks` runs this.
    """
    paths = state_paths(repository)
    with shims_lock(paths):
        if not force and not shims_are_stale(paths.hooks):
            return False
        user_hooks = find_user_hooks(git, repository)
        config_hooks = _wants_config_hooks(git, repository)
        write_shims(repository, user_hooks, interpreter=interpreter, config_hooks=config_hooks)
        return True


def write_shims(
    repository: Repository,
    user_hooks: UserHooks,
    *,
    interpreter: str | None = None,
    config_hooks: bool = False,
) -> None:
    """Write the shims for these user hooks to `<state>/hooks`, and make the spool directory.

    `interpreter` is the Python with which the shims start the drain (default: the one written last,
    else this one). With `config_hooks` git runs the user's hooks itself; the shims run them only if
    a relative hooks path is absent in a worktree.
    """
    paths = state_paths(repository)
    stamp = read_stamp(paths.hooks)
    if interpreter is None and stamp is not None and _is_usable(stamp):
        interpreter = stamp.interpreter
    # abspath, not realpath: a venv's python is a symlink that must stay one to find its packages
    interpreter = os.path.abspath(interpreter or sys.executable)
    os.makedirs(paths.spool, mode=0o700, exist_ok=True)
    os.makedirs(paths.hooks, mode=DIRECTORY_MODE, exist_ok=True)
    os.chmod(paths.hooks, DIRECTORY_MODE)  # an earlier version made it read-only
    _put_aside(paths)
    sources = _remember(paths, user_hooks)
    files = shim_files(
        repository, user_hooks, interpreter, sources=sources, config_hooks=config_hooks
    )
    for name, (content, mode) in files.items():
        _replace(f"{paths.hooks}/{name}", content, mode)
    remove_tree(
        f"{paths.root}/{SEEN}"
    )  # a hook that finds none of them has the shims written again
    os.rename(f"{paths.root}/{SEEN}.new", f"{paths.root}/{SEEN}")
    _clear(paths, files)  # now no config hook names these files: git would fail without them
    new_stamp = Stamp(__version__, interpreter, user_hooks.hooks_path, user_hooks.seen)
    _replace(f"{paths.hooks}/{STAMP}", new_stamp.encode(), FILE_MODE)
    newest_ns = max((mtime_ns for _, mtime_ns in user_hooks.seen), default=0)
    newest_ns = max(newest_ns, 0)
    for path in (f"{paths.hooks}/{STAMP}", paths.hooks):
        os.utime(path, ns=(newest_ns, newest_ns))


def shim_files(
    repository: Repository,
    user_hooks: UserHooks,
    interpreter: str,
    *,
    sources: Sequence[str],
    config_hooks: bool,
) -> dict[str, tuple[bytes, int]]:
    """Return the files of the shim directory: name → (content, mode). Reads the shipped scripts.

    `sources` are the files whose times each hook compares with those in `hooks-seen`.
    """
    scripts = hook_sources()
    settings = {
        "gitworker_python": interpreter,
        "gitworker_common_dir": repository.common_dir,
        "gitworker_user_hooks": user_hooks.hooks_path,
        "gitworker_fallback": user_hooks.fallback,
        "gitworker_chain": "" if config_hooks else "yes",
        "gitworker_sources": "\n".join(sources),
    }
    files = {SHARED: (_with_settings(_source(scripts, SHARED), settings), FILE_MODE)}
    for name in ALWAYS:
        files[name] = (_source(scripts, name), SCRIPT_MODE)
    found = find_put_aside(state_paths(repository))
    if not user_hooks.is_relative and COMMITTED not in found:
        only = {"gitworker_only": f"{user_hooks.hooks_path}/{COMMITTED}"}
        files[COMMITTED] = (_with_settings(_source(scripts, COMMITTED), only), SCRIPT_MODE)
    if not config_hooks or user_hooks.is_relative:
        always = () if config_hooks else BESIDE_COMMITS
        for name in (*always, *user_hooks.names, *user_hooks.dormant):
            # a dormant hook too: chmod +x changes no directory's time, so it would go unnoticed
            files.setdefault(name, (_source(scripts, ANY_HOOK), SCRIPT_MODE))
    for name in found:
        files.setdefault(name, (_source(scripts, ANY_HOOK), SCRIPT_MODE))
    if config_hooks:
        directory = state_paths(repository).hooks
        hooks = sorted(name for name, (_, mode) in files.items() if mode == SCRIPT_MODE)
        files[CONFIG_HOOKS] = (_config_hooks(directory, hooks), FILE_MODE)
    return files


def is_foreign(path: str) -> bool:
    """Return whether a file or directory in the shim directory was not written by gitworker."""
    name = os.path.basename(path).removesuffix(".new")
    if name in (STAMP, CONFIG_HOOKS):
        return not os.path.isfile(path)
    return not os.path.isfile(path) or ID_LINE not in (read_bytes(path) or b"").splitlines()


def find_put_aside(paths: StatePaths) -> list[str]:
    """Return the hooks that others installed in the shim directory; the shims run them."""
    try:
        return sorted(filter(is_hook_name, os.listdir(f"{paths.root}/{FOUND}")))
    except OSError:
        return []


def uses_config_hooks(state_hooks: str) -> bool:
    """Return whether config hooks, not core.hooksPath, call the shims written there."""
    return os.path.exists(f"{state_hooks}/{CONFIG_HOOKS}")


def remove_shims(paths: StatePaths) -> None:
    """Remove the shim directory."""
    for path in (paths.hooks, f"{paths.root}/{SEEN}", f"{paths.root}/{SEEN}.new"):
        remove_tree(path)


@contextlib.contextmanager
def shims_lock(paths: StatePaths) -> Iterator[None]:
    """Hold the lock for changes of shims and shared settings; it ends with its holder.

    Raises Conflict if it stays taken: its holder may be stopped.
    """
    os.makedirs(paths.locks, mode=0o700, exist_ok=True)
    path = f"{paths.locks}/hooks"
    fd = hold_descriptor(
        path,
        deadline_ms=monotonic_ms() + LOCK_WAIT_MS,
        complaint=f"another command has held {path} for {LOCK_WAIT_MS // 1000} s",
    )
    try:
        yield
    finally:
        os.close(fd)


def _remember(paths: StatePaths, user_hooks: UserHooks) -> list[str]:
    """Make `hooks-seen.new`, with a file that has the time of each source; return the sources.

    A source whose time cannot be kept exactly is left out: only the stamp covers it.
    """
    directory = f"{paths.root}/{SEEN}.new"
    remove_tree(directory)
    os.mkdir(directory)
    times = dict(user_hooks.seen)
    sources: list[str] = []
    for path in user_hooks.config_files:
        copy = f"{directory}/{len(sources) + 1}"
        if "\n" in path or not path:
            continue
        if times[path] >= 0:
            os.close(open_regular(copy, os.O_CREAT | os.O_WRONLY, FILE_MODE))
            os.utime(copy, ns=(times[path], times[path]))
            if os.stat(copy).st_mtime_ns != times[path]:
                os.unlink(copy)
                continue
        sources.append(path)
    return sources


def _put_aside(paths: StatePaths) -> None:
    """Move foreign files from the shim directory to `hooks-found`; nothing is deleted."""
    for name in sorted(os.listdir(paths.hooks)):
        path = f"{paths.hooks}/{name}"
        if not is_foreign(path) or _is_partial(path):
            continue
        os.makedirs(f"{paths.root}/{FOUND}", mode=0o700, exist_ok=True)
        aside = f"{paths.root}/{FOUND}/{name}"
        number = 1
        while os.path.lexists(aside) and os.path.lexists(f"{aside}.{number}"):
            number += 1
        if os.path.lexists(aside):  # found before: the newer one is used
            os.rename(aside, f"{aside}.{number}")
        os.rename(path, aside)


def _is_partial(path: str) -> bool:
    """Return whether a file is an unfinished shim of a killed process."""
    name = os.path.basename(path)
    return name.endswith(".new") and (is_hook_name(name[:-4]) or name[:-4] == SHARED)


def _clear(paths: StatePaths, files: Mapping[str, object]) -> None:
    """Remove gitworker's own scripts that are not needed any more."""
    for name in sorted(set(os.listdir(paths.hooks)) - set(files) - {STAMP}):
        remove_tree(f"{paths.hooks}/{name}")


def _wants_config_hooks(git: Git, repository: Repository) -> bool:
    """Return whether to use config hooks; an installed repository keeps its way for every git."""
    state_hooks = state_paths(repository).hooks
    if os.path.exists(f"{state_hooks}/{SHARED}"):
        return uses_config_hooks(state_hooks)
    return git.version() >= CONFIG_HOOKS_SINCE


def _is_usable(stamp: Stamp) -> bool:
    return stamp.version == __version__ and os.access(stamp.interpreter, os.X_OK)


def _source(sources: str, name: str) -> bytes:
    with open(f"{sources}/{name}", "rb", opener=open_regular) as file:
        return file.read()


def _with_settings(script: bytes, settings: dict[str, str]) -> bytes:
    """Return the shared script with the value of each `name=''` line filled in."""
    lines = script.split(b"\n")
    for name, value in settings.items():
        prefix = f"{name}=''".encode()
        (index,) = [i for i, line in enumerate(lines) if line.startswith(prefix)]
        lines[index] = lines[index].replace(b"''", os.fsencode(shell_quoted(value)), 1)
    return b"\n".join(lines)


def _config_hooks(directory: str, names: list[str]) -> bytes:
    lines = []
    for name in names:
        command = config_escaped(hook_command(f"{directory}/{name}"))
        lines += [f'[hook "gitworker-{name}"]', f"\tevent = {name}", f'\tcommand = "{command}"']
    return os.fsencode("\n".join(lines) + "\n")


def _replace(path: str, content: bytes, mode: int) -> None:
    temporary = f"{path}.new"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)  # left by a killed process; read-only, so it cannot be opened again
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with open(fd, "wb") as file:
        file.write(content)
    os.chmod(temporary, mode)  # independent of the umask
    os.rename(temporary, path)
