"""An agent's log, `.worker.log` in its worktree: appended, bounded, never in the agent's way."""

from __future__ import annotations

import errno
import os
import stat
import threading

from gitworker.paths import AGENT_LOG, agent_log_elsewhere

MAX_BYTES = 16 * 1024 * 1024  # until the settings are known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitworker.paths import StatePaths
    from gitworker.store.api import Row


def open_log(paths: StatePaths, seat: Row) -> AgentLog:
    """Return the log of a worker's agent; its older part goes to the kept logs.

    If the project tracks a file of that name, or something else is there, the log is in the kept
    logs too: nothing of the project's is written to.
    """
    place, name = f"{seat['worktree']}/{AGENT_LOG}", f"{seat['worker_id']}-{seat['task_id']}"
    aside, elsewhere = f"{paths.logs}/{name}.log.1", agent_log_elsewhere(paths.logs, name)
    log = AgentLog(place, aside=aside, max_bytes=MAX_BYTES, elsewhere=elsewhere)
    log.is_new = not os.path.lexists(place)
    if not log.is_new and _is_tracked(str(seat["worktree"])):
        log.go_elsewhere()
    return log


def _is_tracked(worktree: str) -> bool:
    """Return whether git tracks a file with the log's name, or cannot say."""
    from gitworker.errors import GitWorkerError
    from gitworker.repo.plumbing.git import Git

    try:
        return bool(Git(worktree).run("ls-files", "-z", "--", AGENT_LOG).out)
    except (GitWorkerError, OSError):
        return True


class AgentLog:
    """Appends what an agent writes; beyond `max_bytes` the file is set aside as `aside`.

    One older part is kept. Whoever follows the log by name finds the new one at its place. A disk
    that is full costs bytes of the log, which `lost_bytes` counts, never the agent. If something
    else than our file is at `path`, the log goes on at `elsewhere`.
    """

    def __init__(
        self, path: str, *, aside: str, max_bytes: int, elsewhere: str | None = None
    ) -> None:
        self.lost_bytes = 0
        self.max_bytes = max_bytes
        self._path = path
        self._aside = aside
        self._elsewhere = elsewhere
        self.moved_to: str | None = None
        self.is_new = False  # a file that appears before our first write is not ours
        self._lock = threading.Lock()  # standard output and error come by a thread each
        self._fd = -1
        self._size = 0
        self._is_hidden = False

    def go_elsewhere(self) -> None:
        """Write to the other place from now on."""
        assert self._elsewhere is not None
        self._path = self.moved_to = self._elsewhere
        self._elsewhere = None

    def write(self, data: bytes) -> None:
        """Append to the log, setting a full one aside first."""
        with self._lock:
            try:
                self._make_room(len(data))
                left = memoryview(data)
                while left:
                    left = left[os.write(self._fd, left) :]
                self._size += len(data)
            except OSError:
                self.lost_bytes += len(data)
                self._give_up()

    def close(self) -> None:
        """Close the file; count it as lost where something else than a file has its place."""
        with self._lock:
            self._give_up()

    def _make_room(self, size: int) -> None:
        if self._fd < 0:
            self._open(again=self.is_new)
            self.is_new = False
        elif not self._is_in_place():
            self._put_back()
        if self.max_bytes and self._size and self._size + size > self.max_bytes:
            if self._is_hidden:  # what has its place now is not ours to move
                raise OSError(errno.EFBIG, "full, and nowhere to go", self._path)
            try:
                _move(self._path, self._aside)
            except OSError:  # nowhere to set it aside: rather a large log than none
                return
            self._close()
            self._open()

    def _open(self, *, again: bool = False) -> None:
        """Open the log; `again`: our file has left its place, and what is there now is not ours."""
        try:
            self._open_here(os.O_EXCL if again else 0)
        except OSError:
            if self._elsewhere is None or not os.path.lexists(self._path):
                raise
            self.go_elsewhere()
            self._open_here(0)

    def _open_here(self, more: int) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | more
        fd = os.open(self._path, flags, 0o600)
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):  # a fifo that nobody reads would stop us, and the agent
            os.close(fd)
            raise OSError(errno.EINVAL, "no regular file", self._path)
        self._fd = fd
        self._size = found.st_size

    def _is_in_place(self) -> bool:
        """Tell whether the file we write to is the one that others find."""
        try:
            found = os.lstat(self._path)
        except OSError:
            return False
        return os.path.samestat(found, os.fstat(self._fd))

    def _put_back(self) -> None:
        """Make the log anew where an agent has deleted it (`git clean -fdx`), with all it held."""
        old = self._fd
        try:
            self._open(again=True)
        except OSError:  # the worktree itself has moved: the log went with it
            self._is_hidden = os.path.lexists(self._path) and os.fstat(old).st_nlink == 0
            return
        self._is_hidden = False
        try:
            if os.fstat(old).st_nlink == 0:
                _copy(old, self._fd)
                self._size = os.fstat(self._fd).st_size
        finally:
            os.close(old)

    def _give_up(self) -> None:
        if self._is_hidden:
            self.lost_bytes += self._size
            self._is_hidden = False
        self._close()

    def _close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _copy(source: int, target: int) -> None:
    os.lseek(source, 0, os.SEEK_SET)
    while data := os.read(source, 1 << 16):
        os.write(target, data)


def _move(source: str, target: str) -> None:
    try:
        os.replace(source, target)
    except OSError:  # another file system, or the directory has gone
        import shutil  # 10 ms, for worktrees on another disk

        shutil.copyfile(source, target)
        os.unlink(source)
