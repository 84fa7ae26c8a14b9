"""Paths: the current repository, its state directory, the files inside it.

Reads the file system without starting git, because hot verbs and hooks pay for every process. git
remains the authority: every command that changes something runs git, which refuses an untrusted
repository.
"""

from __future__ import annotations

import os

from gitworker.errors import READ_ONLY, Naming, Unavailable

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

STATE_DIR_NAME = "worker-state"
AGENT_LOG_ELSEWHERE = ".agent.log"  # suffix in the kept logs if `.worker.log` is taken
AGENT_LOG = ".worker.log"  # in a worktree: the output of its supervised agent
OWNER_FILE = "gitworker-seat"  # in a worktree's admin directory: worker id, task id
PLACE_FILE = "gitworker-place"  # there, too: device and inode of the worktree's directory
LOCK_FILE = "locked"  # there, too: the reason of a lock, see git-worktree(1)
CREATING = "unable to create"  # git's wording
LOCK_MARK = "gitworker: an agent works here"
# Our names in the state directory; other names are ignored.
STATE_DIRECTORIES = frozenset({
    "adopted", "agents", "alive", "archive", "blobs", "hooks", "hooks-found", "hooks-seen", "locks",
    "logs", "reviews", "scratch", "spool", "verify", "workers", "workstreams", "worktree-config",
})  # fmt: skip
STATE_FILES = frozenset({
    "bell", "bus.db", "bus.db-gate", "bus.db-journal", "bus.db-shm", "bus.db-wal", "bus.jsonl",
    "checkout-sizes", "drain-stamp", "export.lock", "git-version", "hooks-uninstalled", "limits",
    "main-worktree", "pool-bell", "pool-parked", "search.db", "search.db-journal", "search.db-shm",
    "search.db-wal", "target", "transitions.jsonl", "worktree-root",
})  # fmt: skip
DATABASE = "bus.db"
LINK_NAME = ".worker-state"  # in the main checkout; leads to the state directory
LOGS = frozenset({"bus.jsonl", "transitions.jsonl"})  # exports: no operation needs them
FILE_TYPE, REGULAR, DIRECTORY = 0o170000, 0o100000, 0o040000  # stat(2), without an import
READ_AT_ONCE = 4096
ENXIO = 6  # errno(3), on every known system
ALWAYS_OPENED = ("spool", "locks")  # directories of files that every command may open
DAMAGED = "state_damaged"  # the error code if a path of ours holds another kind of file


class Repository:
    """A git repository, found from a directory.

    `common_dir` holds refs and objects. `git_dir` is this worktree's own directory (the same for
    the main worktree). `top` is the worktree's root, or None in a bare repository.
    """

    __slots__ = ("common_dir", "git_dir", "top")

    def __init__(self, common_dir: str, git_dir: str, top: str | None) -> None:
        self.common_dir = common_dir
        self.git_dir = git_dir
        self.top = top

    def __eq__(self, other: object) -> bool:
        """Compare by the three places."""
        return isinstance(other, Repository) and (
            (self.common_dir, self.git_dir, self.top)
            == (other.common_dir, other.git_dir, other.top)
        )

    def __hash__(self) -> int:
        """Hash by the three places."""
        return hash((self.common_dir, self.git_dir, self.top))

    @property
    def is_linked(self) -> bool:
        """Return whether this is a linked worktree."""
        return self.git_dir != self.common_dir


class StatePaths:
    """The paths in the state directory `root`."""

    __slots__ = (
        "adopted", "alive", "archive", "bell", "blobs", "bus_log", "database", "gate", "hooks",
        "locks", "logs", "reviews", "root", "search", "spool", "transition_log", "uninstalled",
        "workers",
    )  # fmt: skip

    def __init__(self, root: str) -> None:
        self.root = root
        self.adopted = f"{root}/adopted"  # another program's `.worker-state`, as it was
        self.alive = f"{root}/alive"  # locks that prove that a worker's process is alive
        self.archive = f"{root}/archive"
        self.bell = f"{root}/bell"  # publishers touch it after a commit
        self.blobs = f"{root}/blobs"  # large payloads
        self.bus_log = f"{root}/bus.jsonl"
        self.database = f"{root}/bus.db"
        self.gate = f"{root}/bus.db-gate"  # its flock serialises writers
        self.hooks = f"{root}/hooks"  # our hook shims
        self.locks = f"{root}/locks"  # locks that span processes and git
        self.logs = f"{root}/logs"
        self.reviews = f"{root}/reviews"  # the files of the review gate
        self.search = f"{root}/search.db"  # can be deleted at any time
        self.spool = f"{root}/spool"  # hooks append to it
        self.transition_log = f"{root}/transitions.jsonl"
        self.uninstalled = f"{root}/hooks-uninstalled"  # only a request installs them again
        self.workers = f"{root}/workers"  # state files

    @property
    def is_uninstalled(self) -> bool:
        """Return whether a user has removed hooks, excludes and link."""
        return os.path.lexists(self.uninstalled)


def state_paths(repository: Repository) -> StatePaths:
    """Return the paths in a repository's state directory, which need not exist."""
    return StatePaths(f"{repository.common_dir}/{STATE_DIR_NAME}")


def find_misplaced(root: str, inside: Iterable[str] = ALWAYS_OPENED) -> list[str]:
    """Return the paths in a state directory that hold the wrong kind of file, sorted.

    A FIFO would block a process that opens it. `inside` names directories that contain only files;
    they are checked as well. Starts no process and opens no file.
    """
    found = [
        entry.path
        for entry in _entries(root)
        if (entry.name in STATE_DIRECTORIES and not entry.is_dir())
        or (entry.name in STATE_FILES and not entry.is_file())
    ]
    for name in inside:
        found += [entry.path for entry in _entries(f"{root}/{name}") if not entry.is_file()]
    return sorted(path for path in found if os.path.lexists(path))  # the others are deleted


def refuse_misplaced(root: str) -> None:
    """Raise Unavailable if a path of ours holds the wrong kind of file.

    Ignores the exported logs: no operation fails because of an export.
    """
    found = [path for path in find_misplaced(root) if os.path.basename(path) not in LOGS]
    if found:
        raise Unavailable(misplaced_text(found[0]), misplaced_hint(found[0]), code=DAMAGED)


def is_bus_directory(place: str) -> bool:
    """Return whether a place is a directory, not a link, that holds a bus of another program."""
    try:
        return not os.path.islink(place) and os.stat(f"{place}/{DATABASE}").st_size > 0
    except OSError:
        return False


def refuse_second_bus(root: str, *tops: str | None) -> None:
    """Raise Unavailable if one of these checkouts has a bus of its own beside that in `root`."""
    for place in [f"{top}/{LINK_NAME}" for top in tops if top is not None]:
        if is_bus_directory(place):
            from gitworker.rules_text import quoted  # only for this error

            raise Unavailable(
                f"{place} holds a bus of its own beside gitworker's in {root}: messages would be"
                " divided between the two",
                f"mv {quoted(place)} {quoted(f'{place}-kept')}   # then publish there no more",
                code="two_buses",
            )


def misplaced_text(path: str) -> str:
    """Return a sentence about a path of ours that holds the wrong kind of file."""
    belongs = "a directory" if os.path.basename(path) in STATE_DIRECTORIES else "a file"
    kind = "a file" if os.path.isfile(path) else "a FIFO, socket or device"
    if os.path.islink(path):
        kind = "a symbolic link to something else"
    elif os.path.isdir(path):
        kind = "a directory"
    return f"{path} is {kind}; {belongs} of gitworker belongs there"


def misplaced_hint(path: str) -> str:
    """Return the repair command; a file in the database's place must be moved by a person."""
    if os.path.basename(path) == DATABASE:
        from gitworker.rules_text import quoted  # only for a damaged state directory

        return f"mv {quoted(path)} {quoted(path)}.found   # then restore {DATABASE} from a copy"
    return "git worker fsck --repair"


def open_regular(path: str, flags: int, mode: int = 0o666) -> int:
    """Open a file for `open(…, opener=regular)`: never wait for a FIFO, never write through a link.

    Raises OSError unless it is a regular file. A test requires this opener for every `open`.
    """
    if flags & (os.O_WRONLY | os.O_RDWR):
        flags |= os.O_NOFOLLOW
    fd = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, mode)
    if os.fstat(fd).st_mode & FILE_TYPE in (REGULAR, DIRECTORY):  # `open` refuses a directory
        return fd
    os.close(fd)
    raise OSError(ENXIO, "not a regular file", path)


def open_streams() -> None:
    """Open every closed standard stream on /dev/null, so that no other file gets its number.

    They are opened in the wrong direction: reading and writing still fail, as on a closed stream,
    so no output counts as delivered. Call it before any file is opened; it costs three system
    calls.
    """
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:  # the lowest free number is this one
            os.set_inheritable(os.open(os.devnull, os.O_RDONLY if fd else os.O_WRONLY), True)


def read_regular(path: str) -> bytes:
    """Return the content of a regular file; for a short one in a third of the time of `open`."""
    fd = open_regular(path, os.O_RDONLY)
    try:
        parts = [os.read(fd, READ_AT_ONCE)]
        while len(parts[-1]) == READ_AT_ONCE:
            parts.append(os.read(fd, READ_AT_ONCE))
    finally:
        os.close(fd)
    return b"".join(parts)


def require_repository(
    start: str | None = None, env: Mapping[str, str] | None = None
) -> Repository:
    """Return the repository that `start` (default: the working directory) belongs to.

    Without `start`, GIT_DIR and GIT_WORK_TREE are followed as git does; an explicit `start` ignores
    them. Raises Unavailable outside a repository.
    """
    if env is None:
        env = os.environ if start is None else {}
    try:
        start = os.getcwd() if start is None else start
    except FileNotFoundError:
        raise Unavailable(
            "the current directory no longer exists", "cd <directory>", code="no_directory"
        ) from None
    git_dir = env.get("GIT_DIR")
    if git_dir:
        top = env.get("GIT_WORK_TREE")
        found = _open(os.path.join(start, git_dir), os.path.join(start, top) if top else None)
        if found is not None:
            if not top and not _is_bare_layout(found):
                found = Repository(found.common_dir, found.git_dir, _top_of(found, start))
            return found
    else:
        found = _search_upwards(start)
        if found is not None:
            return found
    raise Unavailable(
        f"{start} is not inside a git repository", "cd <directory>", code="not_a_repository"
    )


def leads_elsewhere(dot_git: str) -> bool:
    """Return whether `.git` is a file or a link, as that of no ordinary main checkout is."""
    return os.path.isfile(dot_git) or os.path.islink(dot_git)


def find_top(directory: str) -> Repository | None:
    """Return the repository whose checkout begins in `directory`; search no parents."""
    return _open(f"{directory}/.git", directory)


def require_top(directory: str) -> Repository:
    """Return the result of `find_top`; raise Unavailable if no checkout begins in `directory`."""
    found = find_top(directory)
    if found is None:
        raise Unavailable(
            f"{directory} has no .git that points to a repository",
            "git worker fsck",
            code="not_a_checkout",
        )
    return found


def read_only_error(place: str) -> Unavailable:
    """Return the error of a write to a read-only file system; it names directories to open."""
    message = f"cannot write {place}: {READ_ONLY}"
    try:
        repository = require_repository()
    except (Unavailable, OSError):
        return Unavailable(message, code="read_only")
    if place == repository.common_dir or place.startswith(f"{repository.common_dir}/"):
        wanted = dict.fromkeys((repository.common_dir, repository.git_dir))
        message += f"; this command needs a sandbox that can write {' and '.join(wanted)}"
        hint = "git worker mcp -h   # outside of the sandbox, its tools commit and hand in for you"
        return Unavailable(message, hint, code="read_only")
    return Unavailable(message, code="read_only")


def cause_of_read_only(text: str) -> Unavailable | None:
    """Return the EROFS error behind a message of git or of the system, if there is one.

    git does not name the error if it cannot create a directory; then its path is checked.
    """
    for line in text.splitlines():
        words = line.replace(" for /", "'/").replace(": ", "'").split("'")
        named = [word for word in words if word.startswith("/")]
        if named and (READ_ONLY in line or (CREATING in line and _is_read_only(named[-1]))):
            return read_only_error(named[-1])
    if READ_ONLY not in text:
        return None
    try:
        return read_only_error(require_repository().common_dir)
    except Unavailable:
        return Unavailable("the file system is read-only", code="read_only")


def _is_read_only(path: str) -> bool:
    """Return whether a path, which need not exist, is on a read-only mount."""
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def read_worktree_owner(git_dir: str) -> tuple[str, str] | None:
    """Return (worker id, task id) of the worktree whose admin directory is `git_dir`, if any."""
    try:
        worker, _, task = read_regular(f"{git_dir}/{OWNER_FILE}").decode().strip().partition(" ")
    except (OSError, ValueError):  # garbage in one file must not stop a command
        return None
    return (worker, task) if worker and task else None


def write_worktree_owner(git_dir: str, worker: str, task: str) -> None:
    """Record in an admin directory the worker and the task of its worktree.

    Replaces the file atomically: half a name could be another worker's.
    """
    partial = f"{git_dir}/{OWNER_FILE}.tmp"
    with Naming(partial), open(partial, "w", encoding="utf-8", opener=open_regular) as file:
        file.write(f"{worker} {task}\n")
    os.replace(partial, f"{git_dir}/{OWNER_FILE}")
    _write_place(git_dir)


def read_place(git_dir: str) -> tuple[int, int] | None:
    """Return device and inode of the worktree's directory, if they are recorded."""
    words = _read_line(f"{git_dir}/{PLACE_FILE}").split(" ")
    if len(words) != 2 or not all(word.isascii() and word.isdigit() for word in words):
        return None
    return int(words[0]), int(words[1])


def _write_place(git_dir: str) -> None:
    """Record the worktree's inode, which a rename keeps and a copy does not have."""
    dot_git = os.path.join(git_dir, _read_line(f"{git_dir}/gitdir"))
    partial = f"{git_dir}/{PLACE_FILE}.tmp"  # half a number could be another inode
    try:
        found = os.stat(os.path.dirname(dot_git))
        with open(partial, "w", encoding="ascii", opener=open_regular) as file:
            file.write(f"{found.st_dev} {found.st_ino}\n")
        os.replace(partial, f"{git_dir}/{PLACE_FILE}")
    except (OSError, ValueError):  # it only helps to find a moved worktree
        return


def lock_worktree_for_agent(git_dir: str, pid: int) -> None:
    """Lock a worktree as `git worktree lock` does, while a process works in it.

    Keeps an existing lock of the user. If the lock cannot be written, the worktree has none.
    """
    lock, partial = f"{git_dir}/{LOCK_FILE}", f"{git_dir}/gitworker-lock"
    try:
        with open(partial, "w", encoding="ascii", opener=open_regular) as file:
            file.write(_lock_text(pid))
        if _read_line(lock).startswith(LOCK_MARK):
            os.replace(partial, lock)
        else:
            os.link(partial, lock)  # atomic and complete; never replaces another lock
    except OSError:
        pass
    _remove(partial)


def unlock_worktree_of_agent(git_dir: str, pid: int | None = None) -> None:
    """Remove our lock from a worktree, of one process or of any; never a lock of the user."""
    lock = f"{git_dir}/{LOCK_FILE}"
    line = _read_line(lock)
    if line.startswith(LOCK_MARK) and (pid is None or f"{line}\n" == _lock_text(pid)):
        _remove(lock)


def is_locked_by_agent(git_dir: str) -> bool:
    """Return whether a worktree has a lock of ours."""
    lock = f"{git_dir}/{LOCK_FILE}"  # mostly absent, and every command checks every worktree
    return os.path.lexists(lock) and _read_line(lock).startswith(LOCK_MARK)


def is_locked_by_user(git_dir: str) -> bool:
    """Return whether a worktree has a lock (git-worktree(1)) that is not ours."""
    lock = f"{git_dir}/{LOCK_FILE}"
    return os.path.lexists(lock) and not _read_line(lock).startswith(LOCK_MARK)


def _entries(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError:
        return []


def _lock_text(pid: int) -> str:
    return f"{LOCK_MARK} (process {pid})\n"


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:  # the file or its directory does not exist
        return


def _search_upwards(start: str) -> Repository | None:
    directory = os.path.realpath(start)
    while True:
        dot_git = f"{directory.rstrip('/')}/.git"
        found = _open(dot_git, directory)
        if found is None and _looks_like_git_dir(directory):
            found = _open(directory, None)
        if found is not None:
            return found
        parent = os.path.dirname(directory)
        if parent == directory:
            return None
        directory = parent


def _open(path: str, top: str | None) -> Repository | None:
    """Return the repository whose `.git` is `path` (a directory, or a file that points to one)."""
    git_dir = follow_git_file(path) if os.path.isfile(path) else path
    if git_dir is None or not _looks_like_git_dir(git_dir):
        return None
    git_dir = os.path.realpath(git_dir)
    common_dir = git_dir
    pointer = _read_line(f"{git_dir}/commondir")
    if pointer:
        common_dir = os.path.realpath(os.path.join(git_dir, pointer))
    return Repository(common_dir, git_dir, None if top is None else os.path.realpath(top))


def follow_git_file(path: str) -> str | None:
    """Return the directory to which the file `.git` of a worktree points, None for another file."""
    line = _read_line(path)
    target = line.removeprefix("gitdir: ")
    return None if target == line else os.path.join(os.path.dirname(path), target)


def _looks_like_git_dir(path: str) -> bool:
    """Return whether git accepts `path` as a git directory (gitrepository-layout(5))."""
    if not os.path.lexists(f"{path}/HEAD"):
        return False
    return os.path.exists(f"{path}/commondir") or (
        os.path.isdir(f"{path}/objects") and os.path.exists(f"{path}/refs")
    )


def _is_bare_layout(repository: Repository) -> bool:
    name = os.path.basename(repository.git_dir)
    return not repository.is_linked and name != ".git"


def _top_of(repository: Repository, start: str) -> str:
    """Return the worktree's root if only GIT_DIR is set, as in a hook."""
    pointer = _read_line(f"{repository.git_dir}/gitdir")
    if pointer:
        return os.path.dirname(os.path.realpath(os.path.join(repository.git_dir, pointer)))
    if os.path.basename(repository.git_dir) == ".git":
        return os.path.dirname(repository.git_dir)
    return os.path.realpath(start)


def _read_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", opener=open_regular) as file:
            return file.read().rstrip("\n")  # git allows line feeds inside a path
    except OSError:
        return ""


def agent_log_elsewhere(kept: str, name: str) -> str:
    """Return the path of the log of `<worker>-<task>` if its name in the worktree is taken."""
    return f"{kept}/{name}{AGENT_LOG_ELSEWHERE}"


def file_identity(path: str) -> tuple[int, int] | None:
    """Return device and inode of a file, which change if it is replaced; None if it is missing."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
